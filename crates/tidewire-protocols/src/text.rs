//! Text out of bytes that are meant to be text.

/// Longest text of a field, bytes; longer ones are cut.
pub(crate) const TEXT_BYTES_MAX: usize = 1024;

/// Longest address of HTTP, bytes: those of advertisements are long.
pub(crate) const LONG_TEXT_BYTES_MAX: usize = 8 << 10;

/// Bytes as text: what is no UTF-8 is replaced by U+FFFD. Control characters stay; who prints them escapes them.
pub(crate) fn text(bytes: &[u8]) -> Box<str> {
    cut_text(bytes, TEXT_BYTES_MAX)
}

/// The same for addresses of HTTP.
pub(crate) fn long_text(bytes: &[u8]) -> Box<str> {
    cut_text(bytes, LONG_TEXT_BYTES_MAX)
}

fn cut_text(bytes: &[u8], bytes_max: usize) -> Box<str> {
    let is_cut = bytes.len() > bytes_max;
    let bytes = &bytes[..bytes.len().min(bytes_max)];
    let text = String::from_utf8_lossy(bytes);
    match is_cut {
        // The cut may have split a character.
        true => text.trim_end_matches('\u{fffd}').into(),
        false => text.into(),
    }
}

/// Up to the first NUL, without blanks at the end: senders of fixed fields fill them, and some end texts as C does.
pub(crate) fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes[..memchr::memchr(0, bytes).unwrap_or(bytes.len())].trim_ascii_end()
}

/// Without blanks at both ends.
pub(crate) fn trimmed(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii()
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_between_characters() {
        let long = "ä".repeat(TEXT_BYTES_MAX);
        assert_eq!(text(&long.as_bytes()[1..]).chars().last(), Some('ä'));
        assert_eq!(&*text(b"a\xffb"), "a\u{fffd}b");
    }
}
