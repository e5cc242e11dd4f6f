//! Parses patterns.

use super::{PATTERN_BYTES_MAX, Pattern};

/// The meaning of bars, and how to write them as text.
const BARS: &str = "|0d 0a| stands for bytes in hexadecimal; for a bar itself write |7c|, or text: before the pattern";

/// The syntax of patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Text, with `|41 42|` or `hex:` for bytes.
    Text,
    /// Hexadecimal digits.
    Hex,
}

/// Parses one pattern. Text stands for its own bytes; `|0d 0a|` within it for bytes in hexadecimal; after `hex:` all is
/// hexadecimal, after `text:` nothing is.
///
/// # Errors
/// An unpaired bar, or other characters than hexadecimal digits between two: the intention is unknown, and a pattern that is
/// read literally by mistake finds nothing.
pub fn parse(given: &[u8], syntax: Syntax) -> Result<Pattern, String> {
    let name = String::from_utf8_lossy(given).into_owned();
    let bytes = match syntax {
        Syntax::Hex => hex(given.strip_prefix(b"hex:").unwrap_or(given), &name)?,
        Syntax::Text => match (given.strip_prefix(b"hex:"), given.strip_prefix(b"text:")) {
            (Some(digits), _) => hex(digits, &name)?,
            (_, Some(text)) => text.to_vec(),
            _ => with_bars(given, &name)?,
        },
    };
    match bytes.len() {
        0 => Err(format!("empty pattern '{name}'")),
        1..=PATTERN_BYTES_MAX => Ok(Pattern { name, bytes }),
        _ => Err(format!("pattern must be at most {PATTERN_BYTES_MAX} bytes, got {}", bytes.len())),
    }
}

/// Parses a pattern from each line that is not empty.
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

/// Parses hexadecimal bytes; blanks, colons and bars between them are ignored.
fn hex(text: &[u8], name: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b' ' | b'\t' | b':' | b'|')).collect();
    pairs(&digits).ok_or_else(|| format!("invalid pattern '{name}': expected pairs of hexadecimal digits"))
}

fn pairs(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, []) = digits.as_chunks::<2>() else { return None };
    pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect()
}

/// Parses text in which `|41 42|` stands for bytes.
fn with_bars(text: &[u8], name: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.iter().position(|&byte| byte == b'|') {
        let (before, inside) = (&rest[..open], &rest[open + 1..]);
        let Some(close) = inside.iter().position(|&byte| byte == b'|') else {
            return Err(format!("invalid pattern '{name}': unpaired '|': {BARS}"));
        };
        let digits: Vec<u8> = inside[..close].iter().copied().filter(|&byte| byte != b' ').collect();
        let section = pairs(&digits).filter(|section| !section.is_empty()).ok_or_else(|| {
            let shown = String::from_utf8_lossy(&inside[..close]);
            format!("invalid pattern '{name}': '{shown}' is not hexadecimal: {BARS}")
        })?;
        bytes.extend_from_slice(before);
        bytes.extend_from_slice(&section);
        rest = &inside[close + 1..];
    }
    bytes.extend_from_slice(rest);
    Ok(bytes)
}
