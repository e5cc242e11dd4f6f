//! Connections that were open when the capture began, and later ones on the same ports.

use std::time::Duration;

use crate::common::*;
use tidewire_core::{Chunk, Handler, Stream};

const C: u32 = 3_280_741_055;
const S: u32 = 1_427_657_521;

fn client(at: u32, acked: u32, flags: u8, payload: &str) -> Seg {
    Seg::new(true, C.wrapping_add(at), S.wrapping_add(acked), flags, payload.as_bytes())
}

fn server(at: u32, acked: u32, flags: u8, payload: &str) -> Seg {
    Seg::new(false, S.wrapping_add(at), C.wrapping_add(acked), flags, payload.as_bytes())
}

/// The last request and answer of a connection whose SYNs were not captured.
fn last_words() -> Vec<Seg> {
    vec![
        client(0, 0, ACK | PSH, "request"),
        server(0, 7, ACK | PSH, "answer"),
        client(7, 6, ACK, ""),
        server(6, 7, ACK | FIN, ""),
        client(7, 7, ACK | FIN, ""),
        server(7, 8, ACK, ""),
    ]
}

#[test]
fn its_end_is_its_end() {
    let (streams, _) = run(&config(), &last_words());
    let log = &streams[&1];
    assert_eq!((log.state.as_str(), log.closed.as_deref()), ("closed", Some("fin")));
    assert_eq!(log.bytes, [b"request".to_vec(), b"answer".to_vec()]);
    assert!(log.gaps.iter().all(Vec::is_empty) && log.anomalies.is_empty());
    // One side had nothing to say but its FIN.
    let (streams, _) = run(
        &config(),
        &[server(0, 0, ACK, "data"), client(0, 4, ACK | FIN, ""), server(4, 1, ACK | FIN, ""), client(1, 5, ACK, "")],
    );
    assert_eq!(streams[&1].state, "closed");
}

/// The same ports again, with numbers far behind the old ones, or a little before them.
#[test]
fn its_ports_are_used_again() {
    for isn in [C + 163_006_878, C - 163_006_878] {
        let mut segments = last_words();
        segments.extend([
            Seg::new(true, isn, 0, SYN, b""),
            Seg::new(false, S + 70_000, isn + 1, SYN | ACK, b""),
            Seg::new(true, isn + 1, S + 70_001, ACK, b""),
            Seg::new(true, isn + 1, S + 70_001, ACK | PSH, b"another"),
            Seg::new(false, S + 70_001, isn + 8, ACK | PSH, b"one"),
            Seg::new(true, isn + 8, S + 70_004, ACK, b""),
        ]);
        for (time, segment) in segments.iter_mut().enumerate() {
            segment.time_ms = time as u64;
        }
        let (streams, ledger) = run(&config(), &segments);
        assert_eq!(streams.len(), 2);
        assert_eq!(streams[&1].bytes, [b"request".to_vec(), b"answer".to_vec()]);
        assert_eq!(streams[&7].bytes, [b"another".to_vec(), b"one".to_vec()]);
        assert_eq!(streams[&7].state, "established");
        assert_eq!(ledger.gap_bytes, 0);
        assert!(streams.values().all(|log| log.anomalies.is_empty()));
    }
}

/// Its SYNs come after everything else: they show which side is the client, and open nothing.
#[test]
fn its_beginning_comes_last() {
    let mut segments = last_words();
    segments.push(Seg::new(true, C - 1, 0, SYN, b""));
    let (streams, _) = run(&config(), &segments);
    assert_eq!(streams.len(), 1);
    assert!(streams[&1].anomalies.is_empty());
    assert_eq!(streams[&1].bytes, [b"request".to_vec(), b"answer".to_vec()]);
}

/// Packets cut behind their headers, of an open connection: their payload is missing, not absent.
#[test]
fn what_is_snapped_of_it_is_a_gap() {
    let cut = |segment: Seg, captured: usize| Seg { snapped: segment.payload.len() - captured, ..segment };
    let segments = |captured: usize| {
        vec![
            cut(client(0, 0, ACK | PSH, "request"), captured),
            cut(server(0, 7, ACK | PSH, "answer one"), captured),
            client(7, 10, ACK, ""),
            cut(server(10, 7, ACK | PSH, "answer two"), captured),
            client(7, 20, ACK, ""),
        ]
    };
    let snapped = |log: &StreamLog, at: usize| -> u64 {
        assert!(log.gaps[at].iter().all(|gap| gap.2 == "snapped"), "{log:?}");
        log.gaps[at].iter().map(|gap| gap.1).sum()
    };
    for workers in [1, 3] {
        let (streams, _) = run_shared(&config(), &segments(0), workers);
        let log = &streams[&1];
        assert_eq!((snapped(log, 0), snapped(log, 1)), (7, 20));
        let (streams, _) = run_shared(&config(), &segments(3), workers);
        let log = &streams[&1];
        assert_eq!(log.bytes, [b"req".to_vec(), b"ansans".to_vec()]);
        assert_eq!((snapped(log, 0), snapped(log, 1)), (4, 14));
        assert_eq!((log.ignored, log.retransmitted), ([0, 0], [0, 0]));
    }
    // With its end, with a repetition, and in another order than it was sent.
    let mut more = segments(0);
    more.swap(1, 3);
    more.push(cut(server(0, 7, ACK | PSH, "answer one"), 0));
    more.extend([server(20, 7, ACK | FIN, ""), client(7, 21, ACK | FIN, ""), server(21, 8, ACK, "")]);
    let (streams, _) = run(&config(), &more);
    let log = &streams[&1];
    assert_eq!((log.state.as_str(), snapped(log, 1), log.retransmitted[1]), ("closed", 20, 10));
    // A long one: nothing waits for its end.
    let long: Vec<Seg> = (0..3000).map(|at| cut(client(at * 7, 0, ACK, "request"), 0)).collect();
    let (streams, _) = run(&config(), &long);
    assert_eq!(snapped(&streams[&1], 0), 21_000);
}

/// A byte that was snapped, then captured behind a hole, then repeated: two repetitions of one byte.
#[test]
fn what_was_snapped_and_is_captured_later_is_counted_once() {
    let cut = |segment: Seg| Seg { snapped: segment.payload.len(), ..segment };
    let late = || Seg::new(true, 1010, 5001, ACK, b"late");
    let mut segments = handshake(1000, 5000);
    segments.extend([cut(late()), late(), late(), cut(late()), Seg::new(true, 1001, 5001, ACK, b"beginning")]);
    let log = &run(&config(), &segments).0[&1];
    assert_eq!((log.bytes[0].as_slice(), log.retransmitted[0]), (&b"beginninglate"[..], 12), "{log:?}");
}

/// A packet alone of each of these connections; some are no plain ones.
fn lone_packets() -> Vec<Seg> {
    let one = |port: u16, segment: Seg| Seg { client_port: port, time_ms: u64::from(port), ..segment };
    let cut = client(0, 0, ACK, "snapped");
    vec![
        one(1, client(0, 0, ACK, "one byte or more")),
        one(2, server(0, 0, ACK | PSH, "an answer")),
        one(3, client(0, 0, ACK, "")),
        one(4, Seg { snapped: 3, ..cut }),
        one(5, Seg { urgent: 2, ..client(0, 0, ACK | URG, "urgent") }),
        one(6, client(0, 0, ACK, "wrong").summed(Sum::Bad)),
        one(7, client(0, 0, ACK, "right").summed(Sum::Good)),
        one(8, client(0, 0, PSH, "no acknowledgment")),
        one(9, client(0, 0, ACK | FIN, "the end")),
        one(10, client(0, 0, ACK | RST, "")),
    ]
}

/// A lone packet waits for a second one; what comes of it at the end is what a flow would have come to.
#[test]
fn a_lone_packet_is_a_stream_of_its_own() {
    use tidewire_core::{ChecksumMode, Mode};
    let auto = config().with_checksum(ChecksumMode::Auto);
    let others =
        [config(), config().with_mode(Mode::Track), config().with_chunk_bytes(4), config().with_ttl_min(200), auto];
    for config in others {
        let at_once = config.clone().with_midstream_bytes(0);
        let (waiting, ledger) = run(&config, &lone_packets());
        let (flows, other) = run(&at_once, &lone_packets());
        assert_eq!(waiting, flows);
        assert!(ledger.fates().eq(other.fates()));
        assert_eq!(run_shared(&config, &lone_packets(), 3).0, flows);
        assert_eq!(waiting.len(), 10);
    }
}

/// The second packet, from either side and of any kind, finds the first as if it had been a flow since it came.
#[test]
fn a_second_packet_makes_a_lone_one_a_flow() {
    let seconds = [
        client(16, 0, ACK, "goes on"),
        client(0, 0, ACK, "the same bytes??"),
        client(20, 0, ACK, "behind a hole"),
        server(0, 16, ACK, "answered"),
        server(0, 16, ACK | FIN, ""),
        server(0, 0, RST, ""),
        Seg::new(true, C - 1, 0, SYN, b""),
        Seg::new(true, C + 99_999, 0, SYN, b""),
    ];
    for second in seconds {
        let segments = [client(0, 0, ACK, "sixteen bytes ok"), Seg { time_ms: 40, ..second }];
        let at_once = config().with_midstream_bytes(0);
        let (waiting, ledger) = run(&config(), &segments);
        let (flows, other) = run(&at_once, &segments);
        assert_eq!(waiting, flows, "{segments:?}");
        assert!(ledger.fates().eq(other.fates()));
    }
    // After the timeout it is another stream.
    let config = config().with_inactivity_timeout(Some(Duration::from_millis(1)));
    let segments = [client(0, 0, ACK, "early"), Seg { time_ms: 40, ..client(5, 0, ACK, "late") }];
    let (streams, _) = run(&config, &segments);
    assert_eq!(streams[&1].closed.as_deref(), Some("timeout"));
    assert_eq!(streams[&2].bytes[0], b"late");
}

/// When their memory is full the oldest end, and everything is reported.
#[test]
fn lone_packets_are_bounded() {
    let config = config().with_midstream_bytes(10_000);
    let segments: Vec<Seg> = (1..=1000).map(|port| Seg { client_port: port, ..client(0, 0, ACK, "forged") }).collect();
    let (streams, ledger) = run(&config, &segments);
    assert_eq!(streams.len(), 1000);
    assert!(streams.values().all(|log| log.bytes[0] == b"forged"));
    let evicted = streams.values().filter(|log| log.closed.as_deref() == Some("evicted")).count();
    assert!((900..1000).contains(&evicted) && ledger.evicted == evicted as u64, "{evicted}");
    assert!(
        streams[&1].closed.as_deref() == Some("evicted") && streams[&1000].closed.as_deref() == Some("end_of_input")
    );
}

/// What arrives of a stream, in the order in which it is delivered: its side, time and bytes.
#[derive(Default)]
struct InOrder(Vec<(usize, u64, Vec<u8>)>);

impl Handler for InOrder {
    type Data = ();

    fn data(&mut self, _: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        self.0.push((
            chunk.direction as usize,
            (chunk.timestamp.as_nanos() - 1_000_000_000) / 1_000_000,
            chunk.bytes.to_vec(),
        ));
    }
}

fn in_order(segments: &[Seg]) -> Vec<(usize, u64, Vec<u8>)> {
    let mut feed = Feed::new(&config(), InOrder::default());
    feed.segments(segments);
    feed.finish().0.0
}

/// Answers of `bytes` to requests, each with its acknowledgment; the first request was not captured.
fn answers_first(turns: u32, bytes: usize) -> Vec<Seg> {
    let answer = "a".repeat(bytes);
    let mut segments = Vec::new();
    for turn in 0..turns {
        let (c, s) = (7 * turn, bytes as u32 * turn);
        segments.push(server(s, c, ACK | PSH, &answer));
        segments.push(client(c, s + bytes as u32, ACK, ""));
        segments.push(client(c, s + bytes as u32, ACK | PSH, "request"));
        segments.push(server(s + bytes as u32, c + 7, ACK, ""));
    }
    for (time, segment) in segments.iter_mut().enumerate() {
        segment.time_ms = time as u64;
    }
    segments
}

/// Who spoke first is known by the order of both directions, so that is kept however long they wait: to the end, or
/// until one has waited for enough.
#[test]
fn both_directions_are_delivered_in_the_order_of_their_arrival() {
    for (turns, bytes) in [(1, 10), (4, 10), (40, 10), (3000, 10), (300, 1000), (40, 40_000)] {
        let segments = answers_first(turns, bytes);
        let expected: Vec<(usize, u64, usize)> =
            (0..turns).flat_map(|turn| [(1, u64::from(4 * turn), bytes), (0, u64::from(4 * turn + 2), 7)]).collect();
        let found = in_order(&segments);
        // Who is the client is not known: here it is who spoke first.
        let found: Vec<_> = found.into_iter().map(|(side, ms, bytes)| (1 - side, ms, bytes.len())).collect();
        assert_eq!(found, expected, "{turns} turns, {bytes} bytes");
    }
}

/// The answer to a SYN says where the other side begins.
#[test]
fn a_side_whose_syn_alone_is_missing_need_not_wait() {
    let mut segments = vec![server(u32::MAX, 0, SYN | ACK, ""), client(0, 0, ACK, "")];
    segments.extend([client(0, 0, ACK | PSH, "request"), server(0, 7, ACK | PSH, "answer"), client(7, 6, ACK, "")]);
    for (time, segment) in segments.iter_mut().enumerate() {
        segment.time_ms = time as u64;
    }
    assert_eq!(in_order(&segments), [(0, 2, b"request".to_vec()), (1, 3, b"answer".to_vec())]);
}
