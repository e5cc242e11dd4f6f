//! Streams longer than the sequence numbers: offsets go on beyond 2^32.

use crate::common::*;
use tidewire_core::{AnomalyKind, Chunk, Direction, EndReason, Gap, Handler, Mode, Stream, wire::LinkType};

const C: u32 = 4_000_000_000;
const S: u32 = 5000;
/// What a segment states, of which only the first bytes were captured.
const STATED: usize = 60_000;
const CAPTURED: usize = 8;

/// Adds up gaps; keeps the bytes that were delivered, with their offsets.
#[derive(Default)]
struct Sums {
    reached: u64,
    gap_bytes: u64,
    gaps: u64,
    pieces: Vec<(u64, Vec<u8>)>,
    retransmitted: u64,
    reassembled: u64,
    end: Option<&'static str>,
}

impl Handler for Sums {
    type Data = ();

    fn data(&mut self, _: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        if chunk.direction == Direction::ClientToServer {
            assert_eq!(self.reached, chunk.offset);
            self.reached += chunk.bytes.len() as u64;
            self.pieces.push((chunk.offset, chunk.bytes.to_vec()));
        }
    }

    fn gap(&mut self, _: &mut Stream<'_, ()>, gap: Gap) {
        assert_eq!(self.reached, gap.offset);
        self.reached += gap.bytes;
        self.gap_bytes += gap.bytes;
        self.gaps += 1;
    }

    fn close(&mut self, stream: &mut Stream<'_, ()>, reason: EndReason) {
        let stats = stream.stats(Direction::ClientToServer);
        (self.retransmitted, self.reassembled) = (stats.retransmitted_bytes, stats.reassembled_bytes);
        self.end = Some(reason.name());
    }
}

fn seq(offset: u64) -> u32 {
    C.wrapping_add(1).wrapping_add(offset as u32)
}

/// A handshake that allows the largest windows.
fn open(feed: &mut Feed<Sums>) {
    let [syn, answer, last] = <[Seg; 3]>::try_from(handshake(C, S)).expect("three segments");
    for segment in [syn, answer] {
        feed.segment(&Seg { options: vec![1, 3, 3, 14], ..segment });
    }
    feed.segment(&last);
}

/// Three times around, one segment after the other, with what the fast path and the slow path must distinguish.
#[test]
fn streams_go_on_beyond_the_numbers() {
    const SEGMENTS: u64 = 3 * (1 << 32) / STATED as u64 + 10;
    let mut feed = Feed::new(&config(), Sums::default());
    open(&mut feed);
    // The frames are the same but for a few fields: made once, and changed.
    let mut frame = Seg::new(true, 0, S + 1, ACK, &vec![b'x'; STATED]).bytes();
    let mut answer = Seg::new(false, S + 1, 0, ACK, b"").bytes();
    let mut send = |feed: &mut Feed<Sums>, number: u64| {
        frame[24..28].copy_from_slice(&seq(number * STATED as u64).to_be_bytes());
        frame[40..48].copy_from_slice(&number.to_be_bytes());
        feed.packet(LinkType::RAW, &frame, STATED - CAPTURED, number);
    };
    for number in 0..SEGMENTS {
        match number % 1000 {
            // Swapped with the next, and the next with it.
            500 => send(&mut feed, number + 1),
            501 => send(&mut feed, number - 1),
            // Sent again: a second of nothing, however far around it is.
            700 => {
                send(&mut feed, number);
                send(&mut feed, number);
            }
            _ => send(&mut feed, number),
        }
        if number % 1000 != 500 {
            answer[28..32].copy_from_slice(&seq((number + 1) * STATED as u64).to_be_bytes());
            feed.packet(LinkType::RAW, &answer, 0, number);
        }
    }
    let end = SEGMENTS * STATED as u64;
    feed.segment(&Seg::new(true, seq(end), S + 1, ACK | FIN, b"the end"));
    feed.segment(&Seg::new(false, S + 1, seq(end + 8), ACK | FIN, b""));
    let (sums, ledger) = feed.finish();
    assert!(end > 3 << 32);
    assert_eq!((sums.reached, sums.end), (end + 7, Some("fin")));
    assert_eq!(sums.gap_bytes, SEGMENTS * (STATED - CAPTURED) as u64);
    assert_eq!(sums.retransmitted, (0..SEGMENTS).filter(|number| number % 1000 == 700).count() as u64 * STATED as u64);
    assert_eq!(sums.reassembled, SEGMENTS * CAPTURED as u64 + 7);
    assert_eq!(sums.pieces.len() as u64, SEGMENTS + 1);
    let (last, pieces) = sums.pieces.split_last().expect("pieces");
    for (number, (offset, bytes)) in pieces.iter().enumerate() {
        assert_eq!((*offset, &bytes[..]), ((number * STATED) as u64, &(number as u64).to_be_bytes()[..]));
    }
    assert_eq!(*last, (end, b"the end".to_vec()));
    let odd = AnomalyKind::ALL.iter().filter(|kind| ledger.anomaly(**kind) > 0);
    assert_eq!(odd.collect::<Vec<_>>(), [&AnomalyKind::ListFull], "more gaps than are listed, and nothing else");
}

/// Leaps of nearly a gigabyte, each a hole that is given up: what the window scale of RFC 7323 allows.
#[test]
fn holes_of_gigabytes() {
    const LEAP: u64 = 1_000_000_000;
    let config = config().with_mode(Mode::Fast).with_hole_segments_fast(1);
    let mut feed = Feed::new(&config, Sums::default());
    open(&mut feed);
    for leap in 0..20 {
        let at = leap * LEAP;
        feed.segment(&Seg::new(true, seq(at), S + 1, ACK, b"ab"));
        feed.segment(&Seg::new(true, seq(at + 2), S + 1, ACK, b"cd"));
        // What lies a gigabyte back is old, and not four gigabytes ahead.
        if leap > 0 {
            feed.segment(&Seg::new(true, seq(at - LEAP), S + 1, ACK, b"ab"));
        }
        feed.segment(&Seg::new(false, S + 1, seq(at + 4), ACK, b""));
    }
    let (sums, _) = feed.finish();
    assert_eq!(sums.reached, 19 * LEAP + 4);
    assert_eq!((sums.gaps, sums.gap_bytes), (19, 19 * (LEAP - 4)));
    assert_eq!(sums.retransmitted, 19 * 2);
    let offsets: Vec<u64> = sums.pieces.iter().map(|piece| piece.0).collect();
    assert_eq!(offsets, (0..20).flat_map(|leap| [leap * LEAP, leap * LEAP + 2]).collect::<Vec<_>>());
}

/// Datagrams have no sequence numbers that wrap.
#[test]
fn datagrams_go_on_beyond_four_gigabytes() {
    let mut feed = Feed::new(&config(), Sums::default());
    let frame = udp(1, &vec![b'x'; STATED]);
    let count = (1 << 32) / STATED as u64 + 2;
    for number in 0..count {
        feed.packet(LinkType::RAW, &frame, STATED - CAPTURED, number);
    }
    let sums = feed.finish().0;
    assert_eq!(sums.reached, count * STATED as u64);
    assert_eq!(sums.pieces.last().map(|piece| piece.0), Some((count - 1) * STATED as u64));
}
