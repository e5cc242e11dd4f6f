//! Parameters of service bindings (SVCB and HTTPS, RFC 9460 section 2).

use std::{
    fmt::Write as _,
    net::{Ipv4Addr, Ipv6Addr},
};

use crate::{
    reader::Reader,
    text::{push_base64, push_character_string},
    work,
};

/// Text of parameters behind which no further one is shown, bytes: all that servers send, with a configuration of Encrypted Client Hello.
const TEXT_BYTES_MAX: usize = 4096;

/// Longest value in Base64 or of an unknown key that is shown, bytes of the record.
const VALUE_BYTES_MAX: usize = 1024;

/// IANA's registry "Service Parameter Keys", by number.
const KEYS: [&str; 10] = [
    "mandatory",
    "alpn",
    "no-default-alpn",
    "port",
    "ipv4hint",
    "ech",
    "ipv6hint",
    "dohpath",
    "ohttp",
    "tls-supported-groups",
];

/// Appends the parameters in their presentation format (RFC 9460 section 2.1), each behind a blank. `None`: malformed.
pub(super) fn push_parameters(shown: &mut String, bytes: &[u8]) -> Option<()> {
    let mut reader = Reader::new(bytes);
    while !reader.is_empty() {
        let key = reader.u16()?;
        let value = reader.block16()?.rest();
        work::add(1);
        if shown.len() >= TEXT_BYTES_MAX {
            continue;
        }
        shown.push(' ');
        push_key(shown, key);
        if value.is_empty() {
            continue;
        }
        shown.push('=');
        let mut said = String::new();
        match push_value(&mut said, key, value) {
            Some(()) => {
                work::add(value.len());
                shown.push_str(&said);
            }
            // Not as its key demands: as of an unknown key.
            None => push_quoted(shown, &value[..value.len().min(VALUE_BYTES_MAX)]),
        }
    }
    Some(())
}

fn push_key(shown: &mut String, key: u16) {
    match KEYS.get(usize::from(key)) {
        Some(name) => shown.push_str(name),
        None => {
            let _ = write!(shown, "key{key}");
        }
    }
}

/// The value in the form of its key (RFC 9460 sections 7 and 8, RFC 9461 section 5, RFC 9848).
fn push_value(said: &mut String, key: u16, value: &[u8]) -> Option<()> {
    let mut reader = Reader::new(value);
    match key {
        0 | 9 if value.len().is_multiple_of(2) => list(said, reader.all_u16(), |said, number| match key {
            0 => push_key(said, number),
            _ => {
                let _ = write!(said, "{number}");
            }
        }),
        1 => {
            // A list within a text: commas and backslashes are escaped twice (appendix A.1).
            let mut names = Vec::new();
            while !reader.is_empty() {
                if !names.is_empty() {
                    names.push(b',');
                }
                for &byte in reader.block8()?.rest() {
                    if matches!(byte, b',' | b'\\') {
                        names.push(b'\\');
                    }
                    names.push(byte);
                }
            }
            push_quoted(said, &names);
        }
        3 => {
            let _ = write!(said, "{}", u16::from_be_bytes(value.try_into().ok()?));
        }
        4 if value.len().is_multiple_of(4) => list(said, value.chunks_exact(4), |said, address| {
            let _ = write!(said, "{}", Ipv4Addr::from(<[u8; 4]>::try_from(address).unwrap_or_default()));
        }),
        5 => push_base64(said, &value[..value.len().min(VALUE_BYTES_MAX)]),
        6 if value.len().is_multiple_of(16) => list(said, value.chunks_exact(16), |said, address| {
            let _ = write!(said, "{}", Ipv6Addr::from(<[u8; 16]>::try_from(address).unwrap_or_default()));
        }),
        _ => return None,
    }
    Some(())
}

fn list<T>(said: &mut String, values: impl Iterator<Item = T>, mut push: impl FnMut(&mut String, T)) {
    for (index, value) in values.enumerate() {
        if index > 0 {
            said.push(',');
        }
        push(said, value);
    }
}

/// A text (RFC 1035 section 5.1), in quotation marks where a blank or what begins a comment wants them.
fn push_quoted(shown: &mut String, bytes: &[u8]) {
    let is_quoted = bytes.iter().any(|byte| b" ;()\"".contains(byte));
    shown.push_str(if is_quoted { "\"" } else { "" });
    push_character_string(shown, bytes);
    shown.push_str(if is_quoted { "\"" } else { "" });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(bytes: &[u8]) -> Option<String> {
        let mut shown = String::new();
        push_parameters(&mut shown, bytes).map(|()| shown)
    }

    /// Test vectors of RFC 9460 appendix D.2, and values of the other keys.
    #[test]
    fn parameters_have_their_presentation() {
        let cases: [(&[u8], &str); 12] = [
            (b"", ""),
            (b"\x00\x03\x00\x02\x00\x35", " port=53"),
            (b"\x02\x9b\x00\x05hello", " key667=hello"),
            (b"\x02\x9b\x00\x09hello\xd2qoo", " key667=hello\\210qoo"),
            (
                b"\x00\x06\x00\x20\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\x53\0\x01",
                " ipv6hint=2001:db8::1,2001:db8::53:1",
            ),
            (
                b"\x00\x00\x00\x04\x00\x01\x00\x04\x00\x01\x00\x09\x02h2\x05h3-19\x00\x04\x00\x04\xc0\x00\x02\x01",
                " mandatory=alpn,ipv4hint alpn=h2,h3-19 ipv4hint=192.0.2.1",
            ),
            (b"\x00\x01\x00\x0c\x08f\\oo,bar\x02h2", " alpn=f\\\\\\\\oo\\\\,bar,h2"),
            (b"\x00\x02\x00\x00\x00\x08\x00\x00", " no-default-alpn ohttp"),
            (b"\x00\x05\x00\x04\x00\x02\xfe\x0d", " ech=AAL+DQ=="),
            (b"\x00\x07\x00\x10/dns-query{?dns}", " dohpath=/dns-query{?dns}"),
            (b"\xff\xff\x00\x03a;b", " key65535=\"a;b\""),
            // Of a wrong length.
            (b"\x00\x03\x00\x01\x35\x00\x04\x00\x03\x01\x02\x03", " port=5 ipv4hint=\\001\\002\\003"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(parameters(bytes).as_deref(), Some(expected));
        }
    }

    #[test]
    fn broken_parameters_are_rejected() {
        for bytes in [&b"\x00"[..], b"\x00\x01\x00", b"\x00\x01\x00\x03\x02h"] {
            assert_eq!(parameters(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn their_text_is_bounded() {
        let one = [&b"\xff\x00\x08\x00"[..], &[7; 2048]].concat();
        assert!(parameters(&one.repeat(31)).unwrap().len() < TEXT_BYTES_MAX + 5 * VALUE_BYTES_MAX);
    }
}
