//! Fast formatting of numbers and JSON.

use std::{
    fmt::{self, Write as _},
    net::IpAddr,
};

use tidewire::legible::is_hidden;
use tidewire_protocols::Value;
use tidewire_types::hex;

/// A buffer as the target of `write!`, which cannot fail.
pub struct Formatted<'a>(pub &'a mut Vec<u8>);

impl fmt::Write for Formatted<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Two digits of each number below 100.
const PAIRS: &[u8; 200] =
    b"0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";

/// The two digits of a number below 100.
#[inline]
pub(crate) fn pair(value: u8) -> [u8; 2] {
    let at = usize::from(value % 100) * 2;
    [PAIRS[at], PAIRS[at + 1]]
}

/// Most digits of a number.
const DIGITS_MAX: usize = 20;

/// Writes a number's digits so that they end at [`DIGITS_MAX`]; where they begin.
#[inline]
fn write_digits(out: &mut [u8; 2 * DIGITS_MAX], mut value: u64) -> usize {
    let mut at = DIGITS_MAX;
    while value >= 100 {
        at -= 2;
        out[at..at + 2].copy_from_slice(&pair((value % 100) as u8));
        value /= 100;
    }
    if value >= 10 {
        at -= 2;
        out[at..at + 2].copy_from_slice(&pair(value as u8));
    } else {
        at -= 1;
        out[at] = b'0' + value as u8;
    }
    at
}

/// Appends a number in decimal.
#[inline]
pub fn push_number(out: &mut Vec<u8>, value: u64) {
    if value < 10 {
        out.push(b'0' + value as u8);
        return;
    }
    // A copy of a known length is a few instructions; what it copies behind the digits is cut off.
    let mut digits = [0; 2 * DIGITS_MAX];
    let at = write_digits(&mut digits, value);
    let end = out.len() + DIGITS_MAX - at;
    out.extend_from_slice(&digits[at..at + DIGITS_MAX]);
    out.truncate(end);
}

/// Appends an address.
pub fn push_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            let (mut text, mut len) = ([b'.'; 16], 0);
            for octet in address.octets() {
                let [tens, ones] = pair(octet % 100);
                if octet >= 100 {
                    text[len] = b'0' + octet / 100;
                    text[len + 1] = tens;
                    text[len + 2] = ones;
                    len += 3;
                } else if octet >= 10 {
                    text[len] = tens;
                    text[len + 1] = ones;
                    len += 2;
                } else {
                    text[len] = ones;
                    len += 1;
                }
                if len < 15 {
                    text[len] = b'.';
                }
                len += 1;
            }
            out.extend_from_slice(&text[..len - 1]);
        }
        IpAddr::V6(address) => {
            let _ = write!(Formatted(out), "{address}");
        }
    }
}

/// Appends text that needs no escapes, with quotes.
#[inline]
pub(crate) fn push_plain(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Appends a JSON string with its quotes. Control characters and invisible ones are escaped (RFC 8259 section 7), so that
/// objects can be shown on a terminal.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    // Without an early end it is done many bytes at a time.
    let is_special = |byte: &u8| !(b' '..=b'~').contains(byte) | (*byte == b'"') | (*byte == b'\\');
    let is_plain = !text.as_bytes().iter().fold(false, |any, byte| any | is_special(byte));
    if is_plain {
        push_plain(out, text);
        return;
    }
    out.reserve(text.len() + text.len() / 2);
    out.push(b'"');
    // Characters without an escape are copied together.
    let (bytes, mut from, mut at) = (text.as_bytes(), 0, 0);
    while let Some(plain) = bytes[at..].iter().position(is_special) {
        at += plain;
        out.extend_from_slice(&bytes[from..at]);
        if matches!(bytes[at], b'"' | b'\\') {
            // It stays, behind a backslash.
            out.push(b'\\');
            (from, at) = (at, at + 1);
            continue;
        }
        let Some(c) = text[at..].chars().next() else { break };
        at += c.len_utf8();
        from = at;
        match c {
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            c if is_hidden(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.extend_from_slice(b"\\u");
                    hex::push(out, &unit.to_be_bytes());
                }
            }
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.extend_from_slice(&bytes[from..]);
    out.push(b'"');
}

/// Appends JSON of another writer, with what a terminal obeys as escapes: serde_json leaves some of it in texts.
pub fn push_escaped(out: &mut Vec<u8>, json: &str) {
    if !json.chars().any(is_hidden) {
        return out.extend_from_slice(json.as_bytes());
    }
    let mut escaped = Vec::new();
    for c in json.chars() {
        if is_hidden(c) {
            // Such characters stand in texts only.
            escaped.clear();
            push_string(&mut escaped, c.encode_utf8(&mut [0; 4]));
            out.extend_from_slice(escaped.get(1..escaped.len() - 1).unwrap_or_default());
        } else {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
}

/// Appends the members of an object that are the fields of a protocol.
pub fn push_values(object: &mut Object<'_>, members: &[(&'static str, Value<'_>)]) {
    members.iter().for_each(|(name, value)| push_value(object, name, value));
}

/// Appends one of them.
pub fn push_value(object: &mut Object<'_>, name: &str, value: &Value<'_>) {
    match value {
        Value::Number(number) => object.number(name, *number),
        Value::Text(text) => object.text(name, text),
        Value::Seconds(seconds) => object.key(name).extend_from_slice(seconds.to_string().as_bytes()),
        Value::Truth(truth) => object.truth(name, *truth),
        Value::Texts(texts) => object.array(name, texts, |out, text| push_string(out, text)),
        Value::Object(members) => object.object(name, |object| push_values(object, members)),
        Value::Objects(list) => object.array(name, list, |out, members| {
            let mut object = Object::open(out);
            push_values(&mut object, members);
            object.close();
        }),
    }
}

/// The fields of a protocol as one object.
#[must_use]
pub fn of_values(members: &[(&'static str, Value<'_>)]) -> String {
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    push_values(&mut object, members);
    object.close();
    // All pieces are text.
    String::from_utf8(out).unwrap_or_default()
}

/// The name of a member.
pub trait Key {
    /// Appends it, with a comma before unless it is the first.
    fn push(self, out: &mut Vec<u8>, is_first: bool);
}

impl Key for &str {
    #[inline]
    fn push(self, out: &mut Vec<u8>, is_first: bool) {
        if !is_first {
            out.push(b',');
        }
        push_plain(out, self);
        out.push(b':');
    }
}

impl Key for &&str {
    #[inline]
    fn push(self, out: &mut Vec<u8>, is_first: bool) {
        (*self).push(out, is_first);
    }
}

/// A name that was put together with what is around it when this was compiled (`member!`): one piece to append instead of four.
#[derive(Clone, Copy)]
pub(crate) struct Member(pub(crate) &'static str);

impl Key for Member {
    #[inline]
    fn push(self, out: &mut Vec<u8>, is_first: bool) {
        out.extend_from_slice(&self.0.as_bytes()[usize::from(is_first)..]);
    }
}

/// The name of a member, for records of which there are many.
macro_rules! member {
    ($name:literal) => {
        $crate::json::Member(concat!(",\"", $name, "\":"))
    };
}
pub(crate) use member;

/// A JSON object that is written on one line.
pub struct Object<'a> {
    out: &'a mut Vec<u8>,
    first: bool,
}

impl<'a> Object<'a> {
    /// Opens an object.
    pub fn open(out: &'a mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, first: true }
    }

    /// Members of an object that is open and has the comma for the next one.
    pub(crate) fn go_on(out: &'a mut Vec<u8>) -> Self {
        Self { out, first: true }
    }

    /// Appends the name of the next member; the caller appends its value to the returned buffer.
    #[inline]
    pub fn key(&mut self, name: impl Key) -> &mut Vec<u8> {
        name.push(self.out, std::mem::take(&mut self.first));
        self.out
    }

    /// Appends a member whose value `push` appends; where it returns `false`, there is none, and nothing is appended.
    pub(crate) fn optional(&mut self, name: impl Key, push: impl FnOnce(&mut Vec<u8>) -> bool) {
        let (before, first) = (self.out.len(), self.first);
        if !push(self.key(name)) {
            self.out.truncate(before);
            self.first = first;
        }
    }

    /// Appends a number.
    #[inline]
    pub fn number(&mut self, name: impl Key, value: u64) {
        push_number(self.key(name), value);
    }

    /// Appends a string that needs no escapes.
    #[inline]
    pub fn plain(&mut self, name: impl Key, value: &str) {
        push_plain(self.key(name), value);
    }

    /// Appends any string.
    #[inline]
    pub fn text(&mut self, name: impl Key, value: &str) {
        push_string(self.key(name), value);
    }

    /// Appends true or false.
    #[inline]
    pub fn truth(&mut self, name: impl Key, value: bool) {
        self.key(name).extend_from_slice(if value { b"true" } else { b"false" });
    }

    /// Appends null.
    #[inline]
    pub fn null(&mut self, name: impl Key) {
        self.key(name).extend_from_slice(b"null");
    }

    /// Appends an address.
    #[inline]
    pub fn address(&mut self, name: impl Key, value: IpAddr) {
        let out = self.key(name);
        out.push(b'"');
        push_address(out, value);
        out.push(b'"');
    }

    /// Appends a nested object.
    pub fn object(&mut self, name: impl Key, fill: impl FnOnce(&mut Object<'_>)) {
        let mut inner = Object::open(self.key(name));
        fill(&mut inner);
        inner.close();
    }

    /// Appends an array; `each` appends one element.
    pub fn array<T>(
        &mut self,
        name: impl Key,
        items: impl IntoIterator<Item = T>,
        mut each: impl FnMut(&mut Vec<u8>, T),
    ) {
        let out = self.key(name);
        out.push(b'[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            each(out, item);
        }
        out.push(b']');
    }

    /// Closes the object.
    pub fn close(self) {
        self.out.push(b'}');
    }
}
