//! Fast formatting of numbers and JSON.

use std::{
    fmt::{self, Write as _},
    net::IpAddr,
};

use tidewire::legible::is_hidden;
use tidewire_protocols::Value;

/// A buffer as the target of `write!`, which cannot fail.
pub struct Formatted<'a>(pub &'a mut Vec<u8>);

impl fmt::Write for Formatted<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Appends a number in decimal.
pub fn push_number(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Formats bytes as hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// Appends an address.
pub fn push_address(out: &mut Vec<u8>, address: IpAddr) {
    match address {
        IpAddr::V4(address) => {
            for (index, octet) in address.octets().into_iter().enumerate() {
                if index > 0 {
                    out.push(b'.');
                }
                push_number(out, u64::from(octet));
            }
        }
        IpAddr::V6(address) => {
            let _ = write!(Formatted(out), "{address}");
        }
    }
}

/// Appends a JSON string with its quotes. Control characters and invisible ones are escaped (RFC 8259 section 7), so that
/// objects can be shown on a terminal.
pub fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\') {
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
        return;
    }
    for c in text.chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            c if is_hidden(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(Formatted(out), "\\u{unit:04x}");
                }
            }
            c => {
                let mut bytes = [0; 4];
                out.extend_from_slice(c.encode_utf8(&mut bytes).as_bytes());
            }
        }
    }
    out.push(b'"');
}

/// Appends the members of an object that are the fields of a protocol.
pub fn push_values(object: &mut Object<'_>, members: &[(&'static str, Value<'_>)]) {
    for (name, value) in members {
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
}

/// The fields of a protocol as one object.
#[must_use]
pub fn of_values(members: &[(&'static str, Value<'_>)]) -> String {
    let mut out = Vec::new();
    let mut object = Object::open(&mut out);
    push_values(&mut object, members);
    object.close();
    // What is pushed is text throughout.
    String::from_utf8(out).unwrap_or_default()
}

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

    /// Appends the name of the next member; the caller appends its value to the returned buffer.
    pub fn key(&mut self, name: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.first) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    /// Appends a number.
    pub fn number(&mut self, name: &str, value: u64) {
        push_number(self.key(name), value);
    }

    /// Appends a string that needs no escapes.
    pub fn plain(&mut self, name: &str, value: &str) {
        let out = self.key(name);
        out.push(b'"');
        out.extend_from_slice(value.as_bytes());
        out.push(b'"');
    }

    /// Appends any string.
    pub fn text(&mut self, name: &str, value: &str) {
        push_string(self.key(name), value);
    }

    /// Appends true or false.
    pub fn truth(&mut self, name: &str, value: bool) {
        self.key(name).extend_from_slice(if value { b"true" } else { b"false" });
    }

    /// Appends null.
    pub fn null(&mut self, name: &str) {
        self.key(name).extend_from_slice(b"null");
    }

    /// Appends an address.
    pub fn address(&mut self, name: &str, value: IpAddr) {
        let out = self.key(name);
        out.push(b'"');
        push_address(out, value);
        out.push(b'"');
    }

    /// Appends a nested object.
    pub fn object(&mut self, name: &str, fill: impl FnOnce(&mut Object<'_>)) {
        let mut inner = Object::open(self.key(name));
        fill(&mut inner);
        inner.close();
    }

    /// Appends an array; `each` appends one element.
    pub fn array<T>(&mut self, name: &str, items: impl IntoIterator<Item = T>, mut each: impl FnMut(&mut Vec<u8>, T)) {
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
