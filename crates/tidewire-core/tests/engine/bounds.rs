//! Each bound by itself: what is reached, what happens then, and what is counted.

use std::time::Duration;

use crate::common::*;
use tidewire_core::{AnomalyKind, Chunk, Config, Direction, EndReason, Fate, Gap, Handler, Ledger, Stream};

const C: u32 = 1000;
const S: u32 = 5000;
const SECOND: u64 = 1_000_000_000;

/// Everything else is out of reach.
fn roomy() -> Config {
    config()
        .with_stream_buffer_bytes(u64::MAX >> 1)
        .with_source_buffer_bytes(Some(u64::MAX >> 1))
        .with_stream_holes_max(u32::MAX)
        .with_holes_max(u32::MAX)
        .with_hole_segments_strict(u32::MAX)
}

fn anomalies(ledger: &Ledger, kind: AnomalyKind) -> u64 {
    ledger.anomaly(kind)
}

fn client(port: u16, offset: u32, payload: &[u8]) -> Seg {
    Seg { client_port: port, ..Seg::new(true, C + 1 + offset, S + 1, ACK, payload) }
}

fn opened(port: u16) -> Vec<Seg> {
    handshake(C, S).into_iter().map(|segment| Seg { client_port: port, ..segment }).collect()
}

/// One hole before each of `count` runs of `bytes`, the first byte missing.
fn holes(port: u16, count: u32, bytes: usize) -> Vec<Seg> {
    let mut segments = opened(port);
    segments.extend((0..count).map(|run| client(port, 1 + run * (bytes as u32 + 1), &vec![b'x'; bytes])));
    segments
}

/// Bytes that were delivered before the input ended.
#[derive(Default)]
struct Early {
    bytes: u64,
    gaps: Vec<(u64, u64, &'static str)>,
    ended: Vec<(u64, &'static str)>,
    open: usize,
    lists: [usize; 3],
    last_anomaly: Option<AnomalyKind>,
    missing: u64,
}

impl Handler for Early {
    type Data = ();

    fn open(&mut self, _: &mut Stream<'_, ()>) {
        self.open += 1;
    }

    fn data(&mut self, _: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        self.bytes += chunk.bytes.len() as u64;
    }

    fn gap(&mut self, _: &mut Stream<'_, ()>, gap: Gap) {
        self.gaps.push((gap.offset, gap.bytes, gap.cause.name()));
    }

    fn close(&mut self, stream: &mut Stream<'_, ()>, reason: EndReason) {
        self.open -= 1;
        self.ended.push((stream.id(), reason.name()));
        let side = Direction::ClientToServer;
        self.lists = [stream.anomalies().len(), stream.gaps().len(), stream.conflicts(side).len()];
        self.last_anomaly = stream.anomalies().last().map(|odd| odd.kind);
        self.missing = stream.stats(side).missing_bytes;
    }
}

#[test]
fn holes_of_a_direction_are_bounded() {
    let config = roomy().with_stream_holes_max(3);
    let mut feed = Feed::new(&config, Early::default());
    feed.segments(&holes(1, 3, 2));
    assert_eq!(feed.engine.handler().gaps, []);
    feed.segment(&client(1, 10, b"xx"));
    let early = feed.engine.handler();
    assert_eq!((early.gaps.as_slice(), early.bytes), (&[(0, 1, "not_captured")][..], 2));
    let (early, ledger) = feed.finish();
    assert_eq!((early.bytes, early.gaps.len()), (8, 4));
    assert_eq!(anomalies(&ledger, AnomalyKind::HoleLimit), 1);
    assert_eq!(anomalies(&ledger, AnomalyKind::BufferLimit), 0);
}

#[test]
fn holes_in_all_are_bounded() {
    let config = roomy().with_holes_max(10);
    let mut feed = Feed::new(&config, Early::default());
    for port in 1..=10 {
        feed.segments(&holes(port, 1, 2));
    }
    assert_eq!(feed.engine.handler().gaps.len(), 0);
    feed.segments(&holes(11, 1, 2));
    assert_eq!(feed.engine.handler().gaps.len(), 1, "who makes one more gives one up");
    let (_, ledger) = feed.finish();
    assert_eq!(anomalies(&ledger, AnomalyKind::HoleLimit), 1);
}

#[test]
fn bytes_of_a_direction_are_bounded() {
    let config = roomy().with_stream_buffer_bytes(10_000);
    let mut feed = Feed::new(&config, Early::default());
    feed.segments(&holes(1, 8, 1000));
    assert_eq!(feed.engine.handler().bytes, 0);
    let mut most = 0;
    for run in 8..60 {
        feed.segment(&client(1, 1 + run * 1001, &[b'x'; 1000]));
        most = most.max(feed.engine.buffered_bytes());
    }
    assert!(most > 8_000 && most < 14_000, "{most}");
    let early = feed.engine.handler();
    assert!(early.bytes >= 49_000, "{}", early.bytes);
    let (early, ledger) = feed.finish();
    assert_eq!((early.bytes, early.gaps.len()), (60_000, 60));
    assert_eq!(anomalies(&ledger, AnomalyKind::BufferLimit), 1, "noted once");
    assert_eq!(anomalies(&ledger, AnomalyKind::HoleLimit), 0);
}

#[test]
fn bytes_that_nobody_acknowledges_are_bounded() {
    let config = roomy().with_stream_buffer_bytes(10_000);
    let mut feed = Feed::new(&config, Early::default());
    feed.segments(&opened(1));
    for run in 0..60 {
        let forged = Seg { ack: S.wrapping_sub(2_000_000), ..client(1, run * 1000, &[b'x'; 1000]) };
        feed.segment(&forged);
        assert!(feed.engine.buffered_bytes() < 14_000, "{}", feed.engine.buffered_bytes());
    }
    let (early, ledger) = feed.finish();
    assert_eq!(early.bytes, 0);
    assert_eq!(anomalies(&ledger, AnomalyKind::BufferLimit), 1);
}

/// From the server's address: another source than the client's.
fn from_server(port: u16, offset: u32, bytes: usize) -> Seg {
    Seg { client_port: port, ..Seg::new(false, S + 1 + offset, C + 1, ACK, &vec![b'x'; bytes]) }
}

#[test]
fn bytes_of_a_source_are_bounded() {
    let config = roomy().with_source_buffer_bytes(Some(20_000));
    let mut feed = Feed::new(&config, Early::default());
    for port in 1..=4 {
        feed.segments(&holes(port, 1, 3000));
    }
    assert_eq!(feed.engine.handler().gaps.len(), 0);
    for port in 5..=12 {
        feed.segments(&holes(port, 1, 3000));
    }
    let client_gaps = feed.engine.handler().gaps.len();
    assert!((4..9).contains(&client_gaps), "{client_gaps}");
    for port in 5..=8 {
        feed.segment(&from_server(port, 1, 3000));
    }
    assert_eq!(feed.engine.handler().gaps.len(), client_gaps, "the other side's bytes are another's");
    let (_, ledger) = feed.finish();
    assert_eq!(anomalies(&ledger, AnomalyKind::BufferLimit), client_gaps as u64);
}

#[test]
fn bytes_in_all_are_bounded() {
    const MEMORY: u64 = 400_000;
    let config = roomy().with_memory_bytes(MEMORY).with_fragment_memory_bytes(0);
    let mut feed = Feed::new(&config, Early::default());
    // Small holders first, and one who holds most.
    for port in 1..=5 {
        feed.segments(&holes(port, 1, 1000));
    }
    for port in 10..=45 {
        feed.segments(&holes(port, 10, 1000));
    }
    let early = feed.engine.handler();
    assert!(early.gaps.iter().all(|gap| gap.2 == "memory") && !early.gaps.is_empty());
    let (early, ledger) = feed.finish();
    assert!(ledger.buffered_bytes_max <= MEMORY, "{}", ledger.buffered_bytes_max);
    assert_eq!(early.bytes, 365_000, "what was there is delivered all the same");
    let few = early.gaps.iter().filter(|gap| gap.2 == "not_captured").count();
    assert!(few >= 5, "small holders kept their holes to the end");
}

#[test]
fn lists_end_and_counters_go_on() {
    let config = config().with_list_max(4).with_hole_segments_strict(1).with_hole_bytes_strict(0);
    let mut feed = Feed::new(&config, Early::default());
    let mut segments = opened(1);
    for round in 0..10 {
        let at = round * 20;
        segments.push(client(1, at, b"abcdefgh"));
        // Another version of what was delivered: in two places.
        segments.push(client(1, at, b"XbcdefgX"));
        // A hole of four bytes, given up because it is acknowledged.
        segments.push(client(1, at + 12, b"ijklmnop"));
        segments.push(from_server(1, 0, 0));
        segments.last_mut().expect("a segment").ack = C + 1 + at + 20;
    }
    feed.segments(&segments);
    let (early, ledger) = feed.finish();
    assert_eq!(early.lists, [4, 4, 4], "anomalies, gaps, conflicts");
    assert_eq!(early.last_anomaly, Some(AnomalyKind::ListFull));
    assert_eq!(early.gaps.len(), 10, "every gap is reported");
    assert_eq!(early.missing, 40);
    assert_eq!(anomalies(&ledger, AnomalyKind::OverlapConflict), 20);
    assert_eq!(anomalies(&ledger, AnomalyKind::ListFull), 1);
}

fn one_packet(port: u16) -> Vec<u8> {
    udp(port, b"x")
}

fn reply(port: u16) -> Vec<u8> {
    let mut bytes = one_packet(port);
    bytes[12..20].copy_from_slice(&[10, 0, 0, 2, 10, 0, 0, 1]);
    let (from, to) = (bytes[20..22].to_vec(), bytes[22..24].to_vec());
    bytes[20..22].copy_from_slice(&to);
    bytes[22..24].copy_from_slice(&from);
    bytes
}

/// First what is over, then what was never answered, then what was silent longest.
#[test]
fn a_full_table_gives_up_who_is_missed_least() {
    let config = config().with_flows_max(Some(6));
    let mut feed = Feed::new(&config, Early::default());
    // 1: over. 2, 3: answered, at 20 s and 30 s. 4, 5: never answered. 6: answered, silent longest of all but 1.
    feed.segments(&opened(1));
    feed.segment(&Seg { client_port: 1, ..Seg::new(true, C + 1, 0, RST, b"") });
    let ids = [1, 5, 7, 9, 10, 11];
    for (port, second) in [(2, 20), (3, 30)] {
        feed.ip(&one_packet(port), second * SECOND);
        feed.ip(&reply(port), second * SECOND);
    }
    feed.ip(&one_packet(4), 5 * SECOND);
    feed.ip(&one_packet(5), 31 * SECOND);
    feed.ip(&one_packet(6), 10 * SECOND);
    feed.ip(&reply(6), 10 * SECOND);
    assert_eq!((feed.engine.handler().open, feed.engine.handler().ended.len()), (6, 0));
    // Each newcomer is answered at once, so that it outranks those who never were.
    for port in 7..=12 {
        feed.ip(&one_packet(port), 40 * SECOND);
        assert_eq!(feed.engine.handler().open, 6);
        feed.ip(&reply(port), 40 * SECOND);
    }
    let expected = [
        (ids[0], "rst"),
        (ids[3], "evicted"),
        (ids[4], "evicted"),
        (ids[5], "evicted"),
        (ids[1], "evicted"),
        (ids[2], "evicted"),
    ];
    assert_eq!(feed.engine.handler().ended, expected);
    let (_, ledger) = feed.finish();
    assert_eq!((ledger.evicted, ledger.streams_open_max), (6, 6));
}

#[test]
fn a_full_table_stays_full_however_many_come() {
    let config = config().with_flows_max(Some(100));
    let mut feed = Feed::new(&config, Early::default());
    for port in 0..20_000_u16 {
        feed.ip(&one_packet(port), u64::from(port));
        assert!(feed.engine.handler().open <= 100);
    }
    let (early, ledger) = feed.finish();
    assert_eq!((early.ended.len(), ledger.evicted, early.bytes), (20_000, 19_900, 20_000));
    let none = config.with_flows_max(Some(0));
    let mut feed = Feed::new(&none, Early::default());
    feed.ip(&one_packet(1), 0);
    assert_eq!(fate(&feed.finish().1, Fate::NoRoom), 1);
}

#[test]
fn half_open_connections_time_out_by_themselves() {
    let config = config().with_half_open_timeout(Duration::from_secs(100));
    let mut feed = Feed::new(&config, Early::default());
    let syn = |port: u16, time_ms: u64| Seg { client_port: port, time_ms, ..Seg::new(true, C, 0, SYN, b"") };
    // A retransmission restarts the timeout.
    feed.segments(&[syn(1, 0), syn(2, 0), syn(2, 60_000), syn(3, 100_000)]);
    assert_eq!(feed.engine.handler().ended, []);
    feed.segment(&syn(4, 105_000));
    assert_eq!(feed.engine.handler().ended, [(1, "timeout")]);
    feed.segment(&syn(4, 165_000));
    assert_eq!(feed.engine.handler().ended, [(1, "timeout"), (2, "timeout")]);
    feed.finish();
}

/// Pieces of few bytes are not worth the bookkeeping of a hole each: 128, and one more for each 128 bytes that wait.
#[test]
fn tiny_pieces_are_bounded() {
    let config = roomy().with_stream_holes_max(512);
    let mut feed = Feed::new(&config, Early::default());
    feed.segments(&holes(1, 129, 1));
    assert_eq!(feed.engine.handler().gaps, []);
    feed.segments(&holes(2, 600, 1));
    let early = feed.engine.handler();
    assert!((460..=472).contains(&early.gaps.len()), "{}", early.gaps.len());
    let (early, ledger) = feed.finish();
    assert_eq!((early.bytes, early.gaps.len()), (129 + 600, 129 + 600));
    assert_eq!(anomalies(&ledger, AnomalyKind::HoleLimit), 1);
    // Pieces of some size have the whole bound.
    let mut feed = Feed::new(&config, Early::default());
    feed.segments(&holes(1, 513, 200));
    assert_eq!(feed.engine.handler().gaps.len(), 1);
}
