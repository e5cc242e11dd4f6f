//! Hexadecimal text: written in lower case, read in both.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The two digits of a byte.
#[must_use]
#[inline]
pub const fn digits(byte: u8) -> [u8; 2] {
    [DIGITS[(byte >> 4) as usize], DIGITS[(byte & 15) as usize]]
}

/// Appends the digits of bytes to a buffer.
pub fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    let begin = out.len();
    out.resize(begin + 2 * bytes.len(), 0);
    for (pair, byte) in out[begin..].chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&digits(*byte));
    }
}

/// The digits of bytes.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    push(&mut out, bytes);
    // Digits are ASCII.
    String::from_utf8(out).unwrap_or_default()
}

/// The digits of bytes with a separator between bytes: `00:1f:ff`.
#[must_use]
pub fn separated(bytes: &[u8], separator: char) -> String {
    let mut text = String::with_capacity(3 * bytes.len());
    for (index, byte) in bytes.iter().enumerate() {
        if index > 0 {
            text.push(separator);
        }
        text.extend(digits(*byte).map(char::from));
    }
    text
}

/// The value of a digit.
#[must_use]
#[inline]
pub fn value(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// The bytes of pairs of digits; `None`: a digit is missing, or another character is there.
#[must_use]
pub fn decode(digits: impl AsRef<[u8]>) -> Option<Vec<u8>> {
    let (pairs, []) = digits.as_ref().as_chunks::<2>() else { return None };
    pairs.iter().map(|&[high, low]| Some(value(high)? << 4 | value(low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_digits_are_lower_case() {
        let bytes: Vec<u8> = (0..=255).collect();
        let text = encode(&bytes);
        assert!(text.starts_with("000102") && text.ends_with("fdfeff"));
        assert_eq!(text, bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        assert_eq!(decode(&text), Some(bytes.clone()));
        assert_eq!(decode(text.to_uppercase()), Some(bytes));
        let mut out = b"x".to_vec();
        push(&mut out, &[0, 0x1f, 255]);
        assert_eq!(out, b"x001fff");
        assert_eq!((separated(&[0, 0x1f, 255], ':'), separated(&[], ':')), ("00:1f:ff".into(), String::new()));
    }

    #[test]
    fn only_pairs_of_digits_are_decoded() {
        assert_eq!(decode(""), Some(Vec::new()));
        for text in ["0", "000", "0g", "+1", "0x", " 0", "0 ", "é"] {
            assert_eq!(decode(text), None, "{text}");
        }
        assert_eq!(decode(b"\xff\xff"), None);
    }
}
