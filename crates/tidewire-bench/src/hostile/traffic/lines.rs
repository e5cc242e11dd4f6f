//! Protocols of lines, which may be as short as they like.

use super::{Made, SEGMENT_BYTES, Side, stream};

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

/// A command again and again, as often as there is room for. How often.
fn commands(made: &mut Made, port: u16, before: &[(Side, &[u8])], command: &[u8], packets: usize) -> usize {
    stream(made, port, before, (Side::Client, command), packets) * SEGMENT_BYTES / command.len()
}

/// A command a packet.
fn command_each(made: &mut Made, port: u16, before: &[(Side, &[u8])], command: &[u8], packets: usize) -> usize {
    let mut connection = made.connect(port);
    for &(side, bytes) in before {
        connection.send(made, side, bytes);
    }
    (0..packets).for_each(|_| connection.send(made, Side::Client, command));
    connection.close(made);
    packets
}

/// Characters that need escapes.
const CONTROLS: [u8; 1000] = [1; 1000];

const FTP: &[(Side, &[u8])] = &[(Side::Server, b"220 FTP server\r\n")];
const SMTP: &[(Side, &[u8])] =
    &[(Side::Server, b"220 mx.example.org ESMTP\r\n"), (Side::Client, b"EHLO a.example\r\n")];

const LMTP: &[(Side, &[u8])] = &[(Side::Server, b"220 mx.example.org LMTP\r\n"), (Side::Client, b"LHLO a.example\r\n")];

/// Logins without an answer, each a transaction.
pub(in super::super) fn ftp_users(made: &mut Made, packets: usize) -> usize {
    commands(made, 21, FTP, b"USER a\n", packets)
}

/// The same behind a long greeting, which belongs to each.
pub(in super::super) fn ftp_greeting(made: &mut Made, packets: usize) -> usize {
    let greeting = [&b"220 "[..], &CONTROLS, b"\n"].concat();
    commands(made, 21, &[(Side::Server, &greeting)], b"USER a\n", packets)
}

/// Commands of a user with a long name, which belongs to each 16 of them.
pub(in super::super) fn ftp_commands(made: &mut Made, packets: usize) -> usize {
    let user = [&b"USER "[..], &CONTROLS, b"\n"].concat();
    commands(made, 21, &[FTP, &[(Side::Client, &user)]].concat(), b"RETR\n", packets) / 16
}

/// A login a packet.
pub(in super::super) fn ftp_logins(made: &mut Made, packets: usize) -> usize {
    command_each(made, 21, FTP, b"USER anonymous\r\n", packets)
}

/// Mails without anything, each a transaction.
pub(in super::super) fn smtp_mails(made: &mut Made, packets: usize) -> usize {
    commands(made, 25, SMTP, b"MAIL\n", packets)
}

/// The same behind long names of both sides, which belong to each.
pub(in super::super) fn smtp_names(made: &mut Made, packets: usize) -> usize {
    let server = [&b"220 "[..], &CONTROLS, b"\n"].concat();
    let client = [&b"EHLO "[..], &CONTROLS, b"\n"].concat();
    commands(made, 25, &[(Side::Server, &server), (Side::Client, &client)], b"MAIL\n", packets)
}

/// A mail's sender a packet.
pub(in super::super) fn smtp_senders(made: &mut Made, packets: usize) -> usize {
    command_each(made, 25, SMTP, b"MAIL FROM:<a@example.org>\r\n", packets)
}

/// Recipients without end.
pub(in super::super) fn smtp_recipients(made: &mut Made, packets: usize) -> usize {
    stream(made, 25, SMTP, (Side::Client, b"RCPT TO:<>\n"), packets)
}

/// Commands of SMTP that nothing is kept of.
pub(in super::super) fn smtp_unknown(made: &mut Made, packets: usize) -> usize {
    stream(made, 25, SMTP, (Side::Client, b"a\n"), packets)
}

pub(in super::super) fn smtp_resets(made: &mut Made, packets: usize) -> usize {
    stream(made, 25, SMTP, (Side::Client, b"RSET\n"), packets)
}

/// A client's name, again and again.
pub(in super::super) fn smtp_greetings(made: &mut Made, packets: usize) -> usize {
    stream(made, 25, SMTP, (Side::Client, b"EHLO a\n"), packets)
}

/// Mails without content.
pub(in super::super) fn smtp_contents(made: &mut Made, packets: usize) -> usize {
    stream(made, 25, SMTP, (Side::Client, b"DATA\n.\n"), packets)
}

/// Replies to nothing.
pub(in super::super) fn smtp_replies(made: &mut Made, packets: usize) -> usize {
    stream(made, 25, SMTP, (Side::Server, b"250\n"), packets)
}

/// Chunks of a mail that was not begun (RFC 3030).
pub(in super::super) fn smtp_chunks(made: &mut Made, packets: usize) -> usize {
    stream(made, 25, SMTP, (Side::Client, b"BDAT 1\na"), packets)
}

/// Chunks without a size, and with one that is no number.
pub(in super::super) fn smtp_no_chunks(made: &mut Made, packets: usize) -> usize {
    stream(made, 25, SMTP, (Side::Client, b"BDAT\nBDAT x\n"), packets)
}

/// A client that says no name.
pub(in super::super) fn smtp_nameless(made: &mut Made, packets: usize) -> usize {
    stream(made, 25, SMTP, (Side::Client, b"EHLO\n"), packets)
}

/// Recipients without an address.
pub(in super::super) fn smtp_bare_recipients(made: &mut Made, packets: usize) -> usize {
    stream(made, 25, SMTP, (Side::Client, b"RCPT\n"), packets)
}

/// A mail of lines of two dots.
pub(in super::super) fn smtp_dots(made: &mut Made, packets: usize) -> usize {
    stream(made, 25, &[SMTP, &[(Side::Client, b"DATA\n")]].concat(), (Side::Client, b"..\n"), packets)
}

/// The same without bytes, each the last one.
pub(in super::super) fn smtp_last_chunks(made: &mut Made, packets: usize) -> usize {
    stream(made, 25, SMTP, (Side::Client, b"BDAT 0 LAST\n"), packets)
}

/// Contents of one line.
pub(in super::super) fn smtp_bodies(made: &mut Made, packets: usize) -> usize {
    stream(made, 25, SMTP, (Side::Client, b"DATA\na\n.\n"), packets)
}

pub(in super::super) fn smtp_starttls(made: &mut Made, packets: usize) -> usize {
    stream(made, 25, SMTP, (Side::Client, b"STARTTLS\n"), packets)
}

/// The same commands where each reply is put together with its own (RFC 2033).
pub(in super::super) fn lmtp_greetings(made: &mut Made, packets: usize) -> usize {
    stream(made, 24, LMTP, (Side::Client, b"LHLO a\n"), packets)
}

pub(in super::super) fn lmtp_resets(made: &mut Made, packets: usize) -> usize {
    stream(made, 24, LMTP, (Side::Client, b"RSET\n"), packets)
}

pub(in super::super) fn lmtp_contents(made: &mut Made, packets: usize) -> usize {
    stream(made, 24, LMTP, (Side::Client, b"DATA\n.\n"), packets)
}

pub(in super::super) fn lmtp_chunks(made: &mut Made, packets: usize) -> usize {
    stream(made, 24, LMTP, (Side::Client, b"BDAT 0 LAST\n"), packets)
}

pub(in super::super) fn lmtp_recipients(made: &mut Made, packets: usize) -> usize {
    stream(made, 24, LMTP, (Side::Client, b"RCPT TO:<>\n"), packets)
}

pub(in super::super) fn lmtp_replies(made: &mut Made, packets: usize) -> usize {
    stream(made, 24, LMTP, (Side::Server, b"250\n"), packets)
}

/// Mails of a sender and a recipient, each a transaction.
pub(in super::super) fn lmtp_mails(made: &mut Made, packets: usize) -> usize {
    commands(made, 24, LMTP, b"MAIL\nRCPT\n", packets)
}

/// Such a mail a packet.
pub(in super::super) fn lmtp_senders(made: &mut Made, packets: usize) -> usize {
    command_each(made, 24, LMTP, b"MAIL FROM:<a@example.org>\r\nRCPT TO:<b@example.org>\r\n", packets)
}

pub(in super::super) fn ftp_auth(made: &mut Made, packets: usize) -> usize {
    stream(made, 21, FTP, (Side::Client, b"AUTH\n"), packets)
}

pub(in super::super) fn ftp_unknown(made: &mut Made, packets: usize) -> usize {
    stream(made, 21, FTP, (Side::Client, b"a\n"), packets)
}

pub(in super::super) fn ftp_replies(made: &mut Made, packets: usize) -> usize {
    stream(made, 21, FTP, (Side::Server, b"250\n"), packets)
}

/// A name-list in each field of a key exchange (RFC 4253 section 7.1), as long as a packet may be.
pub(in super::super) fn ssh_algorithms(made: &mut Made, packets: usize) -> usize {
    let list = b"a,".repeat(1700);
    let list = [&(list.len() as u32 - 1).to_be_bytes()[..], &list[..list.len() - 1]].concat();
    let payload = [&[20][..], &[0x52; 16], &list.repeat(10), &[0; 5]].concat();
    let padded = [&[4][..], &payload, &[0; 4]].concat();
    let packet = [&(padded.len() as u32).to_be_bytes()[..], &padded].concat();
    let mut sent = 0;
    while sent < packets {
        let mut connection = made.connect(22);
        connection.send(made, Side::Client, b"SSH-2.0-a\r\n");
        connection.send(made, Side::Server, b"SSH-2.0-b\r\n");
        connection.send(made, Side::Client, &packet);
        connection.close(made);
        sent += packet.len().div_ceil(SEGMENT_BYTES);
    }
    sent
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
