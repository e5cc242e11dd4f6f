//! Protocols of lines, which may be as short as they like.

use super::{Made, Side, stream};

pub(in super::super) fn smtp_empty(made: &mut Made, packets: usize) -> usize {
    let before: [(Side, &[u8]); 2] =
        [(Side::Server, b"220 mx.example.org ESMTP\r\n"), (Side::Client, b"EHLO a.example\r\n")];
    stream(made, 25, &before, (Side::Client, b"\n"), packets)
}

pub(in super::super) fn smtp_mail(made: &mut Made, packets: usize) -> usize {
    let before: [(Side, &[u8]); 2] = [
        (Side::Server, b"220 mx.example.org ESMTP\r\n"),
        (Side::Client, b"EHLO a.example\r\nMAIL FROM:<a@example.org>\r\nRCPT TO:<b@example.org>\r\nDATA\r\n"),
    ];
    stream(made, 25, &before, (Side::Client, b"\n"), packets)
}

pub(in super::super) fn ftp_empty(made: &mut Made, packets: usize) -> usize {
    let before: [(Side, &[u8]); 2] = [(Side::Server, b"220 FTP server\r\n"), (Side::Client, b"USER anonymous\r\n")];
    stream(made, 21, &before, (Side::Client, b"\r\n"), packets)
}

/// Connections of so many segments that are read.
fn connections(
    made: &mut Made,
    port: u16,
    before: &[(Side, &[u8])],
    side: Side,
    segments: usize,
    packets: usize,
) -> usize {
    let mut sent = 0;
    while sent < packets {
        sent += stream(made, port, before, (side, b"\n"), segments);
    }
    sent
}

pub(in super::super) fn pop3_empty(made: &mut Made, packets: usize) -> usize {
    connections(made, 110, &[(Side::Server, b"+OK ready\r\n")], Side::Client, 11, packets)
}

pub(in super::super) fn imap_empty(made: &mut Made, packets: usize) -> usize {
    connections(made, 143, &[(Side::Server, b"* OK IMAP4rev1 ready\r\n")], Side::Client, 11, packets)
}

pub(in super::super) fn ssh_empty(made: &mut Made, packets: usize) -> usize {
    connections(made, 22, &[(Side::Client, b"SSH-2.0-a\r\n")], Side::Server, 22, packets)
}
