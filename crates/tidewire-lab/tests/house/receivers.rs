//! Calls of methods in a source, and what is written of their receivers' types.

use super::tokens::{Token, item_length};

/// A call of a method.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    pub(super) receiver: Receiver,
    pub(super) method: String,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Receiver {
    /// The type of the `impl`, or one that is named by a path.
    Type(String),
    /// A variable or a field of this name.
    Name(String),
    /// Another expression.
    Other,
}

/// An `impl`: its type, and where its tokens end.
pub(super) struct Impl {
    pub(super) of: String,
    pub(super) is_of_trait: bool,
    pub(super) end: usize,
}

impl Impl {
    /// The `impl` that begins at a token. (One in a type stands behind a mark of that type.)
    pub(super) fn at(tokens: &[Token], at: usize) -> Option<Self> {
        let is_item = match at.checked_sub(1).map(|before| &tokens[before]) {
            None | Some(Token::Mark('}' | '{' | ';' | ']')) => true,
            Some(Token::Word(word)) => word == "unsafe",
            Some(_) => false,
        };
        let is_impl = tokens[at] == Token::Word("impl".into());
        let header = tokens[at..].iter().position(|token| *token == Token::Mark('{')).filter(|_| is_impl && is_item)?;
        let end = at + item_length(&tokens[at..]);
        let (mut depth, mut of, mut is_of_trait, mut is_past) = (0_u32, None, false, false);
        for token in &tokens[at + 1..at + header] {
            match token {
                Token::Mark('<') => depth += 1,
                Token::Mark('>') => depth = depth.saturating_sub(1),
                Token::Word(word) if depth == 0 && word == "for" => (of, is_of_trait) = (None, true),
                Token::Word(word) if depth == 0 && word == "where" => is_past = true,
                Token::Word(word) if depth == 0 && !is_past && !matches!(word.as_str(), "mut" | "dyn") => {
                    of = Some(word.clone());
                }
                _ => {}
            }
        }
        Some(Self { of: of?, is_of_trait, end })
    }
}

impl Receiver {
    /// The receiver of a call whose dot stands behind these tokens.
    pub(super) fn before(tokens: &[Token], within: Option<&Impl>) -> Self {
        match tokens {
            [.., Token::Mark('.'), Token::Word(field)] => Self::Name(field.clone()),
            [.., Token::Word(word)] if word == "self" => within.map_or(Self::Other, |one| Self::Type(one.of.clone())),
            [.., Token::Word(name)] => Self::Name(name.clone()),
            _ => Self::Other,
        }
    }
}

/// Whether tokens behind a name make it a call.
pub(super) fn is_call(tokens: &[Token]) -> bool {
    matches!(tokens, [Token::Mark('('), ..] | [Token::Path, Token::Mark('<'), ..])
}

/// The type that is written behind a name: its last word before the types that it has as parameters. Of a reference and a
/// box, that of their content.
pub(super) fn type_of(tokens: &[Token]) -> Option<String> {
    const OUTER: [&str; 6] = ["Box", "Arc", "Rc", "mut", "dyn", "impl"];
    let [Token::Mark(':'), rest @ ..] = tokens else { return None };
    let mut found = None;
    for token in rest {
        match token {
            Token::Mark('&' | '<') if found.is_none() => {}
            Token::Word(word) if OUTER.contains(&word.as_str()) => found = None,
            Token::Word(word) if found.is_none() => found = Some(word.clone()),
            Token::Path => found = None,
            _ => break,
        }
    }
    found
}
