//! HTTP: lines, chunks and requests.

use super::{Made, SEGMENT_BYTES, Side, stream};

const GET: &[u8] = b"GET /a HTTP/1.1\r\nHost: www.example.org\r\n\r\n";

/// A long body: what most packets of HTTP are.
pub(in super::super) fn body(made: &mut Made, packets: usize) -> usize {
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 999999999\r\n\r\n";
    let text: Vec<u8> = (33..127).collect();
    stream(made, 80, &[(Side::Client, GET), (Side::Server, head)], (Side::Server, &text), packets)
}

pub(in super::super) fn empty_lines(made: &mut Made, packets: usize) -> usize {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    stream(made, 80, &[(Side::Client, GET), (Side::Server, head)], (Side::Server, b"\n"), packets)
}

pub(in super::super) fn chunks(made: &mut Made, packets: usize) -> usize {
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream(made, 80, &[(Side::Client, GET), (Side::Server, head)], (Side::Server, b"1\r\na\r\n"), packets)
}

/// Requests with an address of 8 KiB, which 250 lines continue.
pub(in super::super) fn folded(made: &mut Made, packets: usize) -> usize {
    let head = [&b"GET / HTTP/1.1\r\nReferer: "[..], &[b'r'; 7000], &b"\r\n x".repeat(250), b"\r\n\r\n"].concat();
    stream(made, 80, &[], (Side::Client, &head), packets)
}

const PIPELINED: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

/// As many requests as there is room for. Their number.
pub(in super::super) fn pipelined(made: &mut Made, packets: usize) -> usize {
    stream(made, 80, &[], (Side::Client, PIPELINED), packets) * SEGMENT_BYTES / PIPELINED.len()
}

/// A request in each packet, none answered. Their number.
pub(in super::super) fn requests(made: &mut Made, packets: usize) -> usize {
    let mut connection = made.connect(80);
    for _ in 0..packets {
        connection.send(made, Side::Client, PIPELINED);
    }
    connection.close(made);
    packets
}

/// Short connections, with 11 full segments of the server each.
pub(in super::super) fn connections(made: &mut Made, packets: usize) -> usize {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 16000\r\n\r\n";
    let mut sent = 0;
    while sent < packets {
        sent += stream(made, 80, &[(Side::Client, GET), (Side::Server, head)], (Side::Server, b"body"), 11);
    }
    sent
}
