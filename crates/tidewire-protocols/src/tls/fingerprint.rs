//! Fingerprints of clients: JA3 (an MD5 over values in their order) and JA4 for TLS clients, written from the text of its
//! specification (`JA4.md` of FoxIO, BSD 3-Clause). Other members of that family have another licence and are not here.

use std::fmt::Write as _;

use md5::Md5;
use sha2::{Digest as _, Sha256};

use super::hello::{ClientHello, is_grease};
use crate::text::hex;

const SERVER_NAME: u16 = 0;
const ALPN: u16 = 16;

fn known(values: impl IntoIterator<Item = u16>) -> impl Iterator<Item = u16> {
    values.into_iter().filter(|&value| !is_grease(value))
}

fn joined(values: impl IntoIterator<Item = u16>) -> String {
    values.into_iter().map(|value| value.to_string()).collect::<Vec<_>>().join("-")
}

/// MD5 over version, cipher suites, extensions, groups and point formats, all decimal.
pub(crate) fn ja3(hello: &ClientHello<'_>) -> Box<str> {
    let values = format!(
        "{},{},{},{},{}",
        hello.legacy_version,
        joined(known(hello.ciphers.iter().copied())),
        joined(known(hello.extensions.iter().map(|extension| extension.0))),
        joined(known(hello.groups())),
        joined(hello.point_formats().iter().map(|&format| format.into())),
    );
    hex(&Md5::digest(values)).into()
}

/// JA4; `protocol`: `t` over TCP, `q` in QUIC.
pub(crate) fn ja4(hello: &ClientHello<'_>, protocol: u8) -> Box<str> {
    let mut ciphers: Vec<u16> = known(hello.ciphers.iter().copied()).collect();
    let mut extensions: Vec<u16> = known(hello.extensions.iter().map(|extension| extension.0)).collect();
    let mut text = format!(
        "{}{}{}{:02}{:02}",
        char::from(protocol),
        version(hello.version()),
        if hello.has_sni() { 'd' } else { 'i' },
        ciphers.len().min(99),
        extensions.len().min(99),
    );
    text.extend(ends(hello.first_alpn()));
    ciphers.sort_unstable();
    extensions.retain(|kind| ![SERVER_NAME, ALPN].contains(kind));
    extensions.sort_unstable();
    let mut list = hexadecimal(&extensions);
    let algorithms: Vec<u16> = known(hello.signature_algorithms()).collect();
    if !algorithms.is_empty() && !list.is_empty() {
        list += "_";
        list += &hexadecimal(&algorithms);
    }
    let _ = write!(text, "_{}_{}", digest(&hexadecimal(&ciphers)), digest(&list));
    text.into()
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
fn ends(alpn: &[u8]) -> [char; 2] {
    let (first, last) = match alpn {
        [] => return ['0', '0'],
        [one] => (*one, *one),
        [first, .., last] => (*first, *last),
    };
    if first.is_ascii_alphanumeric() && last.is_ascii_alphanumeric() {
        return [first.into(), last.into()];
    }
    let digit = |value: u8| char::from(b"0123456789abcdef"[usize::from(value & 15)]);
    [digit(first >> 4), digit(last)]
}

fn hexadecimal(values: &[u16]) -> String {
    values.iter().map(|value| format!("{value:04x}")).collect::<Vec<_>>().join(",")
}

/// The first 12 digits of SHA-256; zeros for nothing.
fn digest(list: &str) -> String {
    match list {
        "" => "0".repeat(12),
        list => hex(&Sha256::digest(list)[..6]),
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

    /// The examples of the specification.
    #[test]
    fn protocols_that_are_no_text_show_their_digits() {
        let cases: [(&[u8], [char; 2]); 8] = [
            (b"h2", ['h', '2']),
            (b"http/1.1", ['h', '1']),
            (b"x", ['x', 'x']),
            (b"", ['0', '0']),
            (b"\xab", ['a', 'b']),
            (b"\xab\xcd", ['a', 'd']),
            (b"\x30\xab", ['3', 'b']),
            (b"\x30\xab\xcd\x31", ['0', '1']),
        ];
        for (alpn, expected) in cases {
            // The last: both ends are digits, though the middle is none.
            assert_eq!(ends(alpn), expected, "{alpn:?}");
        }
    }
}
