//! The fast path and the slow path report the same events.

use std::time::Duration;

use crate::common::*;
use proptest::prelude::*;
use tidewire_core::{Chunk, Config, Direction, DirectionCutoff, EndReason, Gap, Handler, Stream, StreamPacket};

const START: [u32; 2] = [u32::MAX - 40, 5000];

/// What a side does next.
#[derive(Clone, Copy, Debug)]
struct Step {
    from_client: bool,
    what: What,
    /// How much: bytes of payload, or how far off a number is.
    size: u8,
    time: u8,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Data,
    Empty,
    /// Sent, and not captured.
    Lost,
    Again,
    Snapped,
    /// Acknowledges more than there is.
    AckBeyond,
    AckOld,
    Ahead,
    KeepAlive,
    Closed,
    Stamped,
    OldStamp,
    Fin,
    Reset,
    Signed,
}

const WHATS: [What; 15] = [
    What::Data,
    What::Empty,
    What::Lost,
    What::Again,
    What::Snapped,
    What::AckBeyond,
    What::AckOld,
    What::Ahead,
    What::KeepAlive,
    What::Closed,
    What::Stamped,
    What::OldStamp,
    What::Fin,
    What::Reset,
    What::Signed,
];

fn step() -> impl Strategy<Value = Step> {
    // Mostly usual segments, or none would take the fast path.
    let what = prop_oneof![3 => Just(What::Data), 3 => Just(What::Empty), 2 => prop::sample::select(&WHATS[..])];
    (any::<bool>(), what, 1..20_u8, 0..4_u8).prop_map(|(from_client, what, size, time)| Step {
        from_client,
        what,
        size,
        time,
    })
}

fn conversation(steps: &[Step], midway: bool) -> Vec<Seg> {
    let mut segments = if midway { Vec::new() } else { handshake(START[0], START[1]) };
    let mut next = START.map(|start| start.wrapping_add(1));
    let mut time_ms = 0;
    for (number, step) in steps.iter().enumerate() {
        let (me, other) = (usize::from(!step.from_client), usize::from(step.from_client));
        let size = u32::from(step.size);
        time_ms += u64::from(step.time) * 100;
        let payload = vec![b'a' + (number % 26) as u8; step.size.into()];
        let mut segment = Seg { time_ms, ..Seg::new(step.from_client, next[me], next[other], ACK, &payload) };
        match step.what {
            What::Data | What::Lost => {}
            What::Empty | What::Closed => segment.payload.clear(),
            What::Again => segment.seq = segment.seq.wrapping_sub(size / 2),
            What::Snapped => segment.snapped = usize::from(step.size / 2),
            What::AckBeyond => segment.ack = segment.ack.wrapping_add(size * if size > 15 { 10_000 } else { 1 }),
            What::AckOld => segment.ack = segment.ack.wrapping_sub(size),
            What::Ahead => segment.seq = segment.seq.wrapping_add(size),
            What::KeepAlive => segment.seq = segment.seq.wrapping_sub(1),
            What::Stamped => segment.timestamp = Some(1000 + number as u32),
            What::OldStamp => segment.timestamp = Some(1000 - size),
            What::Fin => segment.flags |= FIN,
            What::Reset => segment.flags = RST,
            What::Signed => segment.options = [&[19, 18][..], &[0; 16], &[1, 1]].concat(),
        }
        if matches!(step.what, What::KeepAlive | What::AckBeyond | What::Fin | What::Signed) && size % 3 != 0 {
            segment.payload.clear();
        }
        if step.what == What::Closed {
            segment.window = 0;
        }
        if matches!(step.what, What::Data | What::Lost | What::Snapped | What::Stamped) {
            next[me] = next[me].wrapping_add(size);
        }
        if step.what != What::Lost {
            segments.push(segment);
        }
    }
    segments
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_ways_tell_the_same(
        steps in prop::collection::vec(step(), 1..60), midway in any::<bool>(), chunk in prop_oneof![Just(0_u32), 1..30_u32],
        cutoff in prop_oneof![Just(u64::MAX), 0..300_u64], flush_ms in prop_oneof![Just(0_u64), 1..900_u64],
    ) {
        let config = config().with_chunk_bytes(chunk).with_flush_timeout((flush_ms > 0).then(|| Duration::from_millis(flush_ms)));
        let config = config.with_cutoff(DirectionCutoff::new(cutoff, u64::MAX));
        go_both_ways(&config, &conversation(&steps, midway));
    }
}

fn go_both_ways(config: &Config, segments: &[Seg]) {
    let (short, short_ledger) = run(config, segments);
    // A minimum time to live forces the slow path, and every packet has a higher one.
    let (long, long_ledger) = run(&config.clone().with_ttl_min(1), segments);
    assert_eq!(short, long);
    assert_eq!(short_ledger, long_ledger);
    let [short, long] = [config.clone(), config.clone().with_ttl_min(1)].map(|config| {
        let mut feed = Feed::new(&config, Calls::default());
        feed.segments(segments);
        feed.finish().0.0
    });
    assert_eq!(short, long);
}

/// The calls that a handler of packets gets, in their order, with what the stream has counted by then.
#[derive(Default)]
struct Calls(Vec<(Call, u64, [u64; 2])>);

#[derive(Debug, PartialEq)]
enum Call {
    Packet(u64),
    Data(u64, Vec<u8>),
    Gap(u64, u64),
    Close,
}

impl Calls {
    fn push(&mut self, call: Call, stream: &Stream<'_, ()>) {
        let stats = [Direction::ClientToServer, Direction::ServerToClient].map(|direction| stream.stats(direction));
        self.0.push((call, stream.end().as_nanos(), stats.map(|stats| stats.packets)));
    }
}

impl Handler for Calls {
    type Data = ();
    const PACKETS: bool = true;

    fn packet(&mut self, stream: &mut Stream<'_, ()>, packet: StreamPacket<'_>) {
        self.push(Call::Packet(packet.number), stream);
    }

    fn data(&mut self, stream: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        self.push(Call::Data(chunk.offset, chunk.bytes.to_vec()), stream);
    }

    fn gap(&mut self, stream: &mut Stream<'_, ()>, gap: Gap) {
        self.push(Call::Gap(gap.offset, gap.bytes), stream);
    }

    fn close(&mut self, stream: &mut Stream<'_, ()>, _: EndReason) {
        self.push(Call::Close, stream);
    }
}

/// An empty segment after something that hosts challenge: for half a second they may be silent about what they drop.
#[test]
fn a_challenge_is_noted_on_both_ways() {
    let step = |from_client, what, size| Step { from_client, what, size, time: 0 };
    let steps = [step(false, What::AckOld, 1), step(false, What::Empty, 1), step(true, What::AckBeyond, 3)];
    go_both_ways(&config(), &conversation(&steps, false));
}

/// What comes before something that was acknowledged acknowledges nothing to a host that has sent its FIN.
#[test]
fn a_host_that_has_ended_hears_the_same_on_both_ways() {
    let step = |from_client, what, size, time| Step { from_client, what, size, time };
    let client = [(What::Data, 1), (What::Fin, 1), (What::AckBeyond, 2)].map(|(what, size)| step(true, what, size, 0));
    let steps = [client.as_slice(), &[step(false, What::Stamped, 1, 1)]].concat();
    go_both_ways(&config(), &conversation(&steps, false));
}

/// Bytes that were not captured of one packet, wait from another, and come again.
#[test]
fn a_byte_that_is_lost_and_waits_is_counted_once() {
    let step = |what, size| Step { from_client: true, what, size, time: 0 };
    let steps = [step(What::AckBeyond, 15), step(What::Data, 5), step(What::Snapped, 11), step(What::Again, 4)];
    // The checker counts.
    let (log, _) = run(&config(), &conversation(&steps, true));
    assert_eq!(log.values().map(|log| log.retransmitted[0]).collect::<Vec<_>>(), [17]);
}
