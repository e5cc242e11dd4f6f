//! Fingerprints of clients: JA3 (an MD5 over values in their order) and JA4 for TLS clients, written from the text of its
//! specification (`JA4.md` of FoxIO, BSD 3-Clause). Other members of that family have another licence and are not here.

use md5::Md5;
use sha2::{Digest as _, Sha256};
use tidewire_types::hex::digits;

use super::hello::{ClientHello, is_grease};
use crate::{
    text::{hex, push_decimal, push_hex, string},
    work,
};

const SERVER_NAME: u16 = 0;
const ALPN: u16 = 16;

/// Most values of a hello that has fingerprints: cipher suites, extensions, groups and algorithms of signatures. Registries have 400 suites, and
/// clients that probe servers offer all of these.
const VALUES_MAX: usize = 256;

/// JA3 and JA4 of a hello; `None`: it has too many values. `protocol`: `t` over TCP, `q` in QUIC.
pub(crate) fn fingerprints(hello: &ClientHello<'_>, protocol: u8) -> Option<(Box<str>, Box<str>)> {
    let lists = hello.groups().count() + hello.signature_algorithms().count();
    let values = hello.ciphers.len() + hello.extensions.len() + lists;
    (values <= VALUES_MAX).then(|| {
        work::add(16 * values);
        (ja3(hello), ja4(hello, protocol))
    })
}

fn known(values: impl IntoIterator<Item = u16>) -> impl Iterator<Item = u16> {
    values.into_iter().filter(|&value| !is_grease(value))
}

/// Appends numbers, decimal, behind a comma.
fn push_joined(out: &mut Vec<u8>, values: impl IntoIterator<Item = u16>) {
    out.push(b',');
    for (index, value) in values.into_iter().enumerate() {
        if index > 0 {
            out.push(b'-');
        }
        push_decimal(out, value);
    }
}

/// MD5 over version, cipher suites, extensions, groups and point formats, all decimal.
fn ja3(hello: &ClientHello<'_>) -> Box<str> {
    let mut values = Vec::with_capacity(512);
    push_decimal(&mut values, hello.legacy_version);
    push_joined(&mut values, known(hello.ciphers.iter().copied()));
    push_joined(&mut values, known(hello.extensions.iter().map(|extension| extension.0)));
    push_joined(&mut values, known(hello.groups()));
    push_joined(&mut values, hello.point_formats().iter().map(|&format| format.into()));
    hex(&Md5::digest(values)).into()
}

/// JA4.
fn ja4(hello: &ClientHello<'_>, protocol: u8) -> Box<str> {
    let mut ciphers: Vec<u16> = known(hello.ciphers.iter().copied()).collect();
    let mut extensions: Vec<u16> = known(hello.extensions.iter().map(|extension| extension.0)).collect();
    let mut text = Vec::with_capacity(36);
    text.push(protocol);
    text.extend_from_slice(version(hello.version()).as_bytes());
    text.push(if hello.has_sni() { b'd' } else { b'i' });
    for count in [ciphers.len(), extensions.len()] {
        let count = count.min(99) as u8;
        text.extend_from_slice(&[b'0' + count / 10, b'0' + count % 10]);
    }
    text.extend_from_slice(&ends(hello.first_alpn()));
    ciphers.sort_unstable();
    extensions.retain(|kind| ![SERVER_NAME, ALPN].contains(kind));
    extensions.sort_unstable();
    let mut list = Vec::with_capacity(512);
    push_hexadecimal(&mut list, ciphers);
    push_digest(&mut text, &list);
    list.clear();
    push_hexadecimal(&mut list, extensions);
    let mut algorithms = known(hello.signature_algorithms()).peekable();
    if !list.is_empty() && algorithms.peek().is_some() {
        list.push(b'_');
        push_hexadecimal(&mut list, algorithms);
    }
    push_digest(&mut text, &list);
    string(text).into()
}

fn version(version: u16) -> &'static str {
    match version {
        0x0304 => "13",
        0x0303 => "12",
        0x0302 => "11",
        0x0301 => "10",
        0x0300 => "s3",
        0x0002 => "s2",
        0xfeff => "d1",
        0xfefd => "d2",
        0xfefc => "d3",
        _ => "00",
    }
}

/// First and last character of the first application protocol; of its hexadecimal form if one of them is no letter or digit.
fn ends(alpn: &[u8]) -> [u8; 2] {
    let (first, last) = match alpn {
        [] => return *b"00",
        [one] => (*one, *one),
        [first, .., last] => (*first, *last),
    };
    if first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() {
        return [first, last];
    }
    [digits(first)[0], digits(last)[1]]
}

/// Appends numbers of four digits between commas.
fn push_hexadecimal(out: &mut Vec<u8>, values: impl IntoIterator<Item = u16>) {
    for (index, value) in values.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        push_hex(out, &value.to_be_bytes());
    }
}

/// Appends the first 12 digits of SHA-256 behind `_`; zeros for nothing.
fn push_digest(out: &mut Vec<u8>, list: &[u8]) {
    out.push(b'_');
    match list {
        [] => out.extend_from_slice(&[b'0'; 12]),
        list => push_hex(out, &Sha256::digest(list)[..6]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification.
    #[test]
    fn ja4_is_that_of_its_specification() {
        let bytes = |values: &[u16]| values.iter().flat_map(|value| value.to_be_bytes()).collect::<Vec<_>>();
        let algorithms = bytes(&[0x0403, 0x0804, 0x0401, 0x0503, 0x0805, 0x0501, 0x0806, 0x0601]);
        let algorithms = [&16_u16.to_be_bytes(), &*algorithms].concat();
        let kinds = [
            0x001b, 0x0000, 0x0033, 0x0010, 0x4469, 0x0017, 0x002d, 0x000d, 0x0005, 0x0023, 0x0012, 0x002b, 0xff01,
            0x000b, 0x000a, 0x0015, 0x0a0a,
        ];
        let extensions = kinds.iter().map(|&kind| match kind {
            0x000d => (kind, algorithms.as_slice()),
            0x0010 => (kind, b"\x00\x03\x02h2".as_slice()),
            0x002b => (kind, b"\x06\x1a\x1a\x03\x04\x03\x03".as_slice()),
            _ => (kind, b"".as_slice()),
        });
        let ciphers = vec![
            0x1a1a, 0x1301, 0x1302, 0x1303, 0xc02b, 0xc02f, 0xc02c, 0xc030, 0xcca9, 0xcca8, 0xc013, 0xc014, 0x009c,
            0x009d, 0x002f, 0x0035,
        ];
        let hello = ClientHello { legacy_version: 0x0303, session: &[], ciphers, extensions: extensions.collect() };
        assert_eq!(&*ja4(&hello, b't'), "t13d1516h2_8daaf6152771_e5627efa2ab1");
        let plain = ClientHello { extensions: Vec::new(), ciphers: Vec::new(), ..hello };
        assert_eq!(&*ja4(&plain, b'q'), "q12i000000_000000000000_000000000000");
    }

    #[test]
    fn a_hello_of_very_many_values_has_no_fingerprints() {
        let of = |values: usize| ClientHello {
            legacy_version: 0x0303,
            session: &[],
            ciphers: vec![0x1301; values / 2],
            extensions: vec![(1, &[]); values - values / 2],
        };
        assert!(fingerprints(&of(VALUES_MAX), b't').is_some());
        assert_eq!(fingerprints(&of(VALUES_MAX + 1), b't'), None);
    }

    /// The examples of the specification.
    #[test]
    fn protocols_that_are_no_text_show_their_digits() {
        let cases: [(&[u8], [u8; 2]); 8] = [
            (b"h2", *b"h2"),
            (b"http/1.1", *b"h1"),
            (b"x", *b"xx"),
            (b"", *b"00"),
            (b"\xab", *b"ab"),
            (b"\xab\xcd", *b"ad"),
            (b"\x30\xab", *b"3b"),
            (b"\x30\xab\xcd\x31", *b"01"),
        ];
        for (alpn, expected) in cases {
            // The last: both ends are digits, though the middle is not.
            assert_eq!(ends(alpn), expected, "{alpn:?}");
        }
    }
}
