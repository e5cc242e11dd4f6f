//! Text out of bytes that are meant to be text.

use std::borrow::Cow;

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
    if bytes.len() <= bytes_max
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return text.into();
    }
    let is_cut = bytes.len() > bytes_max;
    let bytes = &bytes[..bytes.len().min(bytes_max)];
    let text = String::from_utf8_lossy(bytes);
    match is_cut {
        // The cut may have split a character.
        true => text.trim_end_matches('\u{fffd}').into(),
        false => text.into(),
    }
}

/// Bytes as text that is mostly one of a few, which then need no memory.
pub(crate) fn known_text(bytes: &[u8], known: &'static [&'static str]) -> Cow<'static, str> {
    match known.iter().find(|known| known.as_bytes() == bytes) {
        Some(known) => Cow::Borrowed(known),
        None => Cow::Owned(text(bytes).into()),
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

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut digits = Vec::with_capacity(2 * bytes.len());
    push_hex(&mut digits, bytes);
    string(digits)
}

/// Appends bytes in hexadecimal.
pub(crate) fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    let begin = out.len();
    out.resize(begin + 2 * bytes.len(), 0);
    for (digits, byte) in out[begin..].chunks_exact_mut(2).zip(bytes) {
        digits[0] = DIGITS[usize::from(byte >> 4)];
        digits[1] = DIGITS[usize::from(byte & 15)];
    }
}

/// Appends a number in decimal.
pub(crate) fn push_decimal(out: &mut Vec<u8>, number: u16) {
    let mut digits = [b'0'; 5];
    let (mut at, mut rest) = (digits.len() - 1, number);
    loop {
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
        at -= 1;
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends bytes in Base64 (RFC 4648 section 4).
pub(crate) fn push_base64(shown: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - group.len()));
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit) & 63) as usize;
            shown.push(if digit <= group.len() { char::from(DIGITS[value]) } else { '=' });
        }
    }
}

/// ASCII as text.
pub(crate) fn string(ascii: Vec<u8>) -> String {
    String::from_utf8(ascii).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_cut_between_characters() {
        let long = "ä".repeat(TEXT_BYTES_MAX);
        assert_eq!(text(&long.as_bytes()[1..]).chars().last(), Some('ä'));
        assert_eq!(&*text(b"a\xffb"), "a\u{fffd}b");
        assert_eq!((known_text(b"x", &["x"]), known_text(b"y\xff", &["x"])), ("x".into(), "y\u{fffd}".into()));
    }

    #[test]
    fn numbers_have_their_digits() {
        for number in [0, 7, 10, 4866, u16::MAX] {
            let mut out = Vec::new();
            push_decimal(&mut out, number);
            assert_eq!(string(out), number.to_string());
        }
        assert_eq!(hex(b"\x00\x1f\xff"), "001fff");
    }
}
