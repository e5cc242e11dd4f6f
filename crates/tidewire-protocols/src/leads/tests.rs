use tidewire_core::Direction::{ClientToServer, ServerToClient};

use crate::{
    Service,
    testing::{Sent, transactions},
};

/// A hello that offers nothing.
const HELLO: &[u8] = b"\x16\x03\x01\x00\x2d\x01\x00\x00\x29\x03\x03\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x07\x00\x00\x02\x13\x01\x01\x00";

const MYSQL_GREETING: &[u8] = b"\x2a\x00\x00\x00\x0a8.0.36\x00\x01\x00\x00\x0012345678\x00\xff\xff\x08\x02\x00\xff\xc1\x15\0\0\0\0\0\0\0\0\0\0ab\x00";
const MYSQL_REQUEST: &[u8] =
    b"\x20\x00\x00\x01\x05\xae\x0f\x00\x00\x00\x00\x01\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

/// The pieces of both sides in turn before the client's hello, the server first where it speaks first.
fn leads() -> Vec<(&'static str, Vec<&'static [u8]>)> {
    vec![
        ("PROXY 1", vec![b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n"]),
        ("PROXY 2", vec![b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x0c\xc0\x00\x02\x01\xc0\x00\x02\x02\x00\x01\x00\x02"]),
        ("PostgreSQL", vec![b"\x00\x00\x00\x08\x04\xd2\x16\x2f", b"S"]),
        ("MySQL", vec![b"", MYSQL_GREETING, MYSQL_REQUEST]),
        (
            "RDP",
            vec![
                b"\x03\x00\x00\x13\x0e\xe0\x00\x00\x00\x00\x00\x01\x00\x08\x00\x03\x00\x00\x00",
                b"\x03\x00\x00\x13\x0e\xd0\x00\x00\x12\x34\x00\x02\x00\x08\x00\x02\x00\x00\x00",
            ],
        ),
        (
            "LDAP",
            vec![
                b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037",
                b"\x30\x0c\x02\x01\x01\x78\x07\x0a\x01\x00\x04\x00\x04\x00",
            ],
        ),
        (
            "XMPP",
            vec![
                b"<?xml version='1.0'?><stream:stream to='a'>",
                b"<?xml version='1.0'?><stream:stream from='a'><stream:features><starttls/></stream:features>",
                b"<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>",
                b"<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'></proceed>",
            ],
        ),
        ("POP3", vec![b"", b"+OK ready\r\n", b"CAPA\r\n", b"+OK\r\nSTLS\r\n.\r\n", b"STLS\r\n", b"+OK go on\r\n"]),
        ("IMAP", vec![b"", b"* OK ready\r\n", b"a1 STARTTLS\r\n", b"a1 OK go on\r\n"]),
        (
            "IMAP, pipelined",
            vec![b"", b"* ok\r\n", b"a0 CAPABILITY\r\na1 StartTLS\r\n", b"* CAPABILITY x\r\na0 OK done\r\na1 ok\r\n"],
        ),
        (
            "IMAP, requested again",
            vec![b"", b"* OK\r\n", b"a STARTTLS\r\n", b"b OK\r\na NO later\r\n", b"c STARTTLS\r\n", b"c OK\r\n"],
        ),
        (
            "POP3, pipelined",
            vec![b"", b"+OK ready\r\n", b"CAPA\r\nNOOP\r\nstls\r\n", b"+ok\r\nSTLS\r\n.\r\n-ERR no\r\n+ok go on\r\n"],
        ),
        (
            "POP3, challenge",
            vec![
                b"",
                b"+OK ready\r\n",
                b"AUTH PLAIN\r\n",
                b"+ \r\n",
                b"AAAA\r\n",
                b"-ERR no\r\n",
                b"STLS\r\n",
                b"+OK\r\n",
            ],
        ),
        (
            "PostgreSQL, Kerberos first",
            vec![b"\x00\x00\x00\x08\x04\xd2\x16\x30", b"N", b"\x00\x00\x00\x08\x04\xd2\x16\x2f", b"S"],
        ),
        ("NNTP", vec![b"", b"200 ready\r\n", b"STARTTLS\r\n", b"382 go on\r\n"]),
        ("IRC", vec![b"STARTTLS\r\n", b":irc.example.org 670 x :go on\r\n"]),
    ]
}

fn sent(lead: &[&[u8]]) -> Sent {
    let directions = [ClientToServer, ServerToClient].into_iter().cycle();
    let mut pieces: Vec<_> = directions.zip(lead).map(|(direction, bytes)| (direction, bytes.to_vec())).collect();
    pieces.push((ClientToServer, HELLO.to_vec()));
    Sent::of(&pieces.into_iter().filter(|(_, bytes)| !bytes.is_empty()).collect::<Vec<_>>())
}

#[test]
fn tls_is_found_behind_every_lead() {
    for (name, lead) in leads() {
        let sent = sent(&lead);
        let found = transactions(&sent, 9);
        assert_eq!(found.iter().map(|one| one.service).collect::<Vec<_>>(), [Service::Tls], "{name}");
        assert_eq!(transactions(&sent.bytewise(), 9), found, "{name}");
    }
}

#[test]
fn a_refusal_ends_it() {
    let cases: [&[&[u8]]; 7] = [
        &[b"\x00\x00\x00\x08\x04\xd2\x16\x30", b"N", b"\x00\x00\x00\x08\x00\x03\x00\x00", b"S"],
        &[b"", b"* OK ready\r\n", b"b NOOP\r\na STARTTLS\r\n", b"b OK done\r\n"],
        &[b"\x00\x00\x00\x08\x04\xd2\x16\x2f", b"N"],
        &[b"", b"+OK ready\r\n", b"STLS\r\n", b"-ERR no\r\n"],
        &[b"", b"* OK ready\r\n", b"a STARTTLS\r\n", b"a NO\r\n"],
        &[
            b"\x03\x00\x00\x13\x0e\xe0\x00\x00\x00\x00\x00\x01\x00\x08\x00\x03\x00\x00\x00",
            b"\x03\x00\x00\x13\x0e\xd0\x00\x00\x12\x34\x00\x03\x00\x08\x00\x02\x00\x00\x00",
        ],
        &[b"<stream:stream>", b"<stream:stream>", b"<starttls/>", b"<failure/>"],
    ];
    for case in cases {
        let sent = sent(case);
        assert_eq!(transactions(&sent, 9), [], "{case:?}");
        assert_eq!(transactions(&sent.bytewise(), 9), []);
    }
}

#[test]
fn only_the_client_was_seen() {
    for (name, lead) in
        leads().into_iter().filter(|(name, _)| ["PROXY 1", "PostgreSQL", "MySQL", "RDP", "LDAP"].contains(name))
    {
        let client: Vec<&[u8]> =
            lead.iter().enumerate().map(|(index, bytes)| if index % 2 == 0 { *bytes } else { b"" }).collect();
        let found = transactions(&sent(&client), 9);
        assert_eq!(found.iter().map(|one| one.service).collect::<Vec<_>>(), [Service::Tls], "{name}");
    }
}
