//! Parses patterns.

use tidewire_types::hex;

use super::{ID_BYTES_MAX, PATTERN_BYTES_MAX, Pattern, PatternError, SEVERITIES};

/// The syntax of patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Text, with `|41 42|` or `hex:` for bytes.
    Text,
    /// Hexadecimal digits.
    Hex,
}

/// Parses one pattern, which may begin with attributes between bars: `|id=log4shell severity=high nocase|${jndi:`. Text stands for its own bytes; `|0d 0a|` within it for bytes in hexadecimal; after `hex:` all is
/// hexadecimal, after `text:` nothing is.
///
/// # Errors
/// Attributes that are not known; an unpaired bar, or other characters than hexadecimal digits between two: the intention is unknown, and a pattern that is
/// read literally by mistake finds nothing.
pub fn parse(given: &[u8], syntax: Syntax) -> Result<Pattern, PatternError> {
    let (attributes, given) = attributes(given)?;
    let name = String::from_utf8_lossy(given).into_owned();
    let bytes = match syntax {
        Syntax::Hex => hexadecimal(given.strip_prefix(b"hex:").unwrap_or(given), &name)?,
        Syntax::Text => match (given.strip_prefix(b"hex:"), given.strip_prefix(b"text:")) {
            (Some(digits), _) => hexadecimal(digits, &name)?,
            (_, Some(text)) => text.to_vec(),
            _ => with_bars(given, &name)?,
        },
    };
    match bytes.len() {
        0 => Err(PatternError::Empty { name }),
        1..=PATTERN_BYTES_MAX => Ok(Pattern { name: attributes.id.clone().unwrap_or(name), bytes, ..attributes }),
        bytes => Err(PatternError::TooLong { bytes }),
    }
}

/// Splits off the text between bars at the beginning, if it is no hexadecimal.
fn attributes(given: &[u8]) -> Result<(Pattern, &[u8]), PatternError> {
    let mut found = Pattern::default();
    let (Some(inside), true) = (given.strip_prefix(b"|"), is_annotated(given)) else { return Ok((found, given)) };
    let close = inside.iter().position(|&byte| byte == b'|');
    let close = close.ok_or(PatternError::Unended)?;
    let words = String::from_utf8_lossy(&inside[..close]);
    for word in words.split_ascii_whitespace() {
        let is_new = match word.split_once('=') {
            Some(("id", id)) if is_id(id) => found.id.replace(id.to_owned()).is_none(),
            Some(("id", id)) => return Err(PatternError::Id { id: id.to_owned() }),
            Some(("severity", level)) => {
                let known = SEVERITIES.into_iter().find(|severity| *severity == level);
                let known = known.ok_or_else(|| PatternError::Severity { level: level.to_owned() })?;
                found.severity.replace(known).is_none()
            }
            None if word == "nocase" => !std::mem::replace(&mut found.ignore_case, true),
            _ => return Err(PatternError::Attribute { word: word.to_owned() }),
        };
        if !is_new {
            return Err(PatternError::Twice { word: word.to_owned() });
        }
    }
    Ok((found, &inside[close + 1..]))
}

/// Whether attributes come first: such a line had no meaning before there were any.
fn is_annotated(given: &[u8]) -> bool {
    [&b"|id="[..], b"|severity=", b"|nocase"].iter().any(|start| given.starts_with(start))
}

fn is_id(text: &str) -> bool {
    let is_one = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    (1..=ID_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_one)
}

/// Parses a pattern from each line that is not empty. Lines that begin with `|#` are comments.
///
/// # Errors
/// [`PatternError::Line`], of the first line with a mistake.
pub fn parse_file(text: &[u8], syntax: Syntax) -> Result<Vec<Pattern>, PatternError> {
    let mut patterns = Vec::new();
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.is_empty() && !line.starts_with(b"|#") {
            patterns.push(parse(line, syntax).map_err(|mistake| of_line(index + 1, mistake))?);
        }
    }
    Ok(patterns)
}

fn of_line(number: usize, mistake: PatternError) -> PatternError {
    PatternError::Line { number, mistake: Box::new(mistake) }
}

/// Parses hexadecimal bytes; blanks, colons and bars between them are ignored.
fn hexadecimal(text: &[u8], name: &str) -> Result<Vec<u8>, PatternError> {
    let digits: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b' ' | b'\t' | b':' | b'|')).collect();
    hex::decode(&digits).ok_or_else(|| PatternError::Digits { name: name.to_owned() })
}

/// Parses text in which `|41 42|` stands for bytes.
fn with_bars(text: &[u8], name: &str) -> Result<Vec<u8>, PatternError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.iter().position(|&byte| byte == b'|') {
        let (before, inside) = (&rest[..open], &rest[open + 1..]);
        let Some(close) = inside.iter().position(|&byte| byte == b'|') else {
            return Err(PatternError::Bar { name: name.to_owned() });
        };
        let digits: Vec<u8> = inside[..close].iter().copied().filter(|&byte| byte != b' ').collect();
        let section = hex::decode(&digits).filter(|section| !section.is_empty()).ok_or_else(|| {
            let section = String::from_utf8_lossy(&inside[..close]).into_owned();
            PatternError::Section { name: name.to_owned(), section }
        })?;
        bytes.extend_from_slice(before);
        bytes.extend_from_slice(&section);
        rest = &inside[close + 1..];
    }
    bytes.extend_from_slice(rest);
    Ok(bytes)
}
