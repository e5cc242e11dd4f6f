//! Forged and random mappings: bytes keep their places, and memory its bound.

use super::{Connection, FIRST, Form, SECOND, SERVER_KEY, byte, bytes, nothing, of, option, token};
use crate::common::{ACK, Feed, InvariantChecker, Seg, config, fate, run, run_shared};
use proptest::prelude::*;
use tidewire_core::Fate;

#[test]
fn a_forged_mapping_gives_way_to_that_of_the_accepted_segment() {
    let mut connection = Connection::new(1);
    let mut segments = connection.both();
    segments.push(connection.data(FIRST, false, 0, 100));
    // An empty segment that maps the next bytes to another place.
    let forged = connection.signal(false, None, Some((5000, 101, 100)), false);
    segments.push(connection.segment(FIRST, false, ACK, forged, b""));
    segments.push(connection.data(FIRST, false, 100, 100));
    let (streams, _) = run(&config(), &segments);
    let first = of(&streams, FIRST);
    assert_eq!((&first.bytes[1], &first.gaps[1]), (&bytes(0, 200), &Vec::new()));
}

/// An attacker's connections, whose subflows hold bytes behind holes of the connection and mappings of nothing.
#[test]
fn memory_is_bounded_whatever_subflows_state() {
    let config = config().with_memory_bytes(1 << 20).with_stream_buffer_bytes(1 << 18);
    let mut feed = Feed::new(&config, InvariantChecker::default());
    let mut connection = Connection::new(1);
    feed.segments(&connection.open());
    for port in SECOND..SECOND + 200 {
        feed.segments(&connection.join(port, token(1, SERVER_KEY)));
        for round in 0..20_u64 {
            // Each in another place, behind a hole; and mappings of bytes that never come.
            let offset = 10 + u64::from(port) * 100_000 + round * 2000;
            feed.segment(&connection.data(port, false, offset, 1000));
            let far = connection.signal(false, None, Some((offset, 1_000_000 + round as u32 * 7, 3)), false);
            feed.segment(&connection.segment(port, false, ACK, far, b""));
            assert!(feed.engine.buffered_bytes() <= 1 << 20, "{}", feed.engine.buffered_bytes());
        }
    }
    let (_, ledger) = feed.finish();
    assert!(ledger.buffered_bytes_max <= 1 << 20 && fate(&ledger, Fate::NoRoom) == 0);
}

/// What happens to the next bytes of the connection.
#[derive(Clone, Debug)]
enum Op {
    /// They are sent on a subflow.
    Send(u8, u16),
    /// They are sent, and not captured.
    Lose(u8, u16),
    /// Their segment arrives so many segments later.
    Delay(u8, u16, usize),
    /// Bytes from so far back are sent again on a subflow.
    Again(u8, u16, u16),
    /// They are sent without an own mapping, which the one before covers.
    Continue(u8, u16, u16),
}

fn op() -> impl Strategy<Value = Op> {
    let length = || 1..200_u16;
    prop_oneof![
        5 => (0..3_u8, length()).prop_map(|(subflow, length)| Op::Send(subflow, length)),
        1 => (0..3_u8, length()).prop_map(|(subflow, length)| Op::Lose(subflow, length)),
        2 => (0..3_u8, length(), 1..6_usize).prop_map(|(subflow, length, by)| Op::Delay(subflow, length, by)),
        2 => (0..3_u8, 1..500_u16, length()).prop_map(|(subflow, back, length)| Op::Again(subflow, back, length)),
        1 => (0..3_u8, length(), length()).prop_map(|(subflow, first, length)| Op::Continue(subflow, first, length)),
    ]
}

/// The segments, and whether each byte of the connection was captured.
fn plan(form: Form, ops: &[Op], ends: bool) -> (Vec<Seg>, Vec<bool>) {
    let mut connection = Connection { form, ..Connection::new(1) };
    let mut segments = connection.open();
    for port in [SECOND, SECOND + 1] {
        segments.extend(connection.join(port, token(1, SERVER_KEY)));
    }
    let mut captured: Vec<bool> = Vec::new();
    let mut delayed: Vec<(usize, Seg)> = Vec::new();
    let mut sent = 0_u64;
    for op in ops {
        let mut mark = |from: u64, length: u64| {
            let end = (from + length) as usize;
            captured.resize(captured.len().max(end), false);
            captured[from as usize..end].fill(true);
        };
        match *op {
            Op::Send(subflow, length) => {
                segments.push(connection.data(FIRST + u16::from(subflow), false, sent, length));
                mark(sent, length.into());
                sent += u64::from(length);
            }
            Op::Lose(subflow, length) => {
                connection.data(FIRST + u16::from(subflow), false, sent, length);
                sent += u64::from(length);
            }
            Op::Delay(subflow, length, by) => {
                delayed.push((by, connection.data(FIRST + u16::from(subflow), false, sent, length)));
                mark(sent, length.into());
                sent += u64::from(length);
            }
            Op::Again(subflow, back, length) => {
                let from = sent.saturating_sub(back.into());
                let length = u64::from(length).min(sent - from) as u16;
                if length > 0 {
                    segments.push(connection.data(FIRST + u16::from(subflow), false, from, length));
                    mark(from, length.into());
                }
            }
            Op::Continue(subflow, first, length) => {
                let port = FIRST + u16::from(subflow);
                let number = connection.sent[&port][1] + 1;
                let mapping = connection.signal(false, None, Some((sent, number, first + length)), false);
                for (offset, part, options) in [(sent, first, mapping), (sent + u64::from(first), length, Vec::new())] {
                    let payload = bytes(offset, part.into());
                    let mut segment = connection.data_of(port, false, offset, part, &payload, false);
                    segment.options = options;
                    segments.push(segment);
                    mark(offset, part.into());
                }
                sent += u64::from(first) + u64::from(length);
            }
        }
        for (by, _) in &mut delayed {
            *by -= 1;
        }
        while let Some(at) = delayed.iter().position(|(by, _)| *by == 0) {
            segments.push(delayed.remove(at).1);
        }
    }
    segments.extend(delayed.into_iter().map(|(_, segment)| segment));
    if ends {
        segments.push(connection.end(FIRST, false, sent));
        captured.resize(sent as usize, false);
    }
    (segments, captured)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Each byte of the connection that any subflow brought is delivered in its place, and the rest is a gap: the same for any
    /// number of workers.
    #[test]
    fn a_connection_is_what_its_subflows_brought(
        ops in prop::collection::vec(op(), 1..60),
        is_short: bool,
        has_checksum: bool,
        ends: bool,
    ) {
        let (segments, captured) = plan(Form { is_short, has_checksum }, &ops, ends);
        let (streams, _) = run(&config(), &segments);
        let first = of(&streams, FIRST);
        let mut found = vec![false; captured.len()];
        for (offset, delivered) in first.offsets[1].iter().zip(&first.bytes[1]) {
            prop_assert_eq!(*delivered, byte(*offset));
            found[*offset as usize] = true;
        }
        prop_assert_eq!(&found, &captured);
        let missing: u64 = first.gaps[1].iter().map(|gap| gap.1).sum();
        prop_assert_eq!(missing, captured.iter().filter(|captured| !**captured).count() as u64);
        prop_assert!(streams.values().filter(|log| log.client_port != FIRST).all(nothing));
        for workers in [2, 3] {
            let (shared, _) = run_shared(&config(), &segments, workers);
            prop_assert_eq!(of(&shared, FIRST), first);
        }
    }

    /// No options of any segment make a stream other than bytes and gaps in order, or leave memory.
    #[test]
    fn any_options_keep_the_invariants(
        parts in prop::collection::vec((0..3_u8, any::<bool>(), prop::collection::vec(any::<u8>(), 1..26), 0..50_u64), 1..40),
    ) {
        let mut connection = Connection::new(1);
        let mut segments = connection.both();
        segments.extend(connection.join(SECOND + 1, token(1, SERVER_KEY)));
        for (subflow, from_client, mut body, length) in parts {
            // Mostly data sequence signals.
            body[0] = if body[0] < 200 { 0x20 } else { body[0] };
            let mut segment = connection.data_of(FIRST + u16::from(subflow), from_client, 0, 0, &bytes(0, length), false);
            segment.options = option(&body);
            segments.push(segment);
        }
        let (streams, ledger) = run(&config(), &segments);
        prop_assert!(streams.values().filter(|log| log.client_port != FIRST).all(nothing));
        prop_assert!(ledger.delivered_bytes <= segments.iter().map(|segment| segment.payload.len() as u64).sum());
    }
}
