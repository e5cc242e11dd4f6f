//! Words, texts in quotes, and signs.

use std::borrow::Cow;

use crate::select::node::{SelectError, TEXT_BYTES_MAX};

/// A token with its place, in characters from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) column: usize,
    pub(super) kind: TokenKind<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TokenKind<'a> {
    /// A name, a keyword or a value.
    Word(&'a str),
    /// A value in quotes, without its escapes.
    Quoted(Cow<'a, str>),
    /// An operator, a parenthesis or a comma.
    Sign(&'static str),
}

/// Those of two characters first.
const SIGNS: [&str; 10] = ["==", "!=", "<=", ">=", "=", "<", ">", "(", ")", ","];

pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, SelectError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(SelectError { column: 1, message: format!("longer than {TEXT_BYTES_MAX} bytes") });
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let (rest, column) = (&text[at..], text[..at].chars().count() + 1);
        if first.is_whitespace() {
            at += first.len_utf8();
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
            tokens.push(Token { column, kind: TokenKind::Sign(sign) });
            at += sign.len();
        } else if matches!(first, '"' | '\'') {
            let Some((text, bytes)) = quoted(&rest[1..], first) else {
                return Err(SelectError { column, message: format!("the text has no end: {first} is missing") });
            };
            tokens.push(Token { column, kind: TokenKind::Quoted(text) });
            at += bytes + 2;
        } else {
            let is_end =
                |c: char| c.is_whitespace() || matches!(c, '=' | '!' | '<' | '>' | '(' | ')' | ',' | '"' | '\'');
            let end = rest.find(is_end).unwrap_or(rest.len());
            if end == 0 {
                return Err(SelectError { column, message: format!("'{first}' is not an operator; expected != or =") });
            }
            tokens.push(Token { column, kind: TokenKind::Word(&rest[..end]) });
            at += end;
        }
    }
    Ok(tokens)
}

/// The text up to the next quote, and how many bytes it takes: a backslash stands before a quote or a backslash that belongs to it. Before
/// anything else it is itself, as in names of DNS.
fn quoted(text: &str, quote: char) -> Option<(Cow<'_, str>, usize)> {
    let mut unescaped = Cow::Borrowed("");
    let (mut from, mut chars) = (0, text.char_indices().peekable());
    while let Some((at, c)) = chars.next() {
        if c == quote {
            return Some(match unescaped {
                Cow::Borrowed(_) => (Cow::Borrowed(&text[..at]), at),
                Cow::Owned(begin) => (Cow::Owned(begin + &text[from..at]), at),
            });
        }
        if c == '\\'
            && let Some((next, _)) = chars.next_if(|(_, c)| matches!(c, '\\' | '"' | '\''))
        {
            unescaped.to_mut().push_str(&text[from..at]);
            from = next;
        }
    }
    None
}
