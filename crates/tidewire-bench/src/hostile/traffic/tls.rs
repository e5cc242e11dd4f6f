//! TLS: handshakes in clear text.

use super::{Made, Side, stream};

/// The type of a common name (2.5.4.3).
const COMMON_NAME: &[u8] = b"\x55\x04\x03";

/// Longest record (RFC 8446 section 5.1).
const RECORD_BYTES_MAX: usize = 1 << 14;

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], &(body.len() as u32).to_be_bytes()[1..], body].concat()
}

fn records(bytes: &[u8]) -> Vec<u8> {
    let record = |part: &[u8]| [&[22, 3, 3][..], &(part.len() as u16).to_be_bytes(), part].concat();
    bytes.chunks(RECORD_BYTES_MAX).flat_map(record).collect()
}

/// A client's hello with so many cipher suites.
fn client_hello(ciphers: usize) -> Vec<u8> {
    extended_hello(ciphers, &[])
}

/// The same with further extensions.
fn extended_hello(ciphers: usize, further: &[u8]) -> Vec<u8> {
    let name = b"www.example.org";
    let length = |bytes: usize| (bytes as u16).to_be_bytes();
    let server_name =
        [&[0, 0][..], &length(name.len() + 5), &length(name.len() + 3), &[0], &length(name.len()), name].concat();
    let suites: Vec<u8> = (0..ciphers).flat_map(|index| (index as u16).wrapping_mul(7919).to_be_bytes()).collect();
    let body = [
        &[3, 3][..],
        &[0x52; 32],
        &[0],
        &length(suites.len()),
        &suites,
        &[1, 0],
        &length(server_name.len() + further.len()),
        &server_name,
        further,
    ];
    message(1, &body.concat())
}

fn server_hello() -> Vec<u8> {
    message(2, &[&[3, 3][..], &[0x53; 32], &[0, 0xc0, 0x2f, 0]].concat())
}

fn handshake(made: &mut Made, unit: &[u8], packets: usize) -> usize {
    let hellos = (records(&client_hello(2)), records(&server_hello()));
    stream(made, 443, &[(Side::Client, &hellos.0), (Side::Server, &hellos.1)], (Side::Server, unit), packets)
}

/// Messages of one empty certificate.
pub(in super::super) fn certificates(made: &mut Made, packets: usize) -> usize {
    handshake(made, &records(&message(11, &[0, 0, 3, 0, 0, 0]).repeat(1638)), packets)
}

/// A certificate in records of one byte.
pub(in super::super) fn records_of_a_byte(made: &mut Made, packets: usize) -> usize {
    let certificate = message(11, &[0x30; 30_000]);
    handshake(made, &certificate.chunks(1).flat_map(records).collect::<Vec<u8>>(), packets)
}

/// A connection for each hello.
fn connections(made: &mut Made, ciphers: usize, packets: usize) -> usize {
    connections_of(made, &client_hello(ciphers), packets)
}

fn connections_of(made: &mut Made, hello: &[u8], packets: usize) -> usize {
    let hello = records(hello);
    let mut sent = 0;
    while sent < packets {
        let mut connection = made.connect(443);
        connection.send(made, Side::Client, &hello);
        sent += 3 + hello.len().div_ceil(super::SEGMENT_BYTES);
    }
    sent
}

pub(in super::super) fn hellos(made: &mut Made, packets: usize) -> usize {
    connections(made, 2, packets)
}

/// As many values as a hello with fingerprints may have (255 of 256): cipher suites and empty extensions, in no order.
pub(in super::super) fn values(made: &mut Made, packets: usize) -> usize {
    let kind = |index: u16| (1000 + index.wrapping_mul(7919) % 40_000).to_be_bytes();
    let extensions: Vec<u8> = (0..64).flat_map(|index| [kind(index), [0, 0]]).flatten().collect();
    connections_of(made, &extended_hello(190, &extensions), packets)
}

/// A hello as long as that, with padding (RFC 7685).
pub(in super::super) fn padded_hellos(made: &mut Made, packets: usize) -> usize {
    let padding = vec![0; 188 * 2 + 64 * 4 - 4];
    let extension = [&[0, 21][..], &(padding.len() as u16).to_be_bytes(), &padding].concat();
    connections_of(made, &extended_hello(2, &extension), packets)
}

pub(in super::super) fn ciphers(made: &mut Made, packets: usize) -> usize {
    connections(made, 8000, packets)
}

/// A value of ASN.1 in DER (X.690 section 8.1).
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = (content.len() as u32).to_be_bytes();
    [&[tag, 0x84][..], &length, &content].concat()
}

/// A certificate (RFC 5280 section 4.1) whose subject has an attribute of this type and value, and a key of so many bytes.
fn certificate(kind: &[u8], value: &[u8], key_bytes: usize) -> Vec<u8> {
    let algorithm = der(0x30, &[&der(6, &[b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b"])]);
    let time = der(0x17, &[b"260101000000Z"]);
    let attribute = der(0x30, &[&der(6, &[kind]), &der(0x0c, &[value])]);
    let key = der(0x30, &[&algorithm, &der(3, &[b"\0", &vec![0x5a; key_bytes]])]);
    let subject = der(0x30, &[&der(0x31, &[&attribute])]);
    let validity = der(0x30, &[&time, &time]);
    let signed = der(0x30, &[&der(2, &[b"\x01"]), &algorithm, &der(0x30, &[]), &validity, &subject, &key]);
    der(0x30, &[&signed, &algorithm, &der(3, &[b"\0\0"])])
}

/// A connection for each handshake with a certificate.
fn handshakes(made: &mut Made, packets: usize, certificate: &[u8]) -> usize {
    let length = |bytes: usize| (bytes as u32).to_be_bytes()[1..].to_vec();
    let body = [length(certificate.len() + 3), length(certificate.len()), certificate.to_vec()].concat();
    let answer = [records(&server_hello()), records(&message(11, &body))].concat();
    let hello = records(&client_hello(2));
    let mut sent = 0;
    while sent < packets {
        let mut connection = made.connect(443);
        connection.send(made, Side::Client, &hello);
        connection.send(made, Side::Server, &answer);
        sent += 3 + hello.len().div_ceil(super::SEGMENT_BYTES) + answer.len().div_ceil(super::SEGMENT_BYTES);
    }
    sent
}

/// A type of 12,000 numbers.
pub(in super::super) fn identifiers(made: &mut Made, packets: usize) -> usize {
    handshakes(made, packets, &certificate(&[&[0x55][..], &[1; 12_000]].concat(), b"a", 1))
}

/// A common name of as many letters.
pub(in super::super) fn names(made: &mut Made, packets: usize) -> usize {
    handshakes(made, packets, &certificate(COMMON_NAME, &[b'a'; 12_000], 1))
}

/// A key of as many bytes.
pub(in super::super) fn keys(made: &mut Made, packets: usize) -> usize {
    handshakes(made, packets, &certificate(COMMON_NAME, b"www.example.org", 12_000))
}
