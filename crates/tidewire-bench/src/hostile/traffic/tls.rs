//! TLS: handshakes in clear text.

use super::{Made, Side, stream};

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
        &length(server_name.len()),
        &server_name,
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
    let hello = records(&client_hello(ciphers));
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

pub(in super::super) fn ciphers(made: &mut Made, packets: usize) -> usize {
    connections(made, 8000, packets)
}
