//! Text out of bytes that are meant to be text.

/// Longest text of a field, bytes; longer ones are cut.
pub(crate) const TEXT_BYTES_MAX: usize = 1024;

/// Bytes as text: what is no UTF-8 is replaced by U+FFFD. Control characters stay; who prints them escapes them.
pub(crate) fn text(bytes: &[u8]) -> Box<str> {
    let is_cut = bytes.len() > TEXT_BYTES_MAX;
    let bytes = &bytes[..bytes.len().min(TEXT_BYTES_MAX)];
    let text = String::from_utf8_lossy(bytes);
    match is_cut {
        // The cut may have split a character.
        true => text.trim_end_matches('\u{fffd}').into(),
        false => text.into(),
    }
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
