//! Names of subjects and issuers, whose parts cannot be taken for each other.

use std::{borrow::Cow, ops::Deref};

/// The name of a subject or an issuer as text: `C=DE, O=Example\, Inc., CN=a + UID=b`, in the certificate's order. Parts are separated by a
/// comma and a blank, attributes of one part by a plus sign between blanks; in values these are escaped (RFC 4514 section 2.4). A
/// type without a short name is its number, as `2.5.4.97`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DistinguishedName(Box<str>);

/// An attribute of such a name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attribute<'a> {
    /// Its type: a short name, or its number; empty if the text has none.
    pub kind: &'a str,
    /// Its value, without escapes.
    pub value: Cow<'a, str>,
    /// Whether it belongs to the same part as the one before.
    pub is_joined: bool,
}

impl DistinguishedName {
    /// Its attributes in the certificate's order.
    #[must_use]
    pub fn attributes(&self) -> Vec<Attribute<'_>> {
        let (mut attributes, mut is_joined) = (Vec::new(), false);
        let mut rest = &*self.0;
        while !rest.is_empty() {
            let end = separator(rest);
            let attribute = &rest[..end.unwrap_or(rest.len())];
            let (attribute, behind) = match end.map(|end| (rest.as_bytes()[end], &rest[end + 1..])) {
                None => (attribute, ""),
                Some((b'+', behind)) => (attribute.strip_suffix(' ').unwrap_or(attribute), behind),
                Some((_, behind)) => (attribute, behind),
            };
            let (kind, value) = attribute.split_once('=').unwrap_or(("", attribute));
            attributes.push(Attribute { kind, value: unescaped(value), is_joined });
            is_joined = end.is_some_and(|end| rest.as_bytes()[end] == b'+');
            rest = behind.strip_prefix(' ').unwrap_or(behind);
        }
        attributes
    }
}

impl Deref for DistinguishedName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for DistinguishedName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// A text that is in that form already.
impl From<String> for DistinguishedName {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

/// The place of the first separator.
fn separator(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let was_escaped = is_escaped;
        is_escaped = byte == b'\\' && !was_escaped;
        !was_escaped && matches!(byte, b',' | b'+')
    })
}

fn unescaped(value: &str) -> Cow<'_, str> {
    if !value.contains('\\') {
        return value.into();
    }
    let mut out = String::with_capacity(value.len());
    let mut rest = value.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' if rest.as_str().starts_with("00") => {
                out.push('\0');
                rest = rest.as_str()[2..].chars();
            }
            '\\' => out.extend(rest.next()),
            c => out.push(c),
        }
    }
    out.into()
}

/// Writes a name, up to a length.
#[cfg(feature = "certificates")]
#[derive(Debug, Default)]
pub(crate) struct Writer {
    text: String,
    /// Whether more was not written.
    is_full: bool,
}

#[cfg(feature = "certificates")]
impl Writer {
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Appends an attribute.
    pub(crate) fn push(&mut self, kind: &str, value: &str, is_joined: bool) {
        let separator = match is_joined {
            _ if self.text.is_empty() => "",
            true => " + ",
            false => ", ",
        };
        self.piece(&[separator, kind, "="].concat());
        for (at, c) in value.char_indices() {
            let is_outer = at == 0 && matches!(c, '#' | ' ') || c == ' ' && at + 1 == value.len();
            match c {
                '\0' => self.piece("\\00"),
                _ if is_outer || matches!(c, '"' | '+' | ',' | ';' | '<' | '>' | '\\') => self.piece(&format!("\\{c}")),
                c => self.piece(c.encode_utf8(&mut [0; 4])),
            }
        }
    }

    /// Appends a piece that is not cut.
    fn piece(&mut self, piece: &str) {
        self.is_full |= self.text.len() + piece.len() > crate::text::TEXT_BYTES_MAX;
        if !self.is_full {
            self.text.push_str(piece);
        }
    }

    pub(crate) fn finish(self) -> DistinguishedName {
        self.text.into()
    }
}

#[cfg(all(test, feature = "certificates"))]
mod tests {
    use super::*;

    #[test]
    fn parts_are_those_that_were_written() {
        let parts = [
            ("CN", "evil.example, O=Real Bank", false),
            ("O", "a + UID=b", false),
            ("2.5.4.97", "x", true),
            ("OU", " #\"\\ <a;b>\0", false),
            ("L", " ", true),
            ("ST", "#", false),
            ("C", "", true),
            ("CN", "ü=1", false),
        ];
        let mut writer = Writer::default();
        parts.iter().for_each(|&(kind, value, is_joined)| writer.push(kind, value, is_joined));
        let name = writer.finish();
        let shown = "CN=evil.example\\, O=Real Bank, O=a \\+ UID=b + 2.5.4.97=x, OU=\\ #\\\"\\\\ \\<a\\;b\\>\\00 + L=\\ , ST=\\# + C=, CN=ü=1";
        assert_eq!(&*name, shown);
        let read: Vec<_> =
            name.attributes().into_iter().map(|one| (one.kind, one.value.into_owned(), one.is_joined)).collect();
        assert_eq!(read, parts.map(|(kind, value, is_joined)| (kind, value.to_owned(), is_joined)));
        assert_eq!(DistinguishedName::default().attributes(), []);
        let unusual = DistinguishedName::from("x, =\\".to_owned());
        assert_eq!(unusual.attributes().len(), 2);
    }

    #[test]
    fn a_long_name_is_cut_between_escapes() {
        let mut writer = Writer::default();
        writer.push("O", &",".repeat(4000), false);
        writer.push("CN", "x", false);
        assert!(writer.is_full());
        let name = writer.finish();
        assert_eq!((name.len(), name.attributes()[0].value.len()), (1024, 511));
    }
}
