//! Records of DNS answers out of their presentation format, for formats that have members for their parts.

use std::borrow::Cow;

/// The words of a record whose parts have no blanks: exactly so many.
pub(crate) fn words<const N: usize>(data: &str) -> Option<[&str; N]> {
    first_words(data).filter(|_| data.split(' ').count() == N)
}

/// The first words of a record that may have more.
pub(crate) fn first_words<const N: usize>(data: &str) -> Option<[&str; N]> {
    let mut words = Some(data).filter(|data| !is_generic(data))?.split(' ');
    let mut found = [""; N];
    for place in &mut found {
        *place = words.next()?;
    }
    Some(found)
}

/// Whether data is `\# LENGTH HEX` (RFC 3597 section 5): of a type without a form of its own, or damaged.
pub(crate) fn is_generic(data: &str) -> bool {
    data.starts_with("\\# ")
}

/// The hexadecimal digits of such data.
pub(crate) fn generic_digits(data: &str) -> Option<&str> {
    data.strip_prefix("\\# ")?.split_once(' ').map(|(_, digits)| digits)
}

/// The texts of a record of texts (`"one" "two"`) as their bytes, without quotation marks and escapes. Anything else is one text.
pub(crate) fn texts(data: &str) -> impl Iterator<Item = Cow<'_, [u8]>> {
    quoted(data).map(|quoted| match quoted {
        Ok(inner) => bytes_of(inner),
        Err(other) => Cow::Borrowed(other.as_bytes()),
    })
}

/// The same; `text_of` makes a text of the bytes of one that had escapes.
pub(crate) fn texts_as(data: &str, text_of: fn(Vec<u8>) -> String) -> impl Iterator<Item = Cow<'_, str>> {
    quoted(data).map(move |quoted| quoted.map_or_else(Cow::Borrowed, |inner| unescaped(inner, text_of)))
}

/// The text between quotation marks, or else all that is left.
fn quoted(data: &str) -> impl Iterator<Item = Result<&str, &str>> {
    let mut rest = Some(data);
    std::iter::from_fn(move || {
        let from = rest.take()?;
        let Some(inner) = from.strip_prefix('"') else { return Some(Err(from)) };
        let end = end_of(inner);
        rest = inner.get(end + 1..).and_then(|behind| behind.strip_prefix(' '));
        Some(Ok(&inner[..end]))
    })
}

/// Where a text ends: at a quotation mark that is not escaped.
fn end_of(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if !is_escaped => return at,
            _ => is_escaped = byte == b'\\' && !is_escaped,
        }
    }
    text.len()
}

/// A text without its escapes (RFC 1035 section 5.1); `text_of` makes one of its bytes.
pub(crate) fn unescaped(text: &str, text_of: fn(Vec<u8>) -> String) -> Cow<'_, str> {
    match bytes_of(text) {
        Cow::Borrowed(_) => Cow::Borrowed(text),
        Cow::Owned(bytes) => Cow::Owned(text_of(bytes)),
    }
}

/// The bytes of a text without its escapes.
pub(crate) fn bytes_of(text: &str) -> Cow<'_, [u8]> {
    if !text.contains('\\') {
        return Cow::Borrowed(text.as_bytes());
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&first, behind)) = rest.split_first() {
        let number = if first == b'\\' { byte_of(behind) } else { None };
        let (byte, taken) = match (first, number, behind.first()) {
            (b'\\', Some(number), _) => (number, 4),
            (b'\\', None, Some(&byte)) => (byte, 2),
            _ => (first, 1),
        };
        bytes.push(byte);
        rest = &rest[taken..];
    }
    Cow::Owned(bytes)
}

/// The byte whose three decimal digits come first.
fn byte_of(text: &[u8]) -> Option<u8> {
    let digits = text.first_chunk::<3>().filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
    let number = digits.iter().fold(0, |number, digit| 10 * number + u16::from(digit - b'0'));
    u8::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_lose_quotation_marks_and_escapes() {
        let all = |data| texts_as(data, |bytes| String::from_utf8(bytes).unwrap()).collect::<Vec<_>>();
        assert_eq!(all(r#""v=spf1 -all" "" "a\"b\\" "\195\164""#), ["v=spf1 -all", "", "a\"b\\", "ä"]);
        assert_eq!(all(r"\# 2 abcd"), [r"\# 2 abcd"]);
        assert_eq!(all(r#""cut"#), ["cut"]);
        assert_eq!(all(""), [""]);
        assert_eq!(all(r#""a\"#), ["a\\"]);
        let bytes: Vec<_> = texts(r#""\255\254a" "b""#).collect();
        assert_eq!(bytes, [&[255, 254, b'a'][..], b"b"]);
    }

    #[test]
    fn words_are_as_many_as_wanted() {
        assert_eq!(words::<4>("1 2 443 a.example"), Some(["1", "2", "443", "a.example"]));
        assert_eq!((words::<2>("1"), words::<2>("1 2 3"), first_words("1 2 3")), (None, None, Some(["1", "2"])));
        // Damaged data is not in the form of its type.
        assert_eq!((words::<3>(r"\# 1 0a"), first_words::<1>(r"\# 1 0a")), (None, None));
        assert_eq!((generic_digits(r"\# 2 0a0b"), generic_digits("10 a")), (Some("0a0b"), None));
    }
}
