//! The tokens of a source, as far as [`modules`](super::modules) reads them.

/// The words and marks of a source that matter here. Comments and texts are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    /// `::`
    Path,
    /// A text: of interest after `path =`.
    Text(String),
    Mark(char),
}

/// Splits a source into tokens.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let (mut at, mut found) = (0, Vec::new());
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1).copied().unwrap_or(' ');
        match c {
            '/' if next == '/' => at += chars[at..].iter().take_while(|c| **c != '\n').count(),
            '/' if next == '*' => at = comment_end(&chars, at),
            '"' => at = text_end(&chars, at, 0, &mut found),
            'r' if (next == '"' || next == '#') && raw_hashes(&chars, at + 1).is_some() => {
                let hashes = raw_hashes(&chars, at + 1).unwrap_or(0);
                at = text_end(&chars, at + 1 + hashes, hashes + 1, &mut found);
            }
            '\'' => {
                // A character, or a lifetime.
                let is_char = next == '\\' || chars.get(at + 2) == Some(&'\'');
                let skip = if next == '\\' { 3 } else { 2 };
                at += match is_char {
                    true => skip + chars[at + skip..].iter().take_while(|c| **c != '\'').count() + 1,
                    false => 1 + chars[at + 1..].iter().take_while(|c| is_word(**c)).count(),
                };
            }
            ':' if next == ':' => {
                found.push(Token::Path);
                at += 2;
            }
            _ if is_word(c) => {
                let word: String = chars[at..].iter().take_while(|c| is_word(**c)).collect();
                at += word.chars().count();
                // The letter before a byte string is a prefix and no name.
                let is_prefix = matches!(word.as_str(), "b" | "c" | "br") && chars.get(at) == Some(&'"');
                if !is_prefix {
                    found.push(Token::Word(word));
                }
            }
            _ => {
                if !c.is_whitespace() {
                    found.push(Token::Mark(c));
                }
                at += 1;
            }
        }
    }
    found
}

/// The end of a block comment, which may hold others.
pub(super) fn comment_end(chars: &[char], begin: usize) -> usize {
    let (mut at, mut depth) = (begin + 2, 1);
    while depth > 0 && at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('*', '/') => (at, depth) = (at + 2, depth - 1),
            ('/', '*') => (at, depth) = (at + 2, depth + 1),
            _ => at += 1,
        }
    }
    at
}

/// How many `#` stand before the quotation mark of a raw text; `None`: it is no raw text.
pub(super) fn raw_hashes(chars: &[char], begin: usize) -> Option<usize> {
    let hashes = chars[begin..].iter().take_while(|c| **c == '#').count();
    (chars.get(begin + hashes) == Some(&'"')).then_some(hashes)
}

/// Takes a text from its quotation mark on. `raw`: one more than its `#`, or 0 where backslashes escape.
pub(super) fn text_end(chars: &[char], begin: usize, raw: usize, found: &mut Vec<Token>) -> usize {
    let mut at = begin + 1;
    let mut text = String::new();
    while let Some(&c) = chars.get(at) {
        let hashes = chars[at + 1..].iter().take_while(|c| **c == '#').count();
        if c == '"' && hashes + 1 >= raw {
            at += raw.max(1);
            break;
        }
        if c == '\\' && raw == 0 {
            at += 1;
        }
        text.push(c);
        at += 1;
    }
    found.push(Token::Text(text));
    at
}

/// Whether tokens begin with these words and marks.
pub(super) fn starts_with(tokens: &[Token], words: &[&str]) -> bool {
    let is = |token: &Token, word: &str| match token {
        Token::Word(found) => found == word,
        Token::Mark(mark) => word.chars().eq([*mark]),
        Token::Path | Token::Text(_) => false,
    };
    tokens.len() >= words.len() && tokens.iter().zip(words).all(|(token, word)| is(token, word))
}

/// Whether what follows these tokens is public, to whomever.
pub(super) fn is_public(before: &[Token]) -> bool {
    match before {
        [.., Token::Word(word)] => word == "pub",
        [head @ .., Token::Mark(')')] => {
            let inside = head.iter().rev().take_while(|token| **token != Token::Mark('(')).count();
            let opened = head.len() - inside;
            matches!(&head[..opened.saturating_sub(1)], [.., Token::Word(word)] if word == "pub")
        }
        _ => false,
    }
}

/// Tokens of an item: to its semicolon, or to the end of its braces.
pub(super) fn item_length(tokens: &[Token]) -> usize {
    let mut depth = 0_u32;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Mark('{' | '(' | '[') => depth += 1,
            Token::Mark('}') if depth == 1 => return at + 1,
            Token::Mark('}' | ')' | ']') => depth = depth.saturating_sub(1),
            Token::Mark(';') if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// The paths of a `use`, each with the name that it brings.
pub(super) fn tree(tokens: &[Token], prefix: &mut Vec<String>, found: &mut Vec<(Vec<String>, String)>) {
    let begun = prefix.len();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            Token::Word(word) if word == "as" => {
                if let (Some(Token::Word(name)), Some(last)) = (tokens.get(at + 1), found.last_mut()) {
                    name.clone_into(&mut last.1);
                }
                at += 2;
            }
            Token::Word(word) => {
                prefix.push(word.clone());
                if !matches!(tokens.get(at + 1), Some(Token::Path)) {
                    let name = if word == "self" { prefix.iter().rev().nth(1).unwrap_or(word) } else { word };
                    found.push((prefix.clone(), name.clone()));
                }
                at += 1;
            }
            Token::Mark('*') => {
                found.push((prefix.clone(), "*".into()));
                at += 1;
            }
            Token::Mark('{') => {
                let length = item_length(&tokens[at..]);
                tree(&tokens[at + 1..at + length - 1], prefix, found);
                at += length;
            }
            Token::Mark(',') => {
                prefix.truncate(begun);
                at += 1;
            }
            _ => at += 1,
        }
    }
    prefix.truncate(begun);
}
