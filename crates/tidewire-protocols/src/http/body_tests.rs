//! Bytes of bodies that were seen and announced, and whether they are whole.

use tidewire_core::Direction::{self, ClientToServer, ServerToClient};
use tidewire_types::Timestamp;

use super::tests::http;
use crate::{
    Budget, Conversation, Http, Piece, Ports, Report,
    testing::{Event, FIRST_NS, STEP_NS, Sent, transactions},
};

/// Bytes that were seen, that were announced, that are missing, and whether the body is whole.
type Seen = (Option<u64>, Option<u64>, u64, Option<bool>);

fn request(http: &Http) -> Seen {
    (http.request_bytes, http.request_announced_bytes, http.request_missing_bytes, http.request_complete)
}

fn response(http: &Http) -> Seen {
    (http.response_bytes, http.response_announced_bytes, http.response_missing_bytes, http.response_complete)
}

/// The pieces that a client and a server send; `\n` is the end of a line.
fn sent(pieces: &[(Direction, &str)]) -> Sent {
    let lines = |(direction, text): &(Direction, &str)| (*direction, text.replace('\n', "\r\n").into_bytes());
    Sent::of(&pieces.iter().map(lines).collect::<Vec<_>>())
}

/// The only transaction's bodies, however the bytes are cut.
fn bodies(pieces: &[(Direction, &str)]) -> (Seen, Seen) {
    let sent = sent(pieces);
    let found = transactions(&sent, 80);
    assert_eq!(transactions(&sent.bytewise(), 80), found);
    assert_eq!(found.len(), 1, "{found:?}");
    (request(http(&found[0])), response(http(&found[0])))
}

/// The response's body, with the end of the server's side, or what passed beyond a cutoff.
fn ended(pieces: &[(Direction, &str)], skipped: Option<(u64, u64)>, is_closed: bool) -> Vec<Seen> {
    let (mut conversation, mut budget, mut found) = (Conversation::default(), Budget::default(), Vec::new());
    let mut keep = |transaction| found.push(transaction);
    let report = &mut Report::Each(&mut keep);
    for (index, event) in sent(pieces).0.iter().enumerate() {
        let Event::Bytes(direction, bytes, is_datagram) = event else { panic!() };
        let timestamp_ns = FIRST_NS + STEP_NS * index as u64;
        let piece = Piece {
            direction: *direction,
            bytes,
            is_datagram: *is_datagram,
            timestamp: Timestamp::from_nanos(timestamp_ns),
        };
        conversation.data(&piece, Ports { client: 40_000, server: 80 }, &mut budget, report);
    }
    if let Some((bytes, seen)) = skipped {
        conversation.skipped(ServerToClient, bytes, seen, &mut budget, report);
    }
    if is_closed {
        conversation.ended(ServerToClient, &mut budget);
    }
    conversation.close(&mut budget, report);
    assert_eq!(budget.used_bytes(), 0);
    found.iter().map(|one| response(http(one))).collect()
}

const ASK: (Direction, &str) = (ClientToServer, "GET / HTTP/1.1\n\n");

#[test]
fn what_was_announced_is_not_what_was_seen() {
    let none = (None, None, 0, None);
    // An aborted download.
    let abort = (ServerToClient, "HTTP/1.1 200 OK\nContent-Length: 30000000\n\n0123456789");
    assert_eq!(bodies(&[ASK, abort]), (none, (Some(10), Some(30_000_000), 0, Some(false))));
    // A request that was refused before its body came.
    let refused = [
        (ClientToServer, "POST / HTTP/1.1\nContent-Length: 50208\n\n"),
        (ServerToClient, "HTTP/1.1 500 No\nContent-Length: 0\n\n"),
    ];
    assert_eq!(bodies(&refused), ((Some(0), Some(50_208), 0, Some(false)), (Some(0), Some(0), 0, Some(true))));
    // The body came behind the answer, whole or in part.
    for (rest, complete) in [("0123456789", true), ("01234", false)] {
        let pieces = [
            (ClientToServer, "POST / HTTP/1.1\nContent-Length: 10\n\n"),
            (ServerToClient, "HTTP/1.1 413 No\nContent-Length: 2\n\nno"),
            (ClientToServer, rest),
        ];
        let seen = (Some(rest.len() as u64), Some(10), 0, Some(complete));
        assert_eq!(bodies(&pieces), (seen, (Some(2), Some(2), 0, Some(true))));
    }
    // Chunks that end early: with the last chunk, within a chunk, without a size.
    for (chunks, seen, complete) in
        [("5\nhello\n0\n\n", 5, true), ("5\nhello\n1e\n0123456789", 15, false), ("5\nhel", 3, false)]
    {
        let chunked = format!("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n{chunks}");
        assert_eq!(bodies(&[ASK, (ServerToClient, &chunked)]).1, (Some(seen), None, 0, Some(complete)));
    }
    // The Content-Length of that response is not about a body.
    let head = [(ClientToServer, "HEAD / HTTP/1.1\n\n"), (ServerToClient, "HTTP/1.1 200 OK\nContent-Length: 99\n\n")];
    assert_eq!(bodies(&head).1, (Some(0), None, 0, None));
    // The head did not end.
    assert_eq!(bodies(&[ASK, (ServerToClient, "HTTP/1.1 200 OK\nContent-Length: 99\n")]).1, none);
}

#[test]
fn holes_are_missing_and_not_seen() {
    let mut sent = sent(&[ASK, (ServerToClient, "HTTP/1.1 200 OK\nContent-Length: 10\n\nab")]);
    sent.0.push(Event::Gap(ServerToClient, 6));
    sent.0.push(Event::Bytes(ServerToClient, b"ij".to_vec(), false));
    let found = transactions(&sent, 80);
    assert_eq!(response(http(&found[0])), (Some(4), Some(10), 6, Some(false)));
    assert_eq!(transactions(&sent.bytewise(), 80), found);
}

#[test]
fn a_body_without_a_length_is_whole_where_its_side_ended() {
    let answer = (ServerToClient, "HTTP/1.0 200 OK\n\n0123456789");
    assert_eq!(ended(&[ASK, answer], None, true), [(Some(10), None, 0, Some(true))]);
    assert_eq!(ended(&[ASK, answer], None, false), [(Some(10), None, 0, Some(false))]);
}

#[test]
fn what_passed_beyond_a_cutoff_was_seen() {
    let length = (ServerToClient, "HTTP/1.1 200 OK\nContent-Length: 100\n\n0123456789");
    // To the body's end, beyond it, not so far, and with bytes that are missing there.
    assert_eq!(ended(&[ASK, length], Some((90, 90)), true), [(Some(100), Some(100), 0, Some(true))]);
    assert_eq!(ended(&[ASK, length], Some((500, 500)), true), [(Some(100), Some(100), 0, Some(true))]);
    assert_eq!(ended(&[ASK, length], Some((80, 80)), true), [(Some(90), Some(100), 0, Some(false))]);
    assert_eq!(ended(&[ASK, length], Some((90, 70)), true), [(Some(80), Some(100), 20, Some(false))]);
    assert_eq!(ended(&[ASK, length], Some((500, 450)), true), [(Some(50), Some(100), 0, None)]);
    assert_eq!(ended(&[ASK, length], Some((500, 0)), true), [(Some(10), Some(100), 90, Some(false))]);
    let to_end = (ServerToClient, "HTTP/1.1 200 OK\n\n0123456789");
    assert_eq!(ended(&[ASK, to_end], Some((90, 90)), true), [(Some(100), None, 0, Some(true))]);
    // Where chunks end is not known there.
    let chunked = (ServerToClient, "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n14\n0123456789");
    assert_eq!(ended(&[ASK, chunked], Some((90, 90)), true), [(Some(20), None, 0, None)]);
}

#[test]
fn the_last_transfer_coding_decides() {
    let body = "0123456789";
    for framing in [
        "Transfer-Encoding: gzip\nContent-Length: 3\n",
        "Transfer-Encoding: chunked, gzip\n",
        "Transfer-Encoding: chunked\nTransfer-Encoding: gzip\n",
        "Content-Length: 2\nTransfer-Encoding: ,\n identity\n",
    ] {
        let answer = format!("HTTP/1.1 200 OK\n{framing}\n{body}");
        let seen = ended(&[ASK, (ServerToClient, &answer)], None, true);
        assert_eq!(seen, [(Some(10), None, 0, Some(true))], "{framing}");
    }
    for framing in
        ["Transfer-Encoding: gzip\nTransfer-Encoding: Chunked\n", "Content-Length: 3\nTransfer-Encoding: chunked\n"]
    {
        let answer = format!("HTTP/1.1 200 OK\n{framing}\n5\nabcde\n0\n\n");
        assert_eq!(bodies(&[ASK, (ServerToClient, &answer)]).1, (Some(5), None, 0, Some(true)), "{framing}");
    }
    // Nothing in such a body is another message, neither a response nor a request.
    let forged = "xxHTTP/1.1 404 No\nContent-Length: 0\n\n";
    let answer = format!("HTTP/1.1 200 OK\nTransfer-Encoding: gzip\nContent-Length: 2\n\n{forged}");
    assert_eq!(ended(&[ASK, (ServerToClient, &answer)], None, true).len(), 1);
    let request = [
        (
            ClientToServer,
            "POST /1 HTTP/1.1\nTransfer-Encoding: chunked, gzip\nContent-Length: 2\n\nxxGET /2 HTTP/1.1\n\n",
        ),
        (ServerToClient, "HTTP/1.1 400 No\nContent-Length: 0\n\n"),
    ];
    assert_eq!(bodies(&request).0, (Some(21), None, 0, Some(false)));
}

#[test]
fn the_authority_of_the_target_precedes_the_field_host() {
    let names = |line: &str, field: &str| {
        let found = transactions(&sent(&[(ClientToServer, &format!("{line} HTTP/1.1\nHost: {field}\n\n"))]), 80);
        let http = http(&found[0]).clone();
        (http.host.unwrap().into_string(), http.port, http.host_field.map(|field| field.into_string()))
    };
    let real = |port, field: Option<&str>| ("real.example".to_owned(), port, field.map(str::to_owned));
    assert_eq!(names("GET http://real.example/path", "other.example"), real(None, Some("other.example")));
    assert_eq!(names("GET http://real.example:81/", "Real.Example:82"), real(Some(81), Some("Real.Example:82")));
    assert_eq!(names("CONNECT real.example:443", "other.example:443"), real(Some(443), Some("other.example:443")));
    for same in ["real.example", "REAL.example", "real.example:443"] {
        assert_eq!(names("CONNECT real.example:443", same), real(Some(443), None));
    }
    assert_eq!(names("GET /path", "real.example"), real(None, None));
}
