//! With directions counted and dropped before the engine, streams have the same figures, bytes and ends as without.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tidewire_types::Timestamp;

use crate::common::*;
use proptest::prelude::*;
use tidewire_core::{Config, Counted, Direction, DirectionCutoff, FlowKey, Ledger, Shunt};

/// A direction by its client's port.
type Way = (u16, bool);

/// What stands before the engine.
#[derive(Default)]
struct Gate {
    by_itself: bool,
    /// How many ways it can know.
    room: usize,
    /// Since the last time that was asked, and whether it is in force.
    ways: BTreeMap<Way, (Counted, bool)>,
    counted: u64,
}

impl Gate {
    /// Whether a segment is counted here and goes no further.
    fn holds(&mut self, segment: &Seg, time_ns: u64) -> bool {
        let way = (segment.client_port, segment.from_client);
        if segment.flags & (SYN | FIN | RST) != 0 {
            return false;
        }
        let Some((counted, true)) = self.ways.get_mut(&way) else {
            if self.by_itself && self.ways.len() < self.room {
                self.ways.insert(way, (Counted::default(), true));
            }
            return false;
        };
        let bytes = segment.bytes().len() as u64;
        counted.packets += 1;
        counted.wire_bytes += bytes;
        counted.ip_bytes += bytes;
        counted.payload_bytes += segment.payload.len() as u64;
        counted.last = Some(Timestamp::from_nanos(time_ns));
        counted.tcp_flags |= segment.flags;
        let end = segment.seq.wrapping_add(segment.payload.len() as u32);
        counted.end = Some(counted.end.filter(|old| end.wrapping_sub(*old) as i32 <= 0).unwrap_or(end));
        self.counted += 1;
        true
    }
}

struct Handle(Arc<Mutex<Gate>>);

fn way(key: &FlowKey, direction: Direction) -> Way {
    (key.client.port, direction == Direction::ClientToServer)
}

impl Shunt for Handle {
    fn cut(&mut self, key: &FlowKey, direction: Direction) -> bool {
        let mut gate = self.0.lock().unwrap();
        let fits = gate.ways.len() < gate.room;
        if fits {
            let before = gate.ways.insert(way(key, direction), (Counted::default(), false));
            assert!(before.is_none(), "asked once");
        }
        fits
    }

    fn counted(&mut self, key: &FlowKey, direction: Direction) -> Option<Counted> {
        self.0.lock().unwrap().ways.get_mut(&way(key, direction)).map(|(counted, _)| std::mem::take(counted))
    }

    fn retire(&mut self, key: &FlowKey, direction: Direction) -> Option<Counted> {
        self.0.lock().unwrap().ways.remove(&way(key, direction)).map(|(counted, _)| counted)
    }

    fn is_crowded(&self) -> bool {
        let gate = self.0.lock().unwrap();
        gate.ways.len() * 2 > gate.room
    }

    fn cuts_by_itself(&self) -> bool {
        self.0.lock().unwrap().by_itself
    }
}

/// Runs segments through a gate and an engine. What the engine asks for comes into force up to `late` segments later, and
/// what passes the gate waits for as many in a ring.
fn gated(
    config: &Config,
    segments: &[Seg],
    by_itself: bool,
    room: usize,
    late: usize,
) -> (Vec<StreamLog>, Ledger, u64) {
    let gate = Arc::new(Mutex::new(Gate { by_itself, room, ..Gate::default() }));
    let mut feed = Feed::new(config, InvariantChecker::default());
    feed.engine.set_shunt(Box::new(Handle(Arc::clone(&gate))));
    let mut ring = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        if at % (late + 1) == 0 {
            feed.segments(ring.drain(..));
            gate.lock().unwrap().ways.values_mut().for_each(|way| way.1 = true);
        }
        if !gate.lock().unwrap().holds(segment, 1_000_000_000 + segment.time_ms * 1_000_000) {
            ring.push(segment);
        }
    }
    feed.segments(ring);
    let (checker, ledger) = feed.finish();
    let gate = gate.lock().unwrap();
    assert!(gate.ways.is_empty(), "every entry is retired");
    assert_eq!(ledger.shunted_packets, gate.counted);
    assert_eq!(ledger.shunted_packets + ledger.received, segments.len() as u64);
    (checker.streams.into_values().collect(), ledger, gate.counted)
}

/// What must be the same. Which of the packets carried what is not known of those that never came.
fn figures(log: &StreamLog) -> impl PartialEq + std::fmt::Debug + use<> {
    let log = log.clone();
    (log.client_port, log.bytes, log.gaps, log.packets, log.wire, log.closed, log.state)
}

/// A connection in which both sides speak in turns, every turn acknowledged.
fn conversation(port: u16, isn: [u32; 2], turns: &[(bool, u16)], reset: bool, step_ms: u64) -> Vec<Seg> {
    let [mut client, mut server] = isn;
    let mut segments = handshake(client, server);
    (client, server) = (client.wrapping_add(1), server.wrapping_add(1));
    for &(from_client, length) in turns {
        let payload: Vec<u8> = (0..length).map(|at| (at as u8).wrapping_mul(7)).collect();
        let (mine, theirs) = if from_client { (&mut client, server) } else { (&mut server, client) };
        segments.push(Seg::new(from_client, *mine, theirs, ACK | PSH, &payload));
        *mine = mine.wrapping_add(u32::from(length));
        segments.push(Seg::new(!from_client, theirs, *mine, ACK, b""));
    }
    if reset {
        segments.push(Seg::new(true, client, server, RST | ACK, b""));
    } else {
        segments.push(Seg::new(true, client, server, FIN | ACK, b""));
        segments.push(Seg::new(false, server, client.wrapping_add(1), FIN | ACK, b""));
        segments.push(Seg::new(true, client.wrapping_add(1), server.wrapping_add(1), ACK, b""));
    }
    for (at, segment) in segments.iter_mut().enumerate() {
        segment.client_port = port;
        segment.time_ms = at as u64 * step_ms;
    }
    segments
}

fn same(config: &Config, segments: &[Seg], by_itself: bool, room: usize, late: usize) -> u64 {
    let (alone, _) = run(config, segments);
    let (log, _, counted) = gated(config, segments, by_itself, room, late);
    let alone: Vec<_> = alone.values().map(figures).collect();
    let mut log = log;
    log.sort_by_key(|log| log.client_port);
    let log: Vec<_> = log.iter().map(figures).collect();
    let other = alone.iter().zip(&log).find(|(alone, log)| alone != log);
    assert!(other.is_none(), "alone and gated: {other:#?}");
    assert_eq!(alone.len(), log.len());
    counted
}

fn cut_at([client, server]: [u64; 2]) -> Config {
    config().with_cutoff(DirectionCutoff::new(client, server))
}

#[test]
fn a_cut_off_stream_has_the_same_figures_and_end() {
    let turns: Vec<_> = (0..60).map(|at| (at % 10 == 0, 1000)).collect();
    for reset in [false, true] {
        let segments = conversation(1000, [5, u32::MAX - 20_000], &turns, reset, 1);
        let counted = same(&cut_at([u64::MAX, 3000]), &segments, false, 9, 0);
        assert!(counted > 50, "{counted} of {}", segments.len());
        let counted = same(&cut_at([0, 0]), &segments, true, 9, 0);
        assert!(counted > 100, "{counted} of {}", segments.len());
    }
}

#[test]
fn a_stream_that_is_only_heard_before_the_engine_does_not_time_out() {
    let config = cut_at([0, 0]).with_inactivity_timeout(Some(Duration::from_secs(10)));
    // An hour of one packet a second; others let the time pass.
    let turns: Vec<_> = (0..1800).map(|at| (at % 2 == 0, 10)).collect();
    let mut segments = conversation(1000, [1, 2], &turns, false, 1000);
    for at in 0..100 {
        let mut other = conversation(2000 + at, [1, 2], &[(true, 1)], false, 1);
        other.iter_mut().for_each(|segment| segment.time_ms += u64::from(at) * 30_000);
        segments.extend(other);
    }
    segments.sort_by_key(|segment| segment.time_ms);
    same(&config, &segments, true, 1000, 0);
}

/// Room for a few at a time: those that have fallen silent make way, and none of what was counted for them is lost.
#[test]
fn silent_streams_make_way() {
    let turns: Vec<_> = (0..8).map(|at| (at % 2 == 0, 100)).collect();
    let mut segments = Vec::new();
    for at in 0..200_u16 {
        let mut one = conversation(1000 + at, [1, 2], &turns, false, 10);
        // They speak, are silent for minutes, and speak again.
        for (number, segment) in one.iter_mut().enumerate() {
            segment.time_ms += u64::from(at) * 1000 + if number > 11 { 300_000 } else { 0 };
        }
        segments.extend(one);
    }
    segments.sort_by_key(|segment| segment.time_ms);
    for by_itself in [false, true] {
        let cramped = same(&cut_at([0, 0]), &segments, by_itself, 40, 0);
        let roomy = same(&cut_at([0, 0]), &segments, by_itself, 4000, 0);
        assert!(cramped * 10 > roomy * 8, "{cramped} of {roomy}");
    }
}

#[test]
fn the_same_ports_again_are_another_stream() {
    let turns = [(true, 100), (false, 1000), (false, 1000)];
    let mut segments = conversation(1000, [5, 6], &turns, false, 1);
    let mut again = conversation(1000, [70_000, 900_000], &turns, false, 1);
    again.iter_mut().for_each(|segment| segment.time_ms += 100);
    segments.extend(again);
    // The first connection's end is not seen: the new SYN ends it.
    let at = segments.iter().position(|segment| segment.flags & FIN != 0).unwrap();
    segments.drain(at..at + 3);
    same(&cut_at([0, 0]), &segments, true, 9, 0);
    same(&cut_at([50, 50]), &segments, false, 9, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn any_conversations(
        connections in prop::collection::vec(
            (any::<[u32; 2]>(), prop::collection::vec((any::<bool>(), 1_u16..1460), 0..40), any::<bool>(), 1_u64..50),
            1..4,
        ),
        cutoff in prop::array::uniform2(prop_oneof![Just(u64::MAX), Just(0), 0_u64..20_000]),
        by_itself in any::<bool>(),
        room in 0_usize..9,
        late in 0_usize..20,
    ) {
        let mut segments: Vec<_> = connections
            .iter()
            .enumerate()
            .flat_map(|(at, (isn, turns, reset, step))| conversation(1000 + at as u16, *isn, turns, *reset, *step))
            .collect();
        segments.sort_by_key(|segment| segment.time_ms);
        let cutoff = if by_itself { [0, 0] } else { cutoff };
        same(&cut_at(cutoff), &segments, by_itself, room, late);
    }
}
