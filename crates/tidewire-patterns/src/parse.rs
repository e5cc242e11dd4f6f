//! Patterns as people write them.

use super::{PATTERN_BYTES_MAX, Pattern};

/// What bars mean, and what to write where they are meant as text.
const BARS: &str = "|0d 0a| stands for bytes in hexadecimal; for a bar itself write |7c|, or text: before the pattern";

/// How patterns are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Text, with `|41 42|` or `hex:` for bytes.
    Text,
    /// Hexadecimal digits.
    Hex,
}

/// Reads one pattern. Text stands for its own bytes; `|0d 0a|` in it for bytes in hexadecimal; `hex:` before it makes all
/// of it hexadecimal, `text:` none of it.
///
/// # Errors
/// A bar without a partner, or something else than hexadecimal between two: what was meant is not known, and a pattern
/// that is taken literally by mistake finds nothing.
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
        0 => Err(format!("the pattern '{name}' is empty")),
        1..=PATTERN_BYTES_MAX => Ok(Pattern { name, bytes }),
        _ => Err(format!("a pattern of {} bytes: the limit is {PATTERN_BYTES_MAX}", bytes.len())),
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
fn with_bars(text: &[u8], name: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.iter().position(|&byte| byte == b'|') {
        let (before, inside) = (&rest[..open], &rest[open + 1..]);
        let Some(close) = inside.iter().position(|&byte| byte == b'|') else {
            return Err(format!("'{name}': a '|' without a second one: {BARS}"));
        };
        let digits: Vec<u8> = inside[..close].iter().copied().filter(|&byte| byte != b' ').collect();
        let section = pairs(&digits).filter(|section| !section.is_empty()).ok_or_else(|| {
            let shown = String::from_utf8_lossy(&inside[..close]);
            format!("'{name}': '{shown}' between bars is not hexadecimal: {BARS}")
        })?;
        bytes.extend_from_slice(before);
        bytes.extend_from_slice(&section);
        rest = &inside[close + 1..];
    }
    bytes.extend_from_slice(rest);
    Ok(bytes)
}
