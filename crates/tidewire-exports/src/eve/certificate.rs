//! Values of certificates in Suricata's form.

use tidewire_types::hex;

use crate::{
    json::{Key, Object, member},
    time::push_civil,
};

/// A serial number: pairs of hexadecimal digits in capitals, with colons between.
pub(super) fn push_serial(object: &mut Object<'_>, digits: &str) {
    let digits = digits.bytes().filter(u8::is_ascii_hexdigit).map(|digit| digit.to_ascii_uppercase());
    let mut digits: Vec<u8> = digits.collect();
    if digits.len() % 2 == 1 {
        digits.insert(0, b'0');
    }
    let out = object.key(member!("serial"));
    out.push(b'"');
    for (index, pair) in digits.chunks(2).enumerate() {
        if index > 0 {
            out.push(b':');
        }
        out.extend_from_slice(pair);
    }
    out.push(b'"');
}

/// The SHA-1 of a certificate: pairs of hexadecimal digits with colons between.
pub(super) fn push_fingerprint(object: &mut Object<'_>, hash: &[u8; 20]) {
    let out = object.key(member!("fingerprint"));
    for (index, byte) in hash.iter().enumerate() {
        out.push(if index == 0 { b'"' } else { b':' });
        out.extend(hex::digits(*byte));
    }
    out.push(b'"');
}

/// A point in time without fractions and zone: `2026-11-22T06:30:00`.
pub(super) fn push_day(object: &mut Object<'_>, name: impl Key, seconds: i64) {
    let out = object.key(name);
    out.push(b'"');
    push_civil(out, seconds, *b"-T:");
    out.push(b'"');
}
