use tidewire_core::Direction::{ClientToServer, ServerToClient};

use crate::{
    Fields, Socks,
    testing::{Sent, transactions},
};

fn session(pieces: &[&[u8]]) -> Sent {
    let directions = [ClientToServer, ServerToClient].into_iter().cycle();
    Sent::of(&directions.zip(pieces).map(|(direction, bytes)| (direction, bytes.to_vec())).collect::<Vec<_>>())
}

const REQUEST: &[u8] = b"GET /inside HTTP/1.1\r\nHost: inside\r\n\r\n";
const RESPONSE: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";

#[test]
fn version_5_with_a_password() {
    let sent = session(&[
        &[5, 2, 0, 2],
        &[5, 2],
        b"\x01\x04user\x04pass",
        &[1, 0],
        b"\x05\x01\x00\x03\x0bexample.org\x00\x50",
        b"\x05\x00\x00\x01\x0a\x00\x00\x01\x1f\x90",
        REQUEST,
        RESPONSE,
    ]);
    let found = transactions(&sent, 1080);
    let expected = Socks {
        version: 5,
        command: Some(1),
        host: Some("example.org".into()),
        port: Some(80),
        user: Some("user".into()),
        reply: Some(0),
    };
    assert_eq!(found[0].fields, Fields::Socks(expected.into()));
    assert_eq!(found.iter().map(|one| one.name()).collect::<Vec<_>>(), [Some("example.org"), Some("inside")]);
    assert_eq!(transactions(&sent.bytewise(), 1080), found);
}

#[test]
fn version_4_with_address_or_name() {
    let cases: [(&[u8], &str); 2] = [
        (b"\x04\x01\x00\x50\xc0\x00\x02\x07me\x00", "192.0.2.7"),
        (b"\x04\x01\x00\x50\x00\x00\x00\x01me\x00example.org\x00", "example.org"),
    ];
    for (request, host) in cases {
        let sent = session(&[request, b"\x00\x5a\x00\x00\x00\x00\x00\x00", REQUEST, RESPONSE]);
        let found = transactions(&sent, 9);
        assert_eq!(found.iter().map(|one| one.name()).collect::<Vec<_>>(), [Some(host), Some("inside")]);
        assert_eq!(transactions(&sent.bytewise(), 9), found);
    }
}

/// A client that does not wait for the reply hides nothing.
#[test]
fn what_is_sent_before_the_reply_is_not_lost() {
    use crate::testing::Event;
    let sessions: [&[&[u8]]; 2] = [
        &[
            &[5, 1, 0],
            &[5, 0],
            b"\x05\x01\x00\x01\xc0\x00\x02\x07\x00\x50",
            b"\x05\x00\x00\x01\x0a\x00\x00\x01\x1f\x90",
        ],
        &[b"\x04\x01\x00\x50\xc0\x00\x02\x07\x00", b"\x00\x5a\x00\x00\x00\x00\x00\x00"],
    ];
    for pieces in sessions {
        let asks = pieces.len() - 2;
        let early = [pieces[asks], REQUEST].concat();
        let reply = [pieces[asks + 1], RESPONSE].concat();
        let sent = session(&[&pieces[..asks], &[&early, &reply]].concat());
        let found = transactions(&sent, 9);
        assert_eq!(found.iter().map(|one| one.name()).collect::<Vec<_>>(), [Some("192.0.2.7"), Some("inside")]);
        assert_eq!(transactions(&sent.clone().bytewise(), 9), found);
        // Of which something is missing.
        let mut sent = sent;
        sent.0.insert(asks + 1, Event::Gap(ClientToServer, 7));
        assert_eq!(transactions(&sent, 9), found);
    }
}

#[test]
fn a_refusal_has_its_code() {
    let sent = session(&[
        &[5, 1, 0],
        &[5, 0],
        b"\x05\x01\x00\x01\x0a\x00\x00\x01\x00\x50",
        b"\x05\x05\x00\x01\0\0\0\0\0\0",
        REQUEST,
    ]);
    let found = transactions(&sent, 1080);
    assert_eq!((found.len(), found[0].response()), (1, "5".into()));
}

#[test]
fn what_only_begins_alike_is_not() {
    for bytes in [&b"\x05\x01\x00\x05"[..], b"\x05\x00", b"\x05\x01\x44", b"\x04\x01\x00\x00\x01\x02\x03\x04x\x00"] {
        assert_eq!(transactions(&session(&[bytes, &[9; 20], bytes]), 9), [], "{bytes:?}");
    }
}

#[test]
fn a_refused_name_is_reported() {
    let sent = session(&[&[5, 1, 2], &[5, 2], b"\x01\x04user\x04pass", &[1, 1]]);
    let found = transactions(&sent, 1080);
    let expected = Socks { version: 5, user: Some("user".into()), ..Socks::default() };
    assert_eq!(found.iter().map(|one| one.fields.clone()).collect::<Vec<_>>(), [Fields::Socks(expected.into())]);
}

/// A client that keeps the connection and asks again: each request, and each name that was refused, is a transaction.
#[test]
fn requests_behind_a_refusal_are_read() {
    let refused = b"\x05\x05\x00\x01\0\0\0\0\0\0";
    let sent = session(&[
        &[5, 1, 0],
        &[5, 0],
        b"\x05\x01\x00\x03\x0bone.example\x00\x50",
        refused,
        &[5, 1, 2],
        &[5, 2],
        b"\x01\x03eve\x01x",
        &[1, 1],
        b"\x01\x03bob\x01y",
        &[1, 0],
        b"\x05\x01\x00\x03\x0btwo.example\x00\x50",
        refused,
        b"\x04\x01\x00\x50\xc0\x00\x02\x07me\x00",
        b"\x00\x5a\x00\x00\x00\x00\x00\x00",
        REQUEST,
        RESPONSE,
    ]);
    let found = transactions(&sent, 1080);
    let all: Vec<_> = found
        .iter()
        .map(|one| match &one.fields {
            Fields::Socks(socks) => (socks.user.as_deref(), one.name(), socks.reply),
            _ => (None, one.name(), None),
        })
        .collect();
    let expected = [
        (None, Some("one.example"), Some(5)),
        (Some("eve"), None, None),
        (Some("bob"), Some("two.example"), Some(5)),
        (Some("me"), Some("192.0.2.7"), Some(90)),
        (None, Some("inside"), None),
    ];
    assert_eq!(all, expected);
    assert_eq!(transactions(&sent.bytewise(), 1080), found);
}

/// RFC 1928 section 6: the second reply to BIND comes with the connection.
#[test]
fn a_server_that_listens_replies_twice() {
    let replies = [&b"\x05\x00\x00\x01\x0a\x00\x00\x01\x1f\x90"[..], b"\x05\x00\x00\x01\xc0\x00\x02\x07\x00\x14"];
    let replies = replies.concat();
    let sent =
        session(&[&[5, 1, 0], &[5, 0], b"\x05\x02\x00\x01\xc0\x00\x02\x07\x00\x14", &replies, REQUEST, RESPONSE]);
    let found = transactions(&sent, 1080);
    assert_eq!(found.iter().map(|one| one.name()).collect::<Vec<_>>(), [Some("192.0.2.7"), Some("inside")]);
    assert_eq!(transactions(&sent.bytewise(), 1080), found);
}
