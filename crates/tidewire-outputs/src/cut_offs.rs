//! Parts that a recorder cut off of the streams of an archive, joined with the streams that are read from it: by their ends and times, as both
//! number packets in their own way.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
};

use tidewire::{
    Anomaly, AnomalyKind, Direction, DirectionStats, EndReason, Endpoint, FlowKey, Gap, GapCause, Stream, TcpState,
};
use tidewire_exports::{CutOff as Amount, FlowRecord};
use tidewire_types::tcp_flag;

/// Streams of an archive that are remembered: 128 MiB at most.
pub const STREAMS_MAX: usize = 1 << 20;

/// The streams of which something was cut off.
#[derive(Debug, Default)]
pub struct CutOffs {
    by_ends: HashMap<Ends, Vec<Recorded>>,
    /// Streams that were found for the same recorded one.
    ambiguous: AtomicU64,
}

/// Both ends in the order of their values, and the protocol.
type Ends = (Endpoint, Endpoint, u8);

#[derive(Debug)]
struct Recorded {
    client: Endpoint,
    first_ns: u64,
    last_ns: u64,
    amounts: [Amount; 2],
    /// The id of the stream that it was found for; 0: none yet.
    found_for: AtomicU64,
}

/// Lists of a record, without what was cut off.
pub struct Corrected {
    pub anomalies: Vec<Anomaly>,
    pub gaps: Vec<Gap>,
}

impl Recorded {
    /// By the directions of a stream, which may have the other end as its client.
    fn amounts_of(&self, key: &FlowKey) -> [Amount; 2] {
        let mut amounts = self.amounts;
        if self.client != key.client {
            amounts.reverse();
        }
        amounts
    }
}

fn ends(key: &FlowKey) -> Ends {
    let (one, other) = (key.client.min(key.server), key.client.max(key.server));
    (one, other, key.proto)
}

impl CutOffs {
    /// Adds a stream with what was cut off of its directions.
    pub fn add(&mut self, key: &FlowKey, [first_ns, last_ns]: [u64; 2], amounts: [Amount; 2]) {
        let found_for = AtomicU64::new(0);
        let recorded = Recorded { client: key.client, first_ns, last_ns, amounts, found_for };
        self.by_ends.entry(ends(key)).or_default().push(recorded);
    }

    /// The parts of a stream that were cut off, by direction; `None`: no part.
    pub fn of(&self, id: u64, key: &FlowKey, [start_ns, end_ns]: [u64; 2]) -> Option<[Amount; 2]> {
        let mut sums = [Amount::default(); 2];
        let of_ends = self.by_ends.get(&ends(key))?;
        for recorded in of_ends.iter().filter(|one| one.first_ns <= end_ns && one.last_ns >= start_ns) {
            let other = recorded.found_for.compare_exchange(0, id, Ordering::Relaxed, Ordering::Relaxed);
            if other.is_err_and(|other| other != id) {
                self.ambiguous.fetch_add(1, Ordering::Relaxed);
            }
            for (sum, amount) in sums.iter_mut().zip(recorded.amounts_of(key)) {
                sum.packets = sum.packets.saturating_add(amount.packets);
                sum.bytes = sum.bytes.saturating_add(amount.bytes);
            }
        }
        (sums != [Amount::default(); 2]).then_some(sums)
    }

    /// Of a stream, whether it is printed or not: bytes that count as missing and are not, and bytes of frames that were cut off.
    pub fn sums<D>(&self, stream: &Stream<'_, D>) -> [u64; 2] {
        let times = [stream.start().as_nanos(), stream.end().as_nanos()];
        let Some(amounts) = self.of(stream.id(), &stream.key(), times) else { return [0; 2] };
        let bytes = forgive(&amounts, &mut Direction::BOTH.map(|direction| stream.stats(direction)), stream.gaps());
        [bytes, amounts.iter().fold(0, |sum: u64, amount| sum.saturating_add(amount.bytes))]
    }

    /// Corrects a record: cut-off bytes are no loss, and anomalies that only come of them are removed. Returns its lists if something was
    /// cut off.
    pub fn correct(&self, flow: &mut FlowRecord<'_>) -> Option<Corrected> {
        let amounts = self.of(flow.id, &flow.key, [flow.start.as_nanos(), flow.last.as_nanos()])?;
        forgive(&amounts, &mut flow.stats, flow.gaps);
        ended(&flow.stats, &mut flow.state, &mut flow.end);
        flow.cut_off = Some(amounts);
        let anomalies = flow.anomalies.iter().filter(|anomaly| !is_of_cutoff(anomaly.kind)).copied().collect();
        let mut gaps = flow.gaps.to_vec();
        gaps.iter_mut().filter(|gap| is_of_direction(&amounts, gap)).for_each(|gap| gap.cause = GapCause::Cutoff);
        Some(Corrected { anomalies, gaps })
    }

    /// A gap of a stream that has not ended, with the cause that it has if something was cut off there.
    pub fn corrected_gap(&self, key: &FlowKey, [start_ns, now_ns]: [u64; 2], mut gap: Gap) -> Gap {
        let of_ends = self.by_ends.get(&ends(key)).map(Vec::as_slice).unwrap_or_default();
        let is_of_stream = |one: &&Recorded| one.first_ns <= now_ns && one.last_ns >= start_ns;
        for recorded in of_ends.iter().filter(is_of_stream) {
            if is_of_direction(&recorded.amounts_of(key), &gap) {
                gap.cause = GapCause::Cutoff;
            }
        }
        gap
    }

    /// How many streams have the addresses, ports and time of another one: what was cut off of one of them is noted of both.
    pub fn ambiguous(&self) -> u64 {
        self.ambiguous.load(Ordering::Relaxed)
    }
}

/// Whether a gap is where something was cut off.
fn is_of_direction(amounts: &[Amount; 2], gap: &Gap) -> bool {
    gap.cause == GapCause::NotCaptured && amounts[gap.direction as usize].packets > 0
}

/// Closes a connection of which both FINs were recorded: the bytes before one of them were cut off, so that it was never reached.
fn ended(stats: &[DirectionStats; 2], state: &mut TcpState, end: &mut EndReason) {
    if *state == TcpState::HalfClosed && stats.iter().all(|stats| stats.tcp_flags & u16::from(tcp_flag::FIN) != 0) {
        *state = TcpState::Closed;
        if matches!(end, EndReason::EndOfInput | EndReason::Timeout) {
            *end = EndReason::Fin;
        }
    }
}

/// Leaves as missing what has another cause, and returns how much was cut off. Beyond what is delivered no gaps are listed.
fn forgive(amounts: &[Amount; 2], stats: &mut [DirectionStats; 2], gaps: &[Gap]) -> u64 {
    let mut bytes = 0;
    for direction in Direction::BOTH.into_iter().filter(|&direction| amounts[direction as usize].packets > 0) {
        let is_other = |gap: &&Gap| {
            gap.direction == direction
                && !matches!(gap.cause, GapCause::NotCaptured | GapCause::Cutoff | GapCause::Urgent)
        };
        let missing = &mut stats[direction as usize].missing_bytes;
        let others = gaps.iter().filter(is_other).map(|gap| gap.bytes).sum::<u64>().min(*missing);
        bytes += *missing - others;
        *missing = others;
    }
    bytes
}

/// Whether packets that are not there bring an anomaly about.
fn is_of_cutoff(kind: AnomalyKind) -> bool {
    matches!(
        kind,
        AnomalyKind::InvalidAck | AnomalyKind::OutOfWindow | AnomalyKind::Unacknowledged | AnomalyKind::AckedUnseen
    )
}
