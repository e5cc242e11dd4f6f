//! How bytes are delivered: chunks that are kept or flushed, streams that are discarded, preferred or shed.

use std::time::Duration;
use tidewire_types::Timestamp;

use crate::common::*;
use tidewire_core::{
    Chunk, Config, Direction, EndReason, Fate, Gap, GapCause, Handler, Outside, OutsidePacket, Stream, Unfinished,
    wire::LinkType,
};

const MILLISECOND: u64 = 1_000_000;

/// Keeps chunks as often as configured, and records all events.
#[derive(Default)]
struct Keeper {
    keep: usize,
    chunks: Vec<(u64, String, usize)>,
    largest: usize,
}

impl Handler for Keeper {
    type Data = ();

    fn data(&mut self, stream: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        if self.keep > 0 {
            self.keep -= 1;
            stream.keep_chunk();
        }
        self.largest = self.largest.max(chunk.bytes.len());
        let text = String::from_utf8_lossy(&chunk.bytes[..chunk.bytes.len().min(40)]).into_owned();
        self.chunks.push((chunk.offset, text, chunk.repeated_bytes));
    }
}

fn kept(config: &Config, keep: usize, payloads: &[&[u8]]) -> Keeper {
    let mut feed = Feed::new(config, Keeper { keep, ..Keeper::default() });
    for payload in payloads {
        feed.ip(&udp(1000, payload), 1);
    }
    feed.finish().0
}

#[test]
fn a_kept_chunk_comes_again_with_the_next() {
    let config = config().with_chunk_bytes(4);
    let all: &[&[u8]] = &[b"abc", b"defgh", b"ijklmn"];
    let none = kept(&config, 0, all);
    let chunk = |offset, text: &str, repeated| (offset, text.to_owned(), repeated);
    assert_eq!(none.chunks, [chunk(0, "abcd", 0), chunk(4, "efgh", 0), chunk(8, "ijkl", 0), chunk(12, "mn", 0)]);
    let once = kept(&config, 1, all);
    assert_eq!(once.chunks, [chunk(0, "abcd", 0), chunk(0, "abcdefgh", 4), chunk(8, "ijkl", 0), chunk(12, "mn", 0)]);
    let twice = kept(&config, 2, all);
    assert_eq!(
        twice.chunks,
        [chunk(0, "abcd", 0), chunk(0, "abcdefgh", 4), chunk(0, "abcdefghijkl", 8), chunk(12, "mn", 0)]
    );
    // Overlap is what remains when a chunk is not kept.
    let overlapping = kept(&config.with_overlap_bytes(1), 1, all);
    assert_eq!(overlapping.chunks[1], chunk(0, "abcdefgh", 4));
    assert_eq!(overlapping.chunks[2], chunk(7, "hijk", 1));
}

/// Chunks are pieces of a stream without holes: what was kept ends at a gap, as overlap does.
#[test]
fn a_kept_chunk_is_gone_after_a_gap() {
    let chunk = |offset, text: &str, repeated| (offset, text.to_owned(), repeated);
    for (keep, overlap_bytes) in [(usize::MAX, 0), (0, 2)] {
        let config = config().with_chunk_bytes(4).with_overlap_bytes(overlap_bytes);
        let mut feed = Feed::new(&config, Keeper { keep, ..Keeper::default() });
        feed.segments(&handshake(100, 500));
        let segment = |seq: u32, payload: &[u8]| Seg::new(true, seq, 501, ACK, payload);
        feed.segments(&[segment(101, b"abcd"), segment(115, b"opqr")]);
        let keeper = feed.finish().0;
        assert_eq!(keeper.chunks, [chunk(0, "abcd", 0), chunk(14, "opqr", 0)]);
    }
}

#[test]
fn a_chunk_that_is_always_kept_is_let_go_at_its_bound() {
    let config = config().with_chunk_bytes(1 << 20);
    let payload = vec![b'x'; 1 << 15];
    let payloads: Vec<&[u8]> = vec![&payload; 17 * 32];
    let keeper = kept(&config, usize::MAX, &payloads);
    assert_eq!(keeper.largest, 16 << 20);
    let last = keeper.chunks.last().expect("chunks");
    assert_eq!((last.0, last.2), (16 << 20, 0), "the next one starts empty");
}

#[test]
fn a_chunk_is_flushed_when_its_time_is_over() {
    let config = config().with_chunk_bytes(100).with_flush_timeout(Some(Duration::from_millis(1_000)));
    let mut feed = Feed::new(&config, Keeper::default());
    feed.ip(&udp(1, b"ab"), 5_000 * MILLISECOND);
    feed.ip(&udp(1, b"cd"), 5_900 * MILLISECOND);
    // Time passes by the packets of any flow.
    feed.ip(&udp(2, b""), 6_000 * MILLISECOND - 1);
    assert!(feed.engine.handler().chunks.is_empty());
    feed.ip(&udp(2, b""), 6_000 * MILLISECOND);
    assert_eq!(feed.engine.handler().chunks, [(0, "abcd".to_owned(), 0)]);
    // The next chunk has its own timeout, from its first byte on.
    feed.ip(&udp(1, b"ef"), 6_500 * MILLISECOND);
    feed.ip(&udp(2, b""), 7_499 * MILLISECOND);
    assert_eq!(feed.engine.handler().chunks.len(), 1);
    // A packet of the flow itself is no part of the chunk whose time is over.
    feed.ip(&udp(1, b"gh"), 7_500 * MILLISECOND);
    assert_eq!(feed.engine.handler().chunks[1..], [(4, "ef".to_owned(), 0)]);
    let keeper = feed.finish().0;
    assert_eq!(keeper.chunks[2..], [(6, "gh".to_owned(), 0)]);
}

/// When streams began and ended.
#[derive(Default)]
struct Ends(Vec<(u64, &'static str)>);

impl Handler for Ends {
    type Data = ();

    fn close(&mut self, stream: &mut Stream<'_, ()>, reason: EndReason) {
        self.0.push((stream.id(), reason.name()));
    }
}

#[test]
fn a_silent_flow_ends_after_its_timeout() {
    let config = config().with_inactivity_timeout(Some(Duration::from_millis(10_000)));
    let mut feed = Feed::new(&config, Ends::default());
    feed.ip(&udp(1, b"a"), MILLISECOND);
    feed.ip(&udp(1, b"b"), 10_001 * MILLISECOND);
    feed.ip(&udp(1, b"c"), 20_001 * MILLISECOND + 1);
    assert_eq!(feed.engine.handler().0, [(1, "timeout")], "exactly the timeout is not beyond it");
    // Others' packets let time pass, too.
    feed.ip(&udp(2, b"d"), 60_000 * MILLISECOND);
    feed.ip(&udp(2, b"d"), 64_000 * MILLISECOND);
    assert_eq!(feed.engine.handler().0, [(1, "timeout"), (3, "timeout")]);
    assert_eq!(feed.finish().0.0[2..], [(4, "end_of_input")]);

    let never = config.with_inactivity_timeout(None);
    let mut feed = Feed::new(&never, Ends::default());
    feed.ip(&udp(1, b"a"), 0);
    feed.ip(&udp(1, b"b"), 100_000_000 * MILLISECOND);
    assert_eq!(feed.finish().0.0, [(1, "end_of_input")]);
}

/// Discards a stream when its third byte came.
#[derive(Default)]
struct Discarder {
    bytes: Vec<u8>,
    gaps: Vec<Gap>,
    closed: Vec<(u64, u64)>,
}

impl Handler for Discarder {
    type Data = ();

    fn data(&mut self, stream: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        self.bytes.extend(chunk.bytes);
        if self.bytes.len() >= 3 {
            stream.discard();
        }
    }

    fn gap(&mut self, _: &mut Stream<'_, ()>, gap: Gap) {
        self.gaps.push(gap);
    }

    fn close(&mut self, stream: &mut Stream<'_, ()>, _: EndReason) {
        let stats = stream.stats(Direction::ClientToServer);
        self.closed.push((stats.payload_wire_bytes, stats.delivered_bytes));
    }
}

#[test]
fn a_discarded_stream_is_counted_and_not_delivered() {
    let mut feed = Feed::new(&config(), Discarder::default());
    feed.segments(&handshake(1000, 5000));
    for (at, payload) in ["ab", "cd", "ef", "gh"].iter().enumerate() {
        feed.segment(&Seg::new(true, 1001 + 2 * at as u32, 5001, ACK, payload.as_bytes()));
    }
    feed.segment(&Seg::new(false, 5001, 1009, ACK, b"reply"));
    feed.segment(&Seg::new(true, 1009, 5006, ACK, b""));
    let (handler, ledger) = feed.finish();
    assert_eq!(handler.bytes, b"abcd", "the pending chunk at the time of the discard was complete");
    assert_eq!(handler.closed, [(8, 4)]);
    assert_eq!(fate(&ledger, Fate::Discarded), 3);
    let sides = [Direction::ClientToServer, Direction::ServerToClient];
    let gap = |side: usize, offset, bytes| Gap::new(sides[side], offset, bytes, GapCause::Cutoff);
    assert_eq!(handler.gaps, [gap(0, 4, 4), gap(1, 0, 5)]);
}

/// Gives each stream the priority of its port, modulo 8, and counts what was shed.
#[derive(Default)]
struct Preferring {
    shed: [u64; 8],
    shed_gaps: u64,
    priorities: Vec<u8>,
}

impl Handler for Preferring {
    type Data = ();

    fn open(&mut self, stream: &mut Stream<'_, ()>) {
        stream.set_priority((stream.key().client.port % 8) as u8);
        self.priorities.push(stream.priority());
    }

    fn gap(&mut self, _: &mut Stream<'_, ()>, gap: Gap) {
        self.shed_gaps += u64::from(gap.cause == GapCause::Shed);
    }

    fn close(&mut self, stream: &mut Stream<'_, ()>, _: EndReason) {
        let stats = stream.stats(Direction::ClientToServer);
        assert_eq!(stats.shed_bytes, stats.shed_packets * 100);
        self.shed[usize::from(stream.priority())] += stats.shed_packets;
    }
}

#[test]
fn priorities_are_those_that_exist() {
    let mut feed = Feed::new(&config().with_priorities(3), Preferring::default());
    for port in 1000..1005_u16 {
        feed.ip(&udp(port, b""), 0);
    }
    assert_eq!(feed.finish().0.priorities, [0, 1, 2, 2, 2]);
}

/// Scap's rule, with other arithmetic: of n priorities, i is shed above base + (1 - base) (i + 1) / n of the memory,
/// and above base + (1 - base) i / n where the stream has had its share.
#[test]
fn the_watermarks_are_exact() {
    const MEMORY: u64 = 4 << 20;
    const OVERLOAD: u64 = 100;
    let config = config()
        .with_shed(true)
        .with_priorities(4)
        .with_base_threshold_permille(400)
        .with_overload_cutoff_bytes(Some(OVERLOAD))
        .with_memory_bytes(MEMORY)
        .with_fragment_memory_bytes(0)
        .with_chunk_bytes(1000);
    // As many flows as the memory just holds with the first packet of each.
    let mut one = Feed::new(&config, Preferring::default());
    one.ip(&udp(1000, &[b'x'; 100]), 0);
    let flows = MEMORY / 100 * 91 / one.engine.buffered_bytes();
    let mut feed = Feed::new(&config, Preferring::default());
    let (mut expected, mut reached) = ([0_u64; 8], vec![0_u64; 65_536]);
    let mark = |i: u64| MEMORY as f64 * (0.4 + 0.6 * i as f64 / 4.0);
    let mut regions = [0_u64; 5];
    for step in 0..48_000_u64 {
        // Flows of all priorities; each sends a second time long after its first.
        let flow = if step % 3 == 2 { step / 3 } else { step / 3 * 2 + step % 3 };
        let port = (1000 + flow % flows) as u16;
        let priority = u64::from(port % 8).min(3);
        let used = feed.engine.buffered_bytes() as f64;
        let is_shed = used > mark(priority + 1) || used > mark(priority) && reached[usize::from(port)] >= OVERLOAD;
        regions[(0..4).filter(|&i| used > mark(i)).count()] += 1;
        feed.ip(&udp(port, &[b'x'; 100]), step);
        reached[usize::from(port)] += 100;
        expected[priority as usize] += u64::from(is_shed);
        let shed = feed.engine.ledger().shed_by_priority().map(|(_, count)| count);
        assert!(shed.eq(expected), "step {step}, {used} of {MEMORY} used, priority {priority}");
    }
    assert!(regions.iter().all(|&packets| packets > 100), "every region was reached: {regions:?}");
    let (handler, ledger) = feed.finish();
    assert_eq!(handler.shed, expected);
    let sum: u64 = expected.iter().sum();
    assert_eq!((fate(&ledger, Fate::Shed), handler.shed_gaps), (sum, sum));
    assert!(expected[0] > expected[1] && expected[1] > expected[2] && expected[3] > 0, "{expected:?}");
    assert!(ledger.buffered_bytes_max <= MEMORY);
}

/// Nothing follows a FIN: neither the chunk's size nor its time is waited for, nor the end of the connection.
#[test]
fn a_chunk_is_delivered_with_the_fin_of_its_direction() {
    let config = config().with_chunk_bytes(100).with_flush_timeout(Some(Duration::from_millis(1_000)));
    let mut feed = Feed::new(&config, Keeper::default());
    let mut begun = handshake(100, 500);
    begun.push(Seg::new(true, 101, 501, ACK, b"abc"));
    // It waits behind a hole.
    begun.push(Seg::new(true, 107, 501, FIN | ACK, b"ghi"));
    feed.segments(&begun);
    assert!(feed.engine.handler().chunks.is_empty());
    feed.segment(&Seg::new(true, 104, 501, ACK, b"def"));
    assert_eq!(feed.engine.handler().chunks, [(0, "abcdefghi".to_owned(), 0)]);
    // The other direction goes on.
    feed.segment(&Seg::new(false, 501, 111, ACK, b"an"));
    assert_eq!(feed.engine.handler().chunks.len(), 1);
    feed.segment(&Seg::new(false, 503, 111, FIN | ACK, b"swer"));
    assert_eq!(feed.engine.handler().chunks[1..], [(0, "answer".to_owned(), 0)]);
    assert_eq!(feed.finish().0.chunks.len(), 2);
}

/// Conversations without an answer, and packets of no stream.
#[derive(Default)]
struct Watcher {
    unfinished: Vec<(u64, u8)>,
    outside: Vec<Outside>,
    closed: Vec<(u64, bool)>,
}

impl Handler for Watcher {
    type Data = ();
    const UNFINISHED: bool = true;
    const OUTSIDE: bool = true;

    fn unfinished(&mut self, unfinished: &Unfinished) {
        self.unfinished.push((unfinished.id, unfinished.key.proto));
    }

    fn outside(&mut self, packet: OutsidePacket<'_>) {
        self.outside.push(packet.why);
    }

    fn close(&mut self, stream: &mut Stream<'_, ()>, _: EndReason) {
        self.closed.push((stream.id(), stream.was_unfinished()));
    }
}

/// Visits of streams: the packets' clock, and packets so far.
#[derive(Default)]
struct Visitor(std::collections::BTreeMap<u64, Vec<(u64, u64)>>);

impl Handler for Visitor {
    type Data = ();
    const VISITS: bool = true;

    fn visit(&mut self, stream: &mut Stream<'_, ()>, clock: Timestamp) {
        let packets = stream.stats(Direction::ClientToServer).packets;
        self.0.entry(stream.id()).or_default().push((clock.as_nanos(), packets));
    }
}

#[test]
fn streams_that_go_on_are_visited_within_four_seconds() {
    let mut feed = Feed::new(&config(), Visitor::default());
    let begun = 1_000_000 * MILLISECOND;
    for index in 0..300 {
        // One is silent, the other has a packet every 100 ms.
        if index == 0 {
            feed.ip(&udp(1000, b"question"), begun);
        }
        feed.ip(&udp(9999, b"x"), begun + index * 100 * MILLISECOND);
    }
    let visits = &feed.engine.handler().0;
    assert_eq!(visits.len(), 2);
    for (id, visits) in visits {
        assert!(visits.windows(2).all(|pair| pair[1].0 - pair[0].0 <= 5_000 * MILLISECOND), "{id}: {visits:?}");
        assert!(
            visits.last().is_some_and(|(clock_ns, _)| *clock_ns >= begun + 25_000 * MILLISECOND),
            "{id}: {visits:?}"
        );
        assert!(visits.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{id}: {visits:?}");
    }
}

#[test]
fn what_is_not_answered_is_reported_once() {
    let config = config().with_unfinished_after(Duration::from_millis(1_000));
    let mut feed = Feed::new(&config, Watcher::default());
    let mut now = 1_000_000 * MILLISECOND;
    // 1: a SYN; 2: a datagram; 3 and 4: a SYN with its SYN-ACK; 5 to 7: a handshake.
    feed.ip(&Seg::new(true, 100, 0, SYN, b"").bytes(), now);
    feed.ip(&udp(1000, b"question"), now);
    let on = |seg: Seg, port| Seg { client_port: port, ..seg }.bytes();
    feed.ip(&on(Seg::new(true, 100, 0, SYN, b""), 2000), now);
    feed.ip(&on(Seg::new(false, 500, 101, SYN | ACK, b""), 2000), now);
    for seg in handshake(100, 500) {
        feed.ip(&on(seg, 3000), now);
    }
    // Time passes by other packets; the sweep visits all within four seconds.
    for _ in 0..80 {
        now += 100 * MILLISECOND;
        feed.ip(&udp(9999, b"x"), now);
    }
    let mut found = feed.engine.handler().unfinished.clone();
    found.sort_unstable();
    assert_eq!(found, [(1, 6), (2, 17), (3, 6), (8, 17)]);
    let (watcher, _) = feed.finish();
    assert_eq!(watcher.unfinished.len(), 4);
    let mut closed = watcher.closed;
    closed.sort_unstable();
    assert_eq!(closed, [(1, true), (2, true), (3, true), (5, false), (8, true)]);
}

#[test]
fn packets_of_no_stream_are_shown_once() {
    let mut feed = Feed::new(&config(), Watcher::default());
    let mut arp = vec![0; 42];
    arp[12..14].copy_from_slice(&[8, 6]);
    feed.packet(LinkType::ETHERNET, &arp, 0, 1);
    feed.ip(&[0x4f; 20], 2);
    feed.ip(&udp(1, b"x"), 3);
    let (watcher, ledger) = feed.finish();
    assert_eq!(watcher.outside.len(), 2, "{:?}", watcher.outside);
    assert!(watcher.outside[0] == Outside::Arp && matches!(watcher.outside[1], Outside::Malformed(Some(_))));
    assert_eq!((fate(&ledger, Fate::Arp), fate(&ledger, Fate::Malformed)), (1, 1));
}
