//! What the fuzz target `engine` found, as the smallest case of each.

use std::time::Duration;

use crate::common::*;
use tidewire_core::{
    Batch, Chunk, Config, Direction, DirectionCutoff, Engine, Frame, Gap, GapCause, Handler, Share, Stream, Timestamp,
    wire::LinkType,
};

/// Flows that were silent for too long when the input ended have timed out, whether or not the sweep, which takes its
/// time by the size of the table, had come by: the number of workers must not show.
#[test]
fn a_timeout_is_one_for_any_number_of_workers() {
    let mut segments: Vec<Seg> = (0..20)
        .map(|port| {
            let flags = if port % 2 == 0 { SYN } else { ACK };
            Seg { client_port: 2000 + port, ..Seg::new(true, 100, 0, flags, b"") }
        })
        .collect();
    segments.push(Seg { time_ms: 2_000, ..Seg::new(true, 100, 1, ACK, b"a") });
    let config =
        config().with_inactivity_timeout(Some(Duration::from_secs(1))).with_half_open_timeout(Duration::from_secs(1));
    let (alone, _) = run_shared(&config, &segments, 1);
    let (shared, _) = run_shared(&config, &segments, 3);
    assert_eq!(alone, shared);
    let timeouts = alone.values().filter(|log| log.closed.as_deref() == Some("timeout"));
    assert_eq!(timeouts.count(), 20);
}

/// What is noted when a flow times out is noted at the same packet, whichever packet of whichever worker let time pass.
#[test]
fn what_is_noted_at_the_end_is_at_the_same_packet_for_any_number_of_workers() {
    let other = |port: u16, time_ms: u64| Seg { client_port: port, time_ms, ..Seg::new(true, 100, 1, ACK, b"a") };
    let mut segments: Vec<Seg> = (0..30).map(|port| other(2000 + port, 0)).collect();
    segments.extend([
        Seg::new(true, 1001, 5001, ACK, b"abc"),
        Seg::new(true, 1006, 5001, ACK, b"f"),
        Seg::new(false, 5001, 1300, ACK, b""),
    ]);
    segments.extend((0..80).map(|port| other(3000 + port, 2_000 + 100 * u64::from(port))));
    let config = config()
        .with_inactivity_timeout(Some(Duration::from_secs(1)))
        .with_cutoff(DirectionCutoff::new(10, u64::MAX))
        .with_list_max(2);
    let (alone, _) = run_shared(&config, &segments, 1);
    assert_eq!((alone[&31].anomalies.join(" ").as_str(), alone[&31].gaps[0].len()), ("list_full", 3));
    for workers in 2..6 {
        assert_eq!(alone, run_shared(&config, &segments, workers).0);
    }
}

/// Bytes that are missing beyond the cutoff are reported with the cutoff, also if nothing follows them.
#[test]
fn a_gap_beyond_the_cutoff_is_told_of() {
    let mut segments = handshake(1000, 5000);
    segments.push(Seg::new(true, 1001, 5001, ACK, b"abc"));
    segments.push(Seg::new(false, 5001, 1101, ACK, b""));
    let config = config().with_cutoff(DirectionCutoff::new(50, u64::MAX));
    let log = &run(&config, &segments).0[&1];
    assert_eq!(log.gaps[0], [(3, 47, "not_captured".into()), (50, 50, "cutoff".into())]);
}

/// Sets the client's cutoff when bytes of a direction come, and keeps what the client sent.
#[derive(Default)]
struct Wavering {
    /// By direction of the bytes.
    cutoffs: [u64; 2],
    bytes: Vec<u8>,
    gaps: Vec<(u64, u64, GapCause)>,
}

impl Handler for Wavering {
    type Data = ();

    fn data(&mut self, stream: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        stream.set_cutoff(Direction::ClientToServer, self.cutoffs[chunk.direction as usize]);
        if chunk.direction == Direction::ClientToServer {
            self.bytes.extend(chunk.bytes);
        }
    }

    fn gap(&mut self, _: &mut Stream<'_, ()>, gap: Gap) {
        self.gaps.push((gap.offset, gap.bytes, gap.cause));
    }
}

fn waver(config: Config, cutoffs: [u64; 2], more: Vec<Seg>) -> Wavering {
    let (mut memory, mut frames) = (Vec::new(), Vec::new());
    for (number, segment) in (1..).zip(handshake(1000, 5000).iter().chain(&more)) {
        let bytes = segment.bytes();
        let length = bytes.len() as u32;
        frames.push(
            Frame::new(LinkType::RAW, Timestamp::from_nanos(1))
                .with_number(number)
                .with_place(memory.len() as u32, length),
        );
        memory.extend(bytes);
    }
    let mut engine = Engine::new(config, Share::ALL, Wavering { cutoffs, ..Wavering::default() });
    engine.process(&Batch::new(&memory, &frames));
    engine.finish();
    engine.into_parts().0
}

fn client(offset: u32, payload: &str) -> Seg {
    Seg::new(true, 1001 + offset, 5001, ACK, payload.as_bytes())
}

/// What a cutoff skipped is gone: with a greater one afterwards, offsets would jump without a gap.
#[test]
fn a_cutoff_that_was_passed_stays() {
    let server = Seg::new(false, 5001, 1005, ACK, b"x");
    let log = waver(config(), [2, u64::MAX], vec![client(0, "ab"), client(2, "cd"), server, client(4, "ef")]);
    assert_eq!(log.bytes, b"ab");
    assert_eq!(log.gaps, [(2, 4, GapCause::Cutoff)]);
}

/// What came out of order beyond the cutoff was not kept: with a greater one before its turn, it is a gap.
#[test]
fn a_cutoff_raised_before_its_turn_leaves_a_gap() {
    let config = config().with_cutoff(DirectionCutoff::new(4, u64::MAX));
    let segments = vec![client(6, "gh"), client(0, "ab"), client(2, "cdef"), client(8, "ij")];
    let log = waver(config, [u64::MAX; 2], segments);
    assert_eq!(log.bytes, b"abcdefij");
    assert_eq!(log.gaps, [(6, 2, GapCause::Cutoff)]);
}
