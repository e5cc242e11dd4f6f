//! Any bytes, in any pieces: the same fields however they are cut, no panic, bounded memory, and nothing left behind.

use proptest::prelude::*;
use tidewire_core::Direction::{self, ClientToServer, ServerToClient};
use tidewire_types::Timestamp;

use crate::{
    App, Budget, Conversation, Piece, Ports, QuicHistory, Report, Service, Value,
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

/// Input that repeats: the pieces of both sides before, and the piece that one side repeats.
type Lines<'a> = (u16, &'a [(Direction, &'a [u8])], Direction, &'a [u8]);
type Repeated = Lines<'static>;

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
                let piece = Piece {
                    direction: *direction,
                    bytes: bytes_now,
                    is_datagram: false,
                    timestamp: Timestamp::from_nanos(1),
                };
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

/// Of irrelevant lines only the beginning is examined, whatever they hold.
#[test]
fn irrelevant_lines_are_passed_over() {
    const TRAILER: (Direction, &[u8]) = (ServerToClient, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n");
    let full = [&b"EHLO a\r\nMAIL FROM:<a>\r\n"[..], &b"RCPT TO:<b>\r\n".repeat(16)].concat();
    const LMTP: (Direction, &[u8]) = (ClientToServer, b"LHLO a\r\nRCPT TO:<b>\r\n");
    let cases: [Lines<'_>; 32] = [
        (80, &[(ClientToServer, b"GET / HTTP/1.1\r\n")], ClientToServer, b"a\n"),
        (80, &[(ClientToServer, b"GET / HTTP/1.1\r\n")], ClientToServer, b"a:b\r\n"),
        (80, &[(ClientToServer, b"GET / HTTP/1.1\r\n")], ClientToServer, b"hosu:\r\n"),
        (80, &[GET, TRAILER], ServerToClient, b"a\n"),
        (80, &[(ClientToServer, b"GET / HTTP/1.1\r\nContent-Length: 1\r\n")], ClientToServer, b"Content-Length: 1\r\n"),
        (80, &[(ClientToServer, b"GET / HTTP/1.1\r\nHost: a\r\n")], ClientToServer, b" a\n"),
        (80, &[GET, (ServerToClient, b"HTTP/1.1 200 OK\r\nServer: a\r\n")], ServerToClient, b"Server: a\n"),
        (25, &[SMTP], ClientToServer, b"a\n"),
        (80, &[(ClientToServer, b"GET / HTTP/1.1\r\n")], ClientToServer, b"transfer-encoding:a\n"),
        (80, &[(ClientToServer, b"GET / HTTP/1.1\r\n")], ClientToServer, b"content-length:x\n"),
        (80, &[(ClientToServer, b"GET / HTTP/1.1\r\n")], ClientToServer, b"host: \n"),
        (80, &[(ClientToServer, b"GET / HTTP/1.1\r\ntransfer-encoding:a\n")], ClientToServer, b" b\n"),
        (80, &[GET], ServerToClient, b"HTTP/1.1 103\n\n"),
        (80, &[GET], ServerToClient, b"HTTP/2 199 a\nServer: a\n\n\n"),
        (25, &[SMTP], ClientToServer, b"RSET\n"),
        (25, &[SMTP], ClientToServer, b"EHLO a\n"),
        (25, &[SMTP], ClientToServer, b"EHLO\nHELO a\n"),
        (25, &[SMTP], ClientToServer, b"DATA\n.\n"),
        (25, &[SMTP], ClientToServer, b"DATA\na\n.\n"),
        (25, &[SMTP], ClientToServer, b"BDAT 0\n"),
        (25, &[SMTP], ClientToServer, b"BDAT 1 LAST\na"),
        (25, &[SMTP], ClientToServer, b"STARTTLS\n"),
        (25, &[SMTP, (ClientToServer, b"EHLO a\r\n")], ServerToClient, b"250\n"),
        (25, &[SMTP, LMTP], ClientToServer, b"RSET\nLHLO a\nDATA\n.\n"),
        (25, &[SMTP, LMTP], ServerToClient, b"250-\n250\n"),
        (25, &[SMTP, (ClientToServer, b"MAIL FROM:<a>\r\nDATA\r\n")], ClientToServer, b".a\n"),
        (25, &[SMTP, (ClientToServer, &full)], ClientToServer, b"RCPT TO:<>\n"),
        (25, &[SMTP, (ClientToServer, b"EHLO a\r\n")], ServerToClient, b"a\n"),
        (21, FTP, ClientToServer, b"a\n"),
        (21, FTP, ClientToServer, b"AUTH\n"),
        (21, FTP, ServerToClient, b"a\n"),
        (21, FTP, ServerToClient, b"250\n"),
    ];
    for (port, before, direction, unit) in cases {
        let mut sent: Vec<_> = before.iter().map(|(direction, bytes)| (*direction, bytes.to_vec())).collect();
        let (beginning, _) = steps(&sent, port, &[16_384]);
        let units = 20_000 / unit.len();
        sent.push((direction, unit.repeat(units)));
        let (all, _) = steps(&sent, port, &[16_384]);
        let (of_lines, bytes) = ((all - beginning) as usize, unit.len() * units);
        let lines = units * unit.iter().filter(|&&byte| byte == b'\n').count();
        assert!(
            of_lines <= lines * 5 / 4 + bytes / 8 + 64,
            "{of_lines} steps for {lines} of {:?}",
            unit.escape_ascii().to_string()
        );
    }
}

/// Longest datagram of these tests: full, and one of many fragments.
const DATAGRAM_BYTES: [usize; 2] = [1460, 20_000];

/// A message of DNS: the counts of questions and answers, and what follows; the rest of the datagram is one part again and again.
fn dns(is_answer: bool, counts: [u16; 2], begin: &[u8], part: &[u8], bytes: usize) -> Vec<u8> {
    let flags: u16 = if is_answer { 0x8180 } else { 0x0100 };
    let header = [7, flags, counts[0], counts[1], 0, 0].map(u16::to_be_bytes).concat();
    filled([header, begin.to_vec()].concat(), part, bytes)
}

fn filled(mut datagram: Vec<u8>, part: &[u8], bytes: usize) -> Vec<u8> {
    datagram.extend(part.repeat(bytes.saturating_sub(datagram.len()) / part.len()));
    datagram
}

/// Messages with much to do: names that all point to one, names of as many labels as there may be, texts, lists, and what is malformed.
fn hostile_dns(bytes: usize) -> Vec<Vec<u8>> {
    let record = |kind: u16, data: &[u8]| {
        [&[0xc0, 12][..], &kind.to_be_bytes(), &[0, 1, 0, 0, 0, 60], &(data.len() as u16).to_be_bytes(), data].concat()
    };
    let wide = [&[&[63][..], &[0xff; 63]].concat().repeat(3)[..], b"\0\0\x05\0\x01"].concat();
    let labels = [&b"\x01\xff".repeat(126)[..], b"\0\0\x05\0\x01"].concat();
    // Each points to another label of the name of the question.
    let pointers: Vec<u8> = (0..126_u16).flat_map(|label| (0xc000 | (12 + 2 * label)).to_be_bytes()).collect();
    let ending = |kind, data: &[u8]| record(kind, data);
    let mut all = Vec::new();
    for name in [&wide, &labels] {
        for data in [&b"\xc0\x0c"[..], b"\xc0\x0e", &[&b"\xc0\x0c\xc0\x0e"[..], &[0xff; 20]].concat()] {
            all.push(dns(true, [1, u16::MAX], name, &ending(if data.len() > 2 { 6 } else { 5 }, data), bytes));
        }
        all.push(dns(false, [255, 0], name, b"\xc0\x0c\0\x05\0\x01", bytes));
        all.push(dns(true, [255, 9], name, b"\xc0\x0e\0\x05\0\x01", bytes));
    }
    let question = b"\x01a\0\0\x01\0\x01";
    let windows = [&b"\0"[..], &[0, 32], &[0xff; 32]].concat();
    let kinds: [(u16, Vec<u8>); 8] = [
        (5, pointers),
        (16, [&[255][..], &[0xff; 255]].concat().repeat(4)),
        (16, vec![0; 1000]),
        (46, [&[0xff; 18][..], b"\xc0\x0c", &[0xff; 900]].concat()),
        (47, [&b"\xc0\x0c"[..], &windows.repeat(20)].concat()),
        (48, vec![0xff; 1000]),
        (64, [&b"\0\x01\xc0\x0c"[..], &b"\xff\0\0\0".repeat(200)].concat()),
        (999, vec![0xff; 1000]),
    ];
    all.extend(kinds.iter().map(|(kind, data)| dns(true, [1, u16::MAX], question, &record(*kind, data), bytes)));
    all.push(dns(true, [1, u16::MAX], question, &record(1, b""), bytes));
    all
}

/// Datagrams that look like a client's first ones: in one packet, in many, with others before them, and with a token.
fn hostile_quic(bytes: usize) -> Vec<Vec<u8>> {
    let packet = |kind: u8, token: &[u8], bytes: u16| {
        let begin = [&[kind, 0, 0, 0, 1, 8][..], b"\x83\x94\xc8\xf0\x3e\x51\x57\x08\0", token].concat();
        [begin, (0x4000 | bytes).to_be_bytes().to_vec(), vec![0x5a; bytes.into()]].concat()
    };
    let token = [&[0x44, 0][..], &[0; 1024]].concat();
    vec![
        filled(packet(0xc0, &[0], 1182), &[0], bytes),
        filled(Vec::new(), &packet(0xc0, &[0], 21), bytes),
        filled(packet(0xd0, &[], 20).repeat(15), &packet(0xc0, &[0], 20), bytes),
        filled(packet(0xd0, &[], 0), &packet(0xd0, &[], 0), bytes),
        filled(packet(0xc0, &token, 200), &[0], bytes),
    ]
}

/// Of each protocol over datagrams its port, and datagrams with much to do in few bytes.
fn hostile_datagrams(service: Service) -> (u16, Vec<Vec<u8>>) {
    let each = |make: fn(usize) -> Vec<Vec<u8>>| DATAGRAM_BYTES.into_iter().flat_map(make).collect();
    match service {
        Service::Dns => (53, each(hostile_dns)),
        Service::Mdns => (5353, each(hostile_dns)),
        Service::Llmnr => (5355, each(hostile_dns)),
        Service::Dhcp => {
            let mut begin = vec![1; 236];
            begin.extend(b"\x63\x82\x53\x63\x34\x01\x03");
            let options = [&b"\x0c\x01\xff"[..], b"\x0c\0", b"\0", b"\x63\0", b"\x0c\x01\\\x3c\x01\xff", b"\x0c\xff"];
            (
                67,
                DATAGRAM_BYTES.iter().flat_map(|bytes| options.map(|one| filled(begin.clone(), one, *bytes))).collect(),
            )
        }
        Service::Ntp => (123, [0x23, 0x24, 0x25].map(|first| filled(vec![first, 0], &[0xff], 1460)).to_vec()),
        Service::Quic => (443, each(hostile_quic)),
        // Byte streams: `REPEATED`.
        Service::Ftp | Service::Http | Service::Smtp | Service::Socks | Service::Ssh | Service::Tls => (0, Vec::new()),
    }
}

/// Passes on datagrams of one stream, from both sides in turn; the steps, and how many are allowed.
fn steps_of_datagrams(datagrams: &[&[u8]], port: u16) -> (u64, u64) {
    let (mut conversation, mut budget, mut history) =
        (Conversation::default(), Budget::default(), QuicHistory::default());
    let ((), steps) = work::of(|| {
        for (bytes, direction) in datagrams.iter().zip([ClientToServer, ServerToClient].into_iter().cycle()) {
            let piece = Piece { direction, bytes, is_datagram: true, timestamp: Timestamp::from_nanos(1) };
            let ports = Ports { client: 40_000, server: port };
            conversation.data(&piece, ports, &mut budget, &mut Report::Each(&mut drop));
            history.datagram(direction as usize, bytes, 1);
        }
        conversation.close(&mut budget, &mut Report::Each(&mut drop));
    });
    let bytes: usize = datagrams.iter().map(|bytes| bytes.len()).sum();
    (steps, STEPS_OF_BYTE_MAX * bytes as u64 + STEPS_OF_PIECE_MAX * datagrams.len() as u64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Whole, cut, and with other bytes in them.
    #[test]
    fn work_of_datagrams_is_bounded_by_their_bytes(
        count in 1_usize..20,
        cut in 0.0..1.0_f64,
        changes in proptest::collection::vec((0.0..1.0_f64, any::<u8>()), 0..8),
    ) {
        for service in Service::ALL {
            let (port, datagrams) = hostile_datagrams(service);
            for whole in datagrams {
                let at = |part: f64| (part * whole.len() as f64) as usize;
                let mut changed = whole[..=at(cut)].to_vec();
                for (part, byte) in &changes {
                    let length = changed.len();
                    changed[(part * length as f64) as usize] = *byte;
                }
                for sent in [vec![&whole[..]], vec![&whole[..]; count], vec![&whole[..], &changed], vec![&changed[..]; 2]] {
                    let (steps, allowed) = steps_of_datagrams(&sent, port);
                    let begin = &whole[..whole.len().min(60)];
                    prop_assert!(steps <= allowed, "{steps} steps of {allowed} for {service:?} {begin:02x?}");
                }
            }
        }
    }
}

/// Each datagram is read by the protocol that it is meant for, and takes steps.
#[test]
fn datagrams_that_are_dear_are_read() {
    for service in Service::ALL {
        let (port, datagrams) = hostile_datagrams(service);
        for datagram in datagrams.iter().filter(|_| service != Service::Quic) {
            let found = transactions(&Sent::datagrams(&[(ServerToClient, datagram.clone())]), port);
            assert!(found.iter().any(|one| one.service == service), "{service:?} {:02x?}", &datagram[..60]);
        }
    }
}

#[test]
fn memory_of_a_stream_has_a_bound() {
    // Inputs that grow without an end: a line, a head, a message, pipelined requests, queries without answers.
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
            let piece = Piece {
                direction: ClientToServer,
                bytes: &bytes,
                is_datagram: false,
                timestamp: Timestamp::from_nanos(round),
            };
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
    let piece =
        Piece { direction: ClientToServer, bytes: hello, is_datagram: false, timestamp: Timestamp::from_nanos(0) };
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
    let piece =
        |bytes| Piece { direction: ClientToServer, bytes, is_datagram: false, timestamp: Timestamp::from_nanos(0) };
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
