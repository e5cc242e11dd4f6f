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

/// Requests with as many fields as are looked at, of two letters each.
pub(in super::super) fn fields(made: &mut Made, packets: usize) -> usize {
    let head = [&b"GET / HTTP/1.1\r\n"[..], &b"a:b\r\n".repeat(250), b"\r\n"].concat();
    stream(made, 80, &[], (Side::Client, &head), packets)
}

/// Requests with as many such fields as are looked at, named like one that matters.
pub(in super::super) fn hosts(made: &mut Made, packets: usize) -> usize {
    let head = [&b"GET / HTTP/1.1\n"[..], &b"host:\n".repeat(250), b"\n"].concat();
    stream(made, 80, &[], (Side::Client, &head), packets)
}

/// A head without end.
fn head(made: &mut Made, line: &[u8], packets: usize) -> usize {
    stream(made, 80, &[(Side::Client, b"GET / HTTP/1.1\n")], (Side::Client, line), packets)
}

/// Lines of a head that are no fields.
pub(in super::super) fn letters(made: &mut Made, packets: usize) -> usize {
    head(made, b"a\n", packets)
}

/// Lengths of a body, again and again.
pub(in super::super) fn lengths(made: &mut Made, packets: usize) -> usize {
    head(made, b"content-length:1\n", packets)
}

/// Lists of lengths that differ at their end.
pub(in super::super) fn length_lists(made: &mut Made, packets: usize) -> usize {
    head(made, &[&b"content-length:"[..], &b"1,".repeat(700), b"2\n"].concat(), packets)
}

/// Codings of a body, again and again.
pub(in super::super) fn codings(made: &mut Made, packets: usize) -> usize {
    head(made, b"transfer-encoding:a\n", packets)
}

/// One of them that lines without end continue.
pub(in super::super) fn folded_codings(made: &mut Made, packets: usize) -> usize {
    stream(made, 80, &[(Side::Client, b"GET / HTTP/1.1\ntransfer-encoding:a\n")], (Side::Client, b" b\n"), packets)
}

/// An invalid length that lines without end continue.
pub(in super::super) fn folded_lengths(made: &mut Made, packets: usize) -> usize {
    stream(made, 80, &[(Side::Client, b"GET / HTTP/1.1\ncontent-length:a\n")], (Side::Client, b" b\n"), packets)
}

/// Lists of as many lengths as are read.
pub(in super::super) fn short_length_lists(made: &mut Made, packets: usize) -> usize {
    head(made, &[&b"content-length:"[..], &b"1,".repeat(63), b"2\n"].concat(), packets)
}

/// Fields behind the last chunk.
pub(in super::super) fn trailers(made: &mut Made, packets: usize) -> usize {
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
    stream(made, 80, &[(Side::Client, GET), (Side::Server, head)], (Side::Server, b"a\n"), packets)
}

/// Chunks with an extension.
pub(in super::super) fn extensions(made: &mut Made, packets: usize) -> usize {
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream(made, 80, &[(Side::Client, GET), (Side::Server, head)], (Side::Server, b"1;\na\n"), packets)
}

/// Interim responses.
pub(in super::super) fn interim(made: &mut Made, packets: usize) -> usize {
    stream(made, 80, &[(Side::Client, GET)], (Side::Server, b"HTTP/1.1 100\n\n"), packets)
}

/// The same with a field each.
pub(in super::super) fn interim_fields(made: &mut Made, packets: usize) -> usize {
    stream(made, 80, &[(Side::Client, GET)], (Side::Server, b"HTTP/1.1 103\nServer:a\n\n"), packets)
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
