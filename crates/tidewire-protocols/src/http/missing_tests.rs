//! Bytes, requests and responses that are missing.

use tidewire_core::Direction::{ClientToServer, ServerToClient};
use tidewire_types::Timestamp;

use super::tests::{Summary, conversation, http, summary};
use crate::{
    Budget, Conversation, Piece, Ports, Report, Service, Transaction,
    testing::{Event, Sent, transactions},
};

#[test]
fn requests_are_all_found_where_responses_are_lost() {
    let request = |number: usize| format!("GET /{number} HTTP/1.1\r\nHost: h\r\n\r\n").into_bytes();
    let paths = |found: &[Transaction]| -> Vec<String> {
        found.iter().filter_map(|one| http(one).path.as_deref().map(str::to_owned)).collect()
    };
    let expected: Vec<String> = (0..300).map(|number| format!("/{number}")).collect();
    // No response was captured.
    let pieces: Vec<_> = (0..300).map(|number| (ClientToServer, request(number))).collect();
    let found = transactions(&Sent::of(&pieces), 80);
    assert_eq!(paths(&found), expected);
    // Part of one is missing: what follows it cannot be read.
    let response = |length: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").into_bytes();
    let mut pieces = vec![
        (ClientToServer, request(0)),
        (ServerToClient, response("0")),
        (ClientToServer, request(1)),
        (ServerToClient, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n".to_vec()),
    ];
    pieces.extend((2..300).flat_map(|number| [(ClientToServer, request(number)), (ServerToClient, response("0"))]));
    let found = transactions(&Sent::of(&pieces), 80);
    assert_eq!(paths(&found), expected);
    assert_eq!((http(&found[0]).status, http(&found[1]).status, http(&found[2]).status), (Some(200), Some(200), None));
}

/// Requests that were reported before they were answered have their responses first.
#[test]
fn responses_are_counted_where_very_many_requests_wait() {
    let answers = "HTTP/1.1 204 x\n\n".repeat(70);
    let asks: Vec<String> = (0..70).map(|number| format!("GET /{number} HTTP/1.1\n\n")).collect();
    let sent =
        conversation(&[&asks.concat(), &answers, "GET /70 HTTP/1.1\n\n", "HTTP/1.1 202 x\nContent-Length: 0\n\n"]);
    let found = transactions(&sent, 80);
    assert_eq!(transactions(&sent.bytewise(), 80), found);
    let each: Vec<_> = found.iter().map(|one| (http(one).path.as_deref(), http(one).status)).collect();
    let paths: Vec<String> = (0..71).map(|number| format!("/{number}")).collect();
    let path = |number: usize| Some(paths[number].as_str());
    let mut expected: Vec<_> = (0..64).map(|number| (path(number), None)).collect();
    expected.extend([(None, Some(204)); 64]);
    expected.extend((64..70).map(|number| (path(number), Some(204))));
    expected.push((path(70), Some(202)));
    assert_eq!(each, expected);
}

#[test]
fn a_gap_may_be_the_rest_of_a_body() {
    let ends: [(&str, &str); 2] =
        [("Content-Length: 10\n\nab", ""), ("Transfer-Encoding: chunked\n\na\nab", "\n0\n\n")];
    for (begin, end) in ends {
        let mut sent = conversation(&["GET /1 HTTP/1.1\n\n", &format!("HTTP/1.1 200 OK\n{begin}")]);
        sent.0.push(Event::Gap(ServerToClient, 8));
        let rest = format!("{end}HTTP/1.1 404 No\nContent-Length: 0\n\n");
        sent.0.extend(conversation(&["GET /2 HTTP/1.1\n\n", &rest]).0);
        let found = transactions(&sent, 80);
        let each: Vec<_> = found.iter().map(|one| (http(one).status, http(one).response_bytes)).collect();
        assert_eq!(each, [(Some(200), Some(2)), (Some(404), Some(0))], "{begin:?}");
        assert_eq!((http(&found[0]).response_missing_bytes, http(&found[0]).response_complete), (8, Some(false)));
    }
}

#[test]
fn a_body_may_have_a_gap() {
    let mut sent = conversation(&["GET /1 HTTP/1.1\n\n", "HTTP/1.1 200 OK\nContent-Length: 10\n\nab"]);
    sent.0.push(Event::Gap(ServerToClient, 6));
    let more = conversation(&["GET /2 HTTP/1.1\n\n", "ijHTTP/1.1 404 No\nContent-Length: 0\n\n"]);
    sent.0.extend(more.0);
    let statuses: Vec<_> = transactions(&sent, 80).iter().map(|one| http(one).status.unwrap()).collect();
    assert_eq!(statuses, [200, 404]);
}

/// Behind missing bytes the next start line is found, wherever a body before it ends, and answers what it surely answers.
#[test]
fn start_lines_are_found_behind_a_gap() {
    let (gap, server_gap) = (Event::Gap(ClientToServer, 9), Event::Gap(ServerToClient, 9));
    let whole = |direction, text: &str| Event::Bytes(direction, text.replace('\n', "\r\n").into_bytes(), false);
    let (ask, answer) = (|text| whole(ClientToServer, text), |text| whole(ServerToClient, text));
    let first = || vec![ask("GET /1 HTTP/1.1\nHost: h\n\n"), answer("HTTP/1.1 200 OK\nContent-Length: 0\n\n")];
    let ok = || answer("text HTTP/1.1 2 oddHTTP/1.1 202 OK\nContent-Length: 3\n\nabc");
    let status = |path, code| (Some("GET"), Some(path), Some(code), Some(if code == 202 { 3 } else { 0 }));
    let unanswered = |path| (Some("GET"), Some(path), None, None);
    let alone = |code| (None, None, Some(code), Some(0));
    let cases: [(Vec<Event>, Vec<Summary<'_>>); 8] = [
        // The head of a request is missing, with the request itself: whom a response answers is not known before the client goes on.
        (
            vec![
                gap.clone(),
                ask("Accept: x\n\n{}GET /3 HTTP/1.1\nHost: h\n\n"),
                answer("HTTP/1.1 304 x\n\n"),
                ask("GET /4 HTTP/1.1\n\n"),
                answer("HTTP/1.1 304 x\n\n"),
            ],
            vec![status("/1", 200), unanswered("/3"), alone(304), status("/4", 304)],
        ),
        // The missing request is answered before.
        (
            vec![
                gap.clone(),
                answer("HTTP/1.1 100 x\n\nHTTP/1.1 304 x\n\n"),
                ask("{}GET /3 HTTP/1.1\nHost: h\n\n"),
                answer("HTTP/1.1 304 x\n\n"),
            ],
            vec![status("/1", 200), alone(304), status("/3", 304)],
        ),
        // The head of a response.
        (
            vec![ask("GET /2 HTTP/1.1\n\n"), server_gap.clone(), answer("Age: 1\n\n"), ok()],
            vec![status("/1", 200), status("/2", 202)],
        ),
        // The rest of a response whose length is not known.
        (
            vec![
                ask("GET /2 HTTP/1.1\n\n"),
                answer("HTTP/1.1 404 No\n"),
                server_gap.clone(),
                answer("body"),
                ask("GET /3 HTTP/1.1\n\n"),
                ok(),
            ],
            vec![status("/1", 200), (Some("GET"), Some("/2"), Some(404), None), status("/3", 202)],
        ),
        // Which of the requests is answered is not known.
        (
            vec![ask("GET /2 HTTP/1.1\n\nGET /3 HTTP/1.1\n\n"), server_gap.clone(), ok()],
            vec![
                status("/1", 200),
                (Some("GET"), Some("/2"), None, None),
                (Some("GET"), Some("/3"), None, None),
                (None, None, Some(202), Some(3)),
            ],
        ),
        // A whole response is missing: the client goes on.
        (
            vec![
                ask("GET /2 HTTP/1.1\n\n"),
                ask("GET /3 HTTP/1.1\n\n"),
                server_gap.clone(),
                answer("HTTP/1.1 304 x\n\n"),
                ask("GET /4 HTTP/1.1\n\n"),
                answer("HTTP/1.1 304 x\n\n"),
            ],
            vec![status("/1", 200), unanswered("/2"), unanswered("/3"), alone(304), status("/4", 304)],
        ),
        // Of pipelined requests one is missing: which of the others were answered is never known again.
        (
            vec![
                ask("GET /2 HTTP/1.1\n\n"),
                gap.clone(),
                ask("GET /3 HTTP/1.1\n\n"),
                answer("HTTP/1.1 304 x\n\nHTTP/1.1 304 x\n\nHTTP/1.1 304 x\n\n"),
                ask("GET /4 HTTP/1.1\n\n"),
                answer("HTTP/1.1 304 x\n\n"),
            ],
            vec![
                status("/1", 200),
                status("/2", 304),
                unanswered("/3"),
                alone(304),
                alone(304),
                unanswered("/4"),
                alone(304),
            ],
        ),
        // Neither is a start line; nor are lines that end as those of a text.
        (
            vec![
                gap.clone(),
                server_gap,
                ask("GET /2 HTTP/2\nfree HTTP/1.1\n"),
                Event::Bytes(ClientToServer, b"\nGET /4 HTTP/1.1\n".to_vec(), false),
                answer("HTTP/1.1 20x OK\nHTTP/1.x 200 OK\nHTTP/1.1-200\nHTTP/1.1"),
            ],
            vec![status("/1", 200)],
        ),
    ];
    for (events, expected) in cases {
        let sent = Sent(first().into_iter().chain(events).collect());
        let found = transactions(&sent, 80);
        assert_eq!(summary(&found), expected);
        assert_eq!(transactions(&sent.bytewise(), 80), found);
    }
    // A long body in one line, and a start line across pieces.
    let mut sent = conversation(&["GET /1 HTTP/1.1\n\n"]);
    sent.0.push(Event::Gap(ServerToClient, 1));
    let body = format!("{}HTTP/1.1 202 OK\nContent-Length: 0\n\n", "x".repeat(10_000));
    sent.0.push(answer(&body));
    let found = transactions(&sent, 80);
    assert_eq!(summary(&found), [(Some("GET"), Some("/1"), Some(202), Some(0))]);
    for at in [1, 3000, 10_000, 10_005, 10_016, 10_017] {
        assert_eq!(transactions(&sent.clone().cut(2, at), 80), found, "{at}");
    }
}

/// The beginning of the stream is missing: the rest is recognised as where a stream was joined midway.
#[test]
fn a_stream_whose_beginning_is_missing_is_recognised() {
    let mut sent = conversation(&["GET /2 HTTP/1.1\n\n", "HTTP/1.1 200 OK\nContent-Length: 0\n\n"]);
    sent.0.insert(0, Event::Gap(ClientToServer, 100));
    assert_eq!(summary(&transactions(&sent, 80)), [(Some("GET"), Some("/2"), Some(200), Some(0))]);
    // Not behind a beginning that does not go on.
    sent.0.insert(0, Event::Bytes(ClientToServer, b"G".to_vec(), false));
    assert_eq!(transactions(&sent, 80), []);
}

/// Transactions of a stream that was joined within a message: pieces of the client (`>`) and of the server (`<`).
fn joined(pieces: &[(char, &str)], port: u16) -> Vec<Transaction> {
    let run = |bytewise: bool| {
        let (mut conversation, mut budget, mut found) = (Conversation::default(), Budget::default(), Vec::new());
        conversation.joined();
        let mut keep = |transaction| found.push(transaction);
        let report = &mut Report::Each(&mut keep);
        for (index, (side, text)) in pieces.iter().enumerate() {
            let direction = if *side == '>' { ClientToServer } else { ServerToClient };
            let bytes = text.replace('\n', "\r\n").into_bytes();
            for bytes in bytes.chunks(if bytewise { 1 } else { bytes.len() }) {
                let piece =
                    Piece { direction, bytes, is_datagram: false, timestamp: Timestamp::from_nanos(index as u64) };
                conversation.data(&piece, Ports { client: 40_000, server: port }, &mut budget, report);
            }
        }
        conversation.close(&mut budget, report);
        assert_eq!(budget.used_bytes(), 0);
        found
    };
    let found = run(false);
    assert_eq!(run(true), found, "{pieces:?}");
    found
}

#[test]
fn a_stream_joined_within_a_message_is_recognised_by_what_follows() {
    // Short texts alone may become a server's lines before its name in SSH.
    let whole = format!("HTTP/1.1 202 OK\nContent-Length: 600\n\n{}", "b".repeat(600));
    let (ask, answer) = (('>', "GET /2 HTTP/1.1\nHost: h\n\n"), ('<', &*whole));
    let both = [(Some("GET"), Some("/2"), Some(202), Some(600))];
    let rest = "rest of a body\n".repeat(400);
    for begin in ["xyz", "\u{1}\u{2}\u{3}", &rest, "<html>\n"] {
        assert_eq!(summary(&joined(&[('<', begin), ask, answer], 80)), both, "{begin:?}");
        // The rest of a body and the next response in one piece, and the rest of a request before the next one.
        let more = format!("{begin}{whole}");
        assert_eq!(summary(&joined(&[ask, ('<', &more)], 80)), both, "{begin:?}");
        let (alone, request) = ((None, None, Some(202), Some(600)), format!("{begin}GET /2 HTTP/1.1\nHost: h\n\n"));
        assert_eq!(summary(&joined(&[('<', &more)], 8080)), [alone], "{begin:?}");
        assert_eq!(summary(&joined(&[('>', &request)], 8080)), [(Some("GET"), Some("/2"), None, None)], "{begin:?}");
    }
    // Mail that was being sent, a command of FTP behind the list of a folder, an answer of DNS.
    let mail = [('>', "the end of a mail\n.\n"), ('<', "250 ok\n"), ('>', "MAIL FROM:<a@b>\n"), ('<', "250 ok\n")];
    let found = joined(&mail, 25);
    assert_eq!((found.len(), found[0].service), (1, Service::Smtp));
    let query = "\0\u{1d}\0\u{7}\u{1}\0\0\u{1}\0\0\0\0\0\0\u{3}www\u{7}example\0\0\u{1}\0\u{1}";
    let found = joined(&[('<', "\u{1}the end of an answer"), ('>', query)], 53);
    assert_eq!((found.len(), found[0].name()), (1, Some("www.example")));
    // Nothing is guessed.
    for said in ["GET / HTTP/1.1 is a line\n", "see GET / HTTP/1.1\nand more\n", "see HTTP/1.1 200 OK\nmore of it\n"] {
        assert_eq!(joined(&[('<', said), ('<', said)], 80), [], "{said}");
    }
    assert_eq!(joined(&[('<', "x"), ('>', "\u{5}\u{1}\0"), ('<', "\u{5}\0")], 1080), []);
}
