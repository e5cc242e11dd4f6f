//! Words, texts in quotes, and signs.

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
    /// A value in quotes.
    Quoted(&'a str),
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
            let Some(end) = rest[1..].find(first) else {
                return Err(SelectError { column, message: format!("the text has no end: {first} is missing") });
            };
            tokens.push(Token { column, kind: TokenKind::Quoted(&rest[1..=end]) });
            at += end + 2;
        } else {
            let is_end =
                |c: char| c.is_whitespace() || matches!(c, '=' | '!' | '<' | '>' | '(' | ')' | ',' | '"' | '\'');
            let end = rest.find(is_end).unwrap_or(rest.len());
            if end == 0 {
                return Err(SelectError { column, message: format!("'{first}' is no operator; expected != or =") });
            }
            tokens.push(Token { column, kind: TokenKind::Word(&rest[..end]) });
            at += end;
        }
    }
    Ok(tokens)
}
