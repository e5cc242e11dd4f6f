//! Patterns as people write them.

use super::{PATTERN_BYTES_MAX, Pattern};

/// How patterns are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Text, with `|41 42|` or `hex:` for bytes.
    Text,
    /// Hexadecimal digits.
    Hex,
}

/// Reads one pattern. Text stands for its own bytes; `|0d 0a|` in it for bytes in hexadecimal, where what lies between
/// the bars is nothing else; `hex:` before it makes all of it hexadecimal, `text:` none of it.
pub fn parse(given: &[u8], syntax: Syntax) -> Result<Pattern, String> {
    let name = String::from_utf8_lossy(given).into_owned();
    let bytes = match syntax {
        Syntax::Hex => hex(given.strip_prefix(b"hex:").unwrap_or(given), &name)?,
        Syntax::Text => match (given.strip_prefix(b"hex:"), given.strip_prefix(b"text:")) {
            (Some(digits), _) => hex(digits, &name)?,
            (_, Some(text)) => text.to_vec(),
            _ => with_bars(given),
        },
    };
    match bytes.len() {
        0 => Err(format!("the pattern '{name}' is empty")),
        1..=PATTERN_BYTES_MAX => Ok(Pattern { name, bytes }),
        _ => Err(format!("a pattern of {} bytes: at most {PATTERN_BYTES_MAX} are possible", bytes.len())),
    }
}

/// Reads a pattern from each line that is not empty.
pub fn parse_file(text: &[u8], syntax: Syntax) -> Result<Vec<Pattern>, String> {
    let mut patterns = Vec::new();
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.is_empty() {
            patterns.push(parse(line, syntax).map_err(|error| format!("line {}: {error}", index + 1))?);
        }
    }
    Ok(patterns)
}

/// Bytes in hexadecimal, blanks, colons and bars between them ignored.
fn hex(text: &[u8], name: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b' ' | b'\t' | b':' | b'|')).collect();
    pairs(&digits).ok_or_else(|| format!("'{name}' is not hexadecimal: pairs of the digits 0-9 and a-f"))
}

fn pairs(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect()
}

/// Text in which `|41 42|` stands for bytes.
fn with_bars(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.iter().position(|&byte| byte == b'|') {
        let (before, inside) = (&rest[..open], &rest[open + 1..]);
        let close = inside.iter().position(|&byte| byte == b'|');
        let section = close.and_then(|close| {
            let digits: Vec<u8> = inside[..close].iter().copied().filter(|&byte| byte != b' ').collect();
            let section = pairs(&digits).filter(|section| !section.is_empty())?;
            Some((section, close))
        });
        bytes.extend_from_slice(before);
        match section {
            Some((section, close)) => {
                bytes.extend_from_slice(&section);
                rest = &inside[close + 1..];
            }
            None => {
                bytes.push(b'|');
                rest = inside;
            }
        }
    }
    bytes.extend_from_slice(rest);
    bytes
}
