//! Any bytes, in any pieces: the same fields however they are cut, no panic, bounded memory, and nothing left behind.

use proptest::prelude::*;
use tidewire_core::Direction::{self, ClientToServer, ServerToClient};

use crate::{
    App, Budget, Conversation, Piece, Ports, Report, Service, Value,
    testing::{Event, Sent, complete, transactions},
    tls::tests::hello,
    work,
};

/// Beginnings that lead into each protocol.
const BEGINNINGS: [&[u8]; 16] = [
    b"\x16\x03\x01\x00\x40\x01\x00\x00\x3c\x03\x03",
    b"\x16\x03\x03\x00\x40\x02\x00\x00\x3c\x03\x03",
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n",
    b"CONNECT a:1 HTTP/1.1\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"SSH-2.0-x\r\n\x00\x00\x00\x40\x04\x14",
    b"\x00\x1d\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x07example\x00\x00\x01\x00\x01",
    b"\x00\x40\x00\x07\x81\x00\x00\x01\x00\x03\x00\x00\x00\x00\x03www\x07example\x00\x00\x01\x00\x01",
    b"220 mx ESMTP\r\n250 ok\r\n220 go on\r\n",
    b"EHLO a\r\nMAIL FROM:<a>\r\nSTARTTLS\r\n",
    b"USER a\r\nAUTH TLS\r\n234 ok\r\n",
    b"\x05\x01\x00\x05\x01\x00\x03\x01a\x00\x50",
    b"\x05\x00\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00",
    b"\x04\x01\x00\x50\x00\x00\x00\x01me\x00example.org\x00",
    b"",
];

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let any = proptest::collection::vec(any::<u8>(), 0..200);
    let texts = prop_oneof![
        Just(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc".to_vec()),
        Just(b"0\r\n\r\n".to_vec()),
        Just(b"\x14\x03\x03\x00\x01\x01\x17\x03\x03\x00\x01\x01".to_vec()),
        Just(b"\x16\x03\x03\x00\x04\x0b\x00\x00\x00".to_vec()),
        Just(b"\r\n\r\n".to_vec()),
    ];
    (0..BEGINNINGS.len(), any, proptest::collection::vec(texts, 0..3))
        .prop_map(|(beginning, any, texts)| [BEGINNINGS[beginning].to_vec(), texts.concat(), any].concat())
}

fn event() -> impl Strategy<Value = Event> {
    let direction = prop_oneof![Just(ClientToServer), Just(ServerToClient)];
    let other = direction.clone();
    prop_oneof![
        9 => (direction, bytes()).prop_map(|(direction, bytes)| Event::Bytes(direction, bytes, false)),
        1 => (other, 1_u64..1000).prop_map(|(direction, bytes)| Event::Gap(direction, bytes)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn any_stream_is_the_same_however_it_is_cut(
        events in proptest::collection::vec(event(), 1..8),
        port in prop_oneof![Just(53_u16), Just(80), Just(21), Just(25)],
    ) {
        let sent = Sent(events);
        prop_assert_eq!(transactions(&sent.clone().bytewise(), port), transactions(&sent, port));
    }

    #[test]
    fn any_datagram_is_harmless(
        datagrams in proptest::collection::vec(bytes(), 1..8),
        port in prop_oneof![Just(53_u16), Just(5353), Just(123), Just(9)],
    ) {
        let datagrams: Vec<_> = datagrams.into_iter().map(|bytes| (ClientToServer, bytes)).collect();
        for one in transactions(&Sent::datagrams(&datagrams), port) {
            let _ = (one.values(), one.request(), one.response(), one.name().map(str::len));
        }
    }
}

/// What a parser is made to do again and again: what both sides say before, and what one side repeats.
type Repeated = (u16, &'static [(Direction, &'static [u8])], Direction, &'static [u8]);

const CERTIFICATES: &[u8] = b"\x16\x03\x03\x00\x0a\x0b\x00\x00\x06\x00\x00\x03\x00\x00\x00";
const HELLOS: &[(Direction, &[u8])] = &[
    (
        ClientToServer,
        b"\x16\x03\x01\x00\x2d\x01\x00\x00\x29\x03\x03RRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRR\x00\x00\x02\xc0\x2f\x01\x00",
    ),
    (ServerToClient, b"\x16\x03\x03\x00\x2a\x02\x00\x00\x26\x03\x03SSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSS\x00\xc0\x2f\x00"),
];
const GET: (Direction, &[u8]) = (ClientToServer, b"GET / HTTP/1.1\r\n\r\n");
const SMTP: (Direction, &[u8]) = (ServerToClient, b"220 mx ESMTP\r\n");
const FTP: &[(Direction, &[u8])] = &[(ServerToClient, b"220 FTP\r\n"), (ClientToServer, b"USER a\r\n")];
const REPEATED: &[Repeated] = &[
    (80, &[GET, (ServerToClient, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")], ServerToClient, b"\n"),
    (
        80,
        &[GET, (ServerToClient, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")],
        ServerToClient,
        b"1\r\na\r\n",
    ),
    (80, &[(ClientToServer, b"GET / HTTP/1.1\r\nReferer: rrrrrrrr")], ClientToServer, b"\r\n xxxxxxxx"),
    (80, &[(ClientToServer, b"GET / HTTP/1.1\r\n")], ClientToServer, b"a\n"),
    (80, &[], ClientToServer, b"GET / HTTP/1.1\r\n\r\n"),
    (80, &[GET], ServerToClient, b"HTTP/1.1 103 A\r\n\r\n"),
    (25, &[SMTP], ClientToServer, b"\n"),
    (25, &[SMTP], ClientToServer, b"\r\r\n"),
    (25, &[SMTP], ClientToServer, b"x\n"),
    (25, &[SMTP, (ClientToServer, b"MAIL FROM:<a>\r\nDATA\r\n")], ClientToServer, b".x\n"),
    (25, &[SMTP, (ClientToServer, b"EHLO a\r\n")], ServerToClient, b"250\n"),
    (21, FTP, ClientToServer, b"\r\n"),
    (21, FTP, ClientToServer, b"RETR a\n"),
    (110, &[(ServerToClient, b"+OK ready\r\n")], ClientToServer, b"\n"),
    (110, &[(ServerToClient, b"+OK ready\r\n")], ServerToClient, b"+OK\n"),
    (5222, &[(ClientToServer, b"<stream:stream>")], ClientToServer, b">"),
    (22, &[(ClientToServer, b"SSH-2.0-a\r\n")], ServerToClient, b"\n"),
    (443, HELLOS, ServerToClient, CERTIFICATES),
    (443, HELLOS, ServerToClient, b"\x16\x03\x03\x00\x01\x00"),
    (443, HELLOS, ServerToClient, b"\x14\x03\x03\x00\x00"),
    (1080, &[(ClientToServer, b"\x04\x01\x00\x50\xc0\x00\x02\x01")], ClientToServer, b"u"),
    (1080, &[], ClientToServer, b"\x05\x01\x00\x05\x01\x00\x03\x01a\x00\x50"),
    (53, &[], ClientToServer, b"\x00\x0c\x00\x07\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
    (9, &[], ClientToServer, b"\x99"),
];

/// Most steps for a byte, and for a piece: until a protocol is known, the first bytes of both sides are looked at again with each piece.
const STEPS_OF_BYTE_MAX: u64 = 16;
const STEPS_OF_PIECE_MAX: u64 = 2048;

/// An answer over TCP of 32 records whose owners, and what they say, are one long name.
fn answer() -> Vec<u8> {
    let label = [&[63][..], &[0xff; 63]].concat();
    let question = [&label.repeat(3)[..], b"\0\0\x05\0\x01"].concat();
    let record = b"\xc0\x0c\0\x05\0\x01\0\0\0\x3c\0\x02\xc0\x0c";
    let message = [b"\0\x07\x81\x80\0\x01\0\x20\0\0\0\0", &question[..], &record.repeat(32)].concat();
    [&(message.len() as u16).to_be_bytes()[..], &message].concat()
}

/// Passes on events, `piece_bytes` at a time; the steps, and how many are allowed.
fn steps(events: &[(Direction, Vec<u8>)], port: u16, piece_bytes: &[usize]) -> (u64, u64) {
    let (mut conversation, mut budget) = (Conversation::default(), Budget::default());
    let (mut bytes, mut pieces) = (0, 0);
    let ((), steps) = work::of(|| {
        for (direction, text) in events {
            let mut rest = &text[..];
            while !rest.is_empty() {
                let (bytes_now, behind) = rest.split_at(piece_bytes[pieces % piece_bytes.len()].min(rest.len()));
                rest = behind;
                (bytes, pieces) = (bytes + bytes_now.len(), pieces + 1);
                let piece = Piece { direction: *direction, bytes: bytes_now, is_datagram: false, timestamp_ns: 1 };
                let ports = Ports { client: 40_000, server: port };
                conversation.data(&piece, ports, &mut budget, &mut Report::Each(&mut drop));
            }
        }
        conversation.close(&mut budget, &mut Report::Each(&mut drop));
    });
    (steps, STEPS_OF_BYTE_MAX * bytes as u64 + STEPS_OF_PIECE_MAX * (pieces as u64 + 1))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn work_is_bounded_by_the_bytes(
        pieces in proptest::collection::vec(prop_oneof![1_usize..4, 1_usize..200, Just(1460), Just(16_384)], 1..8),
        events in proptest::collection::vec(event(), 1..8),
        port in prop_oneof![Just(53_u16), Just(80), Just(21), Just(25)],
    ) {
        for (port, before, direction, unit) in REPEATED {
            let mut sent: Vec<_> = before.iter().map(|(direction, bytes)| (*direction, bytes.to_vec())).collect();
            sent.push((*direction, unit.repeat(20_000 / unit.len())));
            // In large pieces, too: in small ones what is allowed for pieces would hide what bytes cost.
            for pieces in [&pieces[..], &[16_384]] {
                let (steps, allowed) = steps(&sent, *port, pieces);
                prop_assert!(steps <= allowed, "{steps} steps of {allowed} for {:?}", String::from_utf8_lossy(unit));
            }
        }
        let (steps_of_answers, allowed) = steps(&[(ServerToClient, answer().repeat(20))], 53, &[16_384]);
        prop_assert!(steps_of_answers <= allowed, "{steps_of_answers} steps of {allowed} for answers");
        let any: Vec<_> = events.into_iter().filter_map(|event| match event {
            Event::Bytes(direction, bytes, _) | Event::More(direction, bytes) => Some((direction, bytes)),
            Event::Gap(..) => None,
        }).collect();
        let (steps, allowed) = steps(&any, port, &pieces);
        prop_assert!(steps <= allowed, "{steps} steps of {allowed}");
    }
}

#[test]
fn memory_of_a_stream_has_a_bound() {
    // What grows without an end: a line, a head, a message, pipelined requests, queries without answers.
    let query = b"\x00\x1d\x00\x07\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x07example\x00\x00\x01\x00\x01";
    let cases: [(&[u8], &[u8]); 5] = [
        (b"GET / HTTP/1.1\r\nHost: ", b"x"),
        (b"GET / HTTP/1.1\r\n", b"User-Agent: a\r\n"),
        (b"\x16\x03\x01\x40\x00\x01\x00\x7f\xff\x03\x03", b"\x16\x03\x01\x40\x00"),
        (b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n"),
        (query, query),
    ];
    for (first, next) in cases {
        let (mut conversation, mut budget) = (Conversation::default(), Budget::default());
        let mut most = 0;
        for round in 0..20_000 {
            let mut bytes = if round == 0 { first.to_vec() } else { next.to_vec() };
            if next == query && round > 0 {
                bytes[3..5].copy_from_slice(&(round as u16).to_be_bytes());
            }
            let piece = Piece { direction: ClientToServer, bytes: &bytes, is_datagram: false, timestamp_ns: round };
            conversation.data(&piece, Ports { client: 1, server: 53 }, &mut budget, &mut Report::First);
            most = most.max(budget.used_bytes());
        }
        assert!(most > 0 && most < 128 << 10, "{most} bytes for {:?}", String::from_utf8_lossy(first));
        conversation.close(&mut budget, &mut Report::First);
        assert_eq!(budget.used_bytes(), 0);
    }
}

#[test]
fn memory_of_all_streams_has_a_bound() {
    let mut budget = Budget::new(10_000);
    let hello = b"GET /something HTTP/1.1\r\nHost: www.example.org\r\n";
    let piece = Piece { direction: ClientToServer, bytes: hello, is_datagram: false, timestamp_ns: 0 };
    let mut conversations: Vec<Conversation> = (0..100).map(|_| Conversation::default()).collect();
    for conversation in &mut conversations {
        conversation.data(&piece, Ports::default(), &mut budget, &mut Report::First);
        assert!(budget.used_bytes() <= 10_000);
    }
    let refused = budget.refused();
    assert!((50..100).contains(&refused), "{refused} refused");
    let apps: Vec<_> = conversations.iter_mut().map(|one| one.close(&mut budget, &mut Report::First)).collect();
    // Those that began first made room for the last ones; what they are is known all the same.
    let has_fields = |app: &Option<Box<App>>| app.as_ref().is_some_and(|app| app.first.is_some());
    assert_eq!(apps.iter().position(has_fields), Some(refused as usize));
    assert!(apps[refused as usize..].iter().all(has_fields));
    assert!(apps.iter().all(|app| app.as_ref().is_some_and(|app| app.service == Service::Http)));
    assert_eq!(budget.used_bytes(), 0);
}

/// Many beginnings of handshakes take no fields from streams that begin later, neither unfinished ones nor finished ones.
#[test]
fn a_flood_of_beginnings_takes_no_names_from_later_streams() {
    let mut budget = Budget::new(64 << 10);
    let piece = |bytes| Piece { direction: ClientToServer, bytes, is_datagram: false, timestamp_ns: 0 };
    let (attack, honest) = (hello("attack.example"), hello("honest.example"));
    let mut flood: Vec<Conversation> = Vec::new();
    for round in 0..1000 {
        let mut one = Conversation::default();
        let sent = if round % 2 == 0 { &attack[..attack.len() / 2] } else { &attack[..] };
        one.data(&piece(sent), Ports::default(), &mut budget, &mut Report::First);
        if round % 4 == 1 {
            // Finished: nothing can be read behind a gap.
            one.gap(ClientToServer, 1, &mut budget, &mut Report::First);
            one.gap(ServerToClient, 1, &mut budget, &mut Report::First);
            assert!(one.is_over());
        }
        assert!(budget.used_bytes() <= 64 << 10);
        flood.push(one);
        let mut one = Conversation::default();
        for part in honest.chunks(30) {
            one.data(&piece(part), Ports::default(), &mut budget, &mut Report::First);
        }
        let app = one.close(&mut budget, &mut Report::First).expect("TLS");
        let name = app.first.as_ref().and_then(|first| first.name().map(str::to_owned));
        assert_eq!(name.as_deref(), Some("honest.example"), "round {round}");
    }
    assert!(budget.refused() > 500, "{} refused", budget.refused());
    for one in &mut flood {
        one.close(&mut budget, &mut Report::First);
    }
    assert_eq!(budget.used_bytes(), 0);
}

/// The names in the first column of the table of a section of `docs/protocols.md`.
fn documented(section: &str) -> Vec<&'static str> {
    let page = include_str!("../../../docs/protocols.md");
    let text = page.split("\n## ").find(|part| part.lines().next() == Some(section)).expect("the section");
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    rows.flat_map(|row| row[2..].split(" | ").next().unwrap().split('`').skip(1).step_by(2)).collect()
}

/// The contract: what the page says is what there is, in this order.
#[test]
fn this_page_names_every_field() {
    for transaction in complete() {
        let section = transaction.service.name();
        let names: Vec<&str> = transaction.values().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, documented(section), "{section}");
        for (name, value) in transaction.values() {
            let inner = match value {
                Value::Object(members) => members,
                Value::Objects(mut list) => list.remove(0),
                _ => continue,
            };
            let page = include_str!("../../../docs/protocols.md");
            let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |"))).expect("its row");
            for (member, _) in inner {
                assert!(row.contains(&format!("`{member}`")), "{section}.{name}.{member}");
            }
        }
    }
    assert!(complete().iter().all(|one| Service::ALL.contains(&one.service)));
    let services = documented("What is looked at");
    assert!(Service::ALL.iter().all(|service| services.contains(&service.name())), "{services:?}");
}

/// Proxies behind proxies, of which some refuse at first: each request and the conversation inside is a transaction.
#[test]
fn each_request_to_a_proxy_and_what_is_inside_are_read() {
    let pieces: [(_, &[u8]); 12] = [
        (ClientToServer, &[5, 1, 0]),
        (ServerToClient, &[5, 0]),
        (ClientToServer, b"\x05\x01\x00\x01\xc0\x00\x02\x07\x00\x50"),
        (ServerToClient, b"\x05\x00\x00\x01\x0a\x00\x00\x01\x1f\x90"),
        (ClientToServer, b"CONNECT one.example:22 HTTP/1.1\r\n\r\n"),
        (ServerToClient, b"HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno"),
        (ClientToServer, b"CONNECT two.example:22 HTTP/1.1\r\n\r\n"),
        (ServerToClient, b"HTTP/1.1 502 No\r\nContent-Length: 0\r\n\r\n"),
        (ClientToServer, b"CONNECT three.example:22 HTTP/1.1\r\n\r\n"),
        (ServerToClient, b"HTTP/1.1 200 Go\r\n\r\n"),
        (ServerToClient, b"SSH-2.0-Server_1\r\n"),
        (ClientToServer, b"SSH-2.0-Client_2\r\n"),
    ];
    let sent = Sent::of(&pieces.map(|(direction, bytes)| (direction, bytes.to_vec())));
    let found = transactions(&sent, 1080);
    let names: Vec<_> = found.iter().map(|one| (one.service, one.name())).collect();
    let expected = [
        (Service::Socks, Some("192.0.2.7")),
        (Service::Http, Some("one.example")),
        (Service::Http, Some("two.example")),
        (Service::Http, Some("three.example")),
        (Service::Ssh, Some("Server_1")),
    ];
    assert_eq!(names, expected);
    assert_eq!(transactions(&sent.bytewise(), 1080), found);
}
