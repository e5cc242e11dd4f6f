//! Records of DNS answers out of their presentation format, for formats that have members for their parts.

use std::borrow::Cow;

/// The words of a record whose parts have no blanks.
pub(crate) fn words<const N: usize>(data: &str) -> Option<[&str; N]> {
    let mut words = data.split(' ');
    let mut found = [""; N];
    for place in &mut found {
        *place = words.next()?;
    }
    Some(found)
}

/// The texts of a record of texts (`"one" "two"`), without quotation marks and escapes. Anything else is one text.
pub(crate) fn texts(data: &str) -> impl Iterator<Item = Cow<'_, str>> {
    texts_as(data, |bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The same; `text_of` makes a text of the bytes of one that had escapes.
pub(crate) fn texts_as(data: &str, text_of: fn(Vec<u8>) -> String) -> impl Iterator<Item = Cow<'_, str>> {
    let mut rest = Some(data);
    std::iter::from_fn(move || {
        let from = rest.take()?;
        let Some(inner) = from.strip_prefix('"') else { return Some(Cow::Borrowed(from)) };
        let end = end_of(inner);
        rest = inner.get(end + 1..).and_then(|behind| behind.strip_prefix(' '));
        Some(unescaped(&inner[..end], text_of))
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
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&first, behind)) = rest.split_first() {
        let number = behind
            .get(..3)
            .filter(|_| first == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
        let (byte, taken) = match (first, number, behind.first()) {
            (b'\\', Some(number), _) => (number, 4),
            (b'\\', None, Some(&byte)) => (byte, 2),
            _ => (first, 1),
        };
        bytes.push(byte);
        rest = &rest[taken..];
    }
    Cow::Owned(text_of(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_lose_quotation_marks_and_escapes() {
        let all = |data| texts(data).collect::<Vec<_>>();
        assert_eq!(all(r#""v=spf1 -all" "" "a\"b\\" "\195\164""#), ["v=spf1 -all", "", "a\"b\\", "ä"]);
        assert_eq!(all(r"\# 2 abcd"), [r"\# 2 abcd"]);
        assert_eq!(all(r#""cut"#), ["cut"]);
        assert_eq!(all(""), [""]);
        assert_eq!(all(r#""a\"#), ["a\\"]);
    }

    #[test]
    fn words_are_as_many_as_wanted() {
        assert_eq!(words::<4>("1 2 443 a.example"), Some(["1", "2", "443", "a.example"]));
        assert_eq!(words::<2>("1"), None);
    }
}
