//! Text out of bytes that are meant to be text.

use std::borrow::Cow;

use crate::work;

/// Longest text of a field, bytes; longer ones are cut.
pub(crate) const TEXT_BYTES_MAX: usize = 1024;

/// Longest address of HTTP, bytes: those of advertisements are long.
pub(crate) const LONG_TEXT_BYTES_MAX: usize = 8 << 10;

/// Bytes as text, as [`text_of_bytes`] writes them. Control characters stay; who prints them escapes them.
pub(crate) fn text(bytes: &[u8]) -> Box<str> {
    cut_text(bytes, TEXT_BYTES_MAX)
}

/// The same for addresses of HTTP.
pub(crate) fn long_text(bytes: &[u8]) -> Box<str> {
    cut_text(bytes, LONG_TEXT_BYTES_MAX)
}

fn cut_text(bytes: &[u8], bytes_max: usize) -> Box<str> {
    match bytes.get(..bytes_max) {
        Some(cut) if bytes.len() > bytes_max => text_of_bytes(without_part(cut)).into(),
        _ => text_of_bytes(bytes).into(),
    }
}

/// Bytes without the beginning of a character at their end, which a cut may have left.
fn without_part(bytes: &[u8]) -> &[u8] {
    let part = bytes.utf8_chunks().last().map_or(&[][..], |chunk| chunk.invalid());
    let is_part = std::str::from_utf8(part).is_err_and(|error| error.error_len().is_none());
    &bytes[..bytes.len() - if is_part { part.len() } else { 0 }]
}

/// Bytes as text that has each of them: a byte that is not UTF-8 is `\xHH`, and so is a backslash before `xHH`, so that no two
/// sequences of bytes are the same text. [`bytes_of_text`] undoes it.
#[must_use]
pub fn text_of_bytes(bytes: &[u8]) -> Cow<'_, str> {
    work::pass(bytes.len());
    if let Ok(text) = std::str::from_utf8(bytes)
        && escapes(bytes).next().is_none()
    {
        return Cow::Borrowed(text);
    }
    work::add(bytes.len());
    let mut text = String::with_capacity(2 * bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        let (valid, mut from) = (chunk.valid(), 0);
        // Each byte that is not UTF-8 is a chunk, with nothing before it where there are several.
        if !valid.is_empty() {
            for at in escapes(valid.as_bytes()) {
                text.push_str(&valid[from..at]);
                push_escape(&mut text, b'\\');
                from = at + 1;
            }
            text.push_str(&valid[from..]);
        }
        chunk.invalid().iter().for_each(|&byte| push_escape(&mut text, byte));
    }
    Cow::Owned(text)
}

/// The bytes of a text that [`text_of_bytes`] wrote.
#[must_use]
pub fn bytes_of_text(text: &str) -> Cow<'_, [u8]> {
    let shown = text.as_bytes();
    let mut places = escapes(shown).peekable();
    if places.peek().is_none() {
        return Cow::Borrowed(shown);
    }
    let (mut bytes, mut from) = (Vec::with_capacity(shown.len()), 0);
    let digit = |at: usize| char::from(shown[at]).to_digit(16).unwrap_or_default() as u8;
    for at in places {
        bytes.extend_from_slice(&shown[from..at]);
        bytes.push(digit(at + 2) << 4 | digit(at + 3));
        from = at + 4;
    }
    bytes.extend_from_slice(&shown[from..]);
    Cow::Owned(bytes)
}

/// Where `\xHH` stands.
fn escapes(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let is_escape = |rest: &[u8]| matches!(rest, [_, b'x', a, b, ..] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit());
    memchr::memchr_iter(b'\\', bytes).filter(move |&at| is_escape(&bytes[at..]))
}

/// Appends a byte as `\xHH`.
pub(crate) fn push_escape(text: &mut String, byte: u8) {
    let at = 4 * usize::from(byte);
    text.push_str(&HEX_ESCAPES[at..at + 4]);
}

/// Every byte as `\xHH`, one behind the other: two characters appended by themselves cost four times as much.
const HEX_ESCAPES: &str = match std::str::from_utf8(&HEX_ESCAPE_DIGITS) {
    Ok(escapes) => escapes,
    Err(_) => panic!("digits are ASCII"),
};

const HEX_ESCAPE_DIGITS: [u8; 4 * 256] = {
    let mut digits = [b'\\'; 4 * 256];
    let mut byte = 0;
    while byte < 256 {
        let [high, low] = tidewire_types::hex::digits(byte as u8);
        digits[4 * byte + 1] = b'x';
        digits[4 * byte + 2] = high;
        digits[4 * byte + 3] = low;
        byte += 1;
    }
    digits
};

/// Every byte as `\DDD` (RFC 1035 section 5.1), one behind the other.
const DECIMAL_ESCAPES: &str = match std::str::from_utf8(&DECIMAL_ESCAPE_DIGITS) {
    Ok(escapes) => escapes,
    Err(_) => panic!("digits are ASCII"),
};

const DECIMAL_ESCAPE_DIGITS: [u8; 4 * 256] = {
    let mut digits = [b'\\'; 4 * 256];
    let mut byte = 0;
    while byte < 256 {
        digits[4 * byte + 1] = b'0' + (byte / 100) as u8;
        digits[4 * byte + 2] = b'0' + (byte / 10 % 10) as u8;
        digits[4 * byte + 3] = b'0' + (byte % 10) as u8;
        byte += 1;
    }
    digits
};

/// Appends a byte as `\DDD`.
pub(crate) fn push_decimal_escape(text: &mut String, byte: u8) {
    let at = 4 * usize::from(byte);
    text.push_str(&DECIMAL_ESCAPES[at..at + 4]);
}

/// Appends a character string of DNS: quotation marks and backslashes behind a backslash, other bytes than printable ASCII as `\DDD`.
pub(crate) fn push_character_string(text: &mut String, bytes: &[u8]) {
    work::add(bytes.len());
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => {
                text.push('\\');
                text.push(byte.into());
            }
            b' '..=b'~' => text.push(byte.into()),
            _ => push_decimal_escape(text, byte),
        }
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

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut digits = Vec::with_capacity(2 * bytes.len());
    push_hex(&mut digits, bytes);
    string(digits)
}

/// Appends bytes in hexadecimal.
pub(crate) fn push_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    work::add(bytes.len());
    tidewire_types::hex::push(out, bytes);
}

/// Appends a number in decimal.
pub(crate) fn push_decimal(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(decimal(number.into(), &mut [0; 20]));
}

/// Appends a number in decimal to a text: formatting costs ten times as much.
pub(crate) fn push_number(text: &mut String, number: u64) {
    text.extend(decimal(number, &mut [0; 20]).iter().map(|&digit| char::from(digit)));
}

/// A number in decimal, at the end of `digits`.
#[inline]
fn decimal(number: u64, digits: &mut [u8; 20]) -> &[u8] {
    let (mut at, mut rest) = (digits.len() - 1, number);
    loop {
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return &digits[at..];
        }
        at -= 1;
    }
}

/// Appends bytes in Base64 (RFC 4648 section 4).
pub(crate) fn push_base64(shown: &mut String, bytes: &[u8]) {
    work::add(bytes.len());
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
    fn numbers_are_written_as_the_standard_library_does() {
        for number in [0, 9, 10, 99, 100, 65_535, 1 << 40, u64::MAX] {
            let mut text = "a".to_owned();
            push_number(&mut text, number);
            assert_eq!(text, format!("a{number}"));
        }
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let long = "ä".repeat(TEXT_BYTES_MAX);
        assert_eq!(text(&long.as_bytes()[1..]).chars().last(), Some('ä'));
        assert_eq!((known_text(b"x", &["x"]), known_text(b"y\xff", &["x"])), ("x".into(), "y\\xff".into()));
        let cut = [&[b'a'; TEXT_BYTES_MAX - 1][..], b"\xff", b"b"].concat();
        assert!(text(&cut).ends_with("a\\xff"), "a byte that begins no character is not cut");
    }

    #[test]
    fn bytes_that_are_not_utf8_are_escaped_and_come_back() {
        let cases: [(&[u8], &str); 7] = [
            (b"caf\xe9", "caf\\xe9"),
            (b"caf\\xe9", "caf\\x5cxe9"),
            (b"caf\\x5cxe9", "caf\\x5cx5cxe9"),
            (b"\\\xe9\\x\\xg0\\", "\\\\xe9\\x\\xg0\\"),
            ("\u{fffd}é\u{1b}".as_bytes(), "\u{fffd}é\u{1b}"),
            (b"\xed\xa0\x80\xf0\x9f", "\\xed\\xa0\\x80\\xf0\\x9f"),
            (b"C:\\new", "C:\\new"),
        ];
        for (bytes, shown) in cases {
            assert_eq!(text_of_bytes(bytes), shown);
            assert_eq!(&*bytes_of_text(shown), bytes);
        }
    }

    proptest::proptest! {
        #[test]
        fn every_sequence_of_bytes_has_its_own_text(
            parts in proptest::collection::vec(proptest::prop_oneof![
                proptest::prelude::any::<u8>(), proptest::prelude::Just(b'\\'), proptest::prelude::Just(b'x'), b'0'..=b'9', b'a'..=b'f',
            ], 0..40),
        ) {
            let shown = text_of_bytes(&parts);
            proptest::prop_assert_eq!(&*bytes_of_text(&shown), &parts[..]);
        }
    }

    #[test]
    fn numbers_have_their_digits() {
        for number in [0, 7, 10, 4866, u16::MAX] {
            let mut out = Vec::new();
            push_decimal(&mut out, number);
            assert_eq!(string(out), number.to_string());
        }
        assert_eq!(hex(b"\x00\x1f\xff"), "001fff");
        for byte in 0..=255 {
            let mut shown = String::new();
            push_decimal_escape(&mut shown, byte);
            assert_eq!(shown, format!("\\{byte:03}"));
        }
    }
}
