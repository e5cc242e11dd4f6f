//! A handler that checks the invariants of its events.

use std::collections::BTreeMap;
use tidewire_core::{
    Anomaly, Chunk, Conflict, Datagram, Direction, DirectionStats, EndReason, FlowKey, Gap, GapCause, Handler, Stream,
    StreamPacket,
};

const BOTH: [Direction; 2] = [Direction::ClientToServer, Direction::ServerToClient];

/// Handler's habits, see `Settings::knobs`.
pub const KEEPS: u8 = 1;
const CUTS: u8 = 2;
const DISCARDS: u8 = 4;
const RANKS: u8 = 8;

/// The events of one stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamLog {
    end: Option<End>,
    bytes: [Vec<u8>; 2],
    gaps: [Vec<Gap>; 2],
    chunks: [u64; 2],
    reached: [u64; 2],
    packets: u64,
    /// Payload captured.
    payload: [u64; 2],
    opened: bool,
}

/// What a stream was at its end.
#[derive(Clone, Debug, PartialEq)]
struct End {
    reason: EndReason,
    key: FlowKey,
    state: &'static str,
    stats: [DirectionStats; 2],
    gaps: Vec<Gap>,
    anomalies: Vec<Anomaly>,
    conflicts: [Vec<Conflict>; 2],
    priority: u8,
}

/// Records all events, by stream.
pub struct InvariantChecker {
    pub knobs: u8,
    pub chunk_bytes: u32,
    pub list_max: u32,
    pub is_track: bool,
    pub streams: BTreeMap<u64, StreamLog>,
    /// Packet, fragments and payload or reason.
    pub datagrams: Vec<(u64, u32, Vec<u8>, String)>,
}

impl InvariantChecker {
    /// What an application may do with its stream during a call. Depends only on the event.
    fn meddle(&self, stream: &mut Stream<'_, StreamLog>, direction: Direction, offset: u64, bytes: &[u8]) {
        let first = bytes.first().copied().unwrap_or(0);
        if self.knobs & KEEPS != 0 && first % 4 != 0 {
            stream.keep_chunk();
        }
        if self.knobs & CUTS != 0 && first % 8 == 1 {
            stream.set_cutoff(direction, offset + u64::from(first));
        }
        if self.knobs & DISCARDS != 0 && first % 16 == 2 {
            stream.discard();
        }
        if self.knobs & RANKS != 0 && first % 4 == 3 {
            stream.set_priority(first >> 3);
        }
    }
}

impl InvariantChecker {
    /// Every byte of payload was delivered, is repeated, in a gap, or ignored for a reason that has a name.
    fn account(&self, log: &StreamLog, end: &End, at: usize) {
        let stats = &end.stats[at];
        if self.is_track || stats.cutoff_bytes > 0 || log.gaps[at].iter().any(|gap| gap.cause == GapCause::Cutoff) {
            // Gaps beyond a cutoff are counted and not reported one by one.
            return;
        }
        let gaps: u64 = log.gaps[at].iter().filter(|gap| gap.cause.is_of_packets()).map(|gap| gap.bytes).sum();
        let placed = stats.reassembled_bytes + stats.retransmitted_bytes + stats.ignored_bytes + gaps;
        assert!(stats.payload_wire_bytes == placed, "payload is accounted for: {stats:?} {:?}", log.gaps[at]);
        assert!(log.payload[at] <= stats.payload_wire_bytes);
        if stats.ignored_bytes > 0 && log.payload[at] == stats.payload_wire_bytes && self.list_max > 0 {
            assert!(!end.anomalies.is_empty(), "what is ignored has a reason: {stats:?}");
        }
    }
}

impl Handler for InvariantChecker {
    type Data = StreamLog;
    const PACKETS: bool = true;
    const DATAGRAMS: bool = true;

    fn open(&mut self, stream: &mut Stream<'_, StreamLog>) {
        assert!(!std::mem::replace(&mut stream.data().opened, true), "opened once, with fresh data");
    }

    fn data(&mut self, stream: &mut Stream<'_, StreamLog>, chunk: Chunk<'_>) {
        let at = chunk.direction as usize;
        let log = stream.data();
        assert!(log.opened);
        assert_eq!(log.reached[at], chunk.offset + chunk.repeated_bytes as u64, "bytes continue the stream");
        let fresh = chunk.fresh();
        assert!(!fresh.is_empty(), "no empty chunk");
        if chunk.repeated_bytes > 0 {
            let known = log.bytes[at].len().checked_sub(chunk.repeated_bytes).expect("more repeated than delivered");
            assert_eq!(log.bytes[at][known..], chunk.bytes[..chunk.repeated_bytes], "what is repeated was delivered");
        }
        if self.chunk_bytes > 0 && self.knobs & KEEPS == 0 {
            assert!(chunk.bytes.len() <= self.chunk_bytes as usize);
        }
        log.bytes[at].extend(fresh);
        log.chunks[at] += 1;
        log.reached[at] += fresh.len() as u64;
        self.meddle(stream, chunk.direction, chunk.offset, chunk.bytes);
    }

    fn gap(&mut self, stream: &mut Stream<'_, StreamLog>, gap: Gap) {
        let at = gap.direction as usize;
        let log = stream.data();
        assert!(log.opened);
        assert_eq!(log.reached[at], gap.offset, "gaps continue the stream");
        assert!(gap.bytes > 0);
        log.reached[at] += gap.bytes;
        log.gaps[at].push(gap);
    }

    fn packet(&mut self, stream: &mut Stream<'_, StreamLog>, packet: StreamPacket<'_>) {
        assert!(stream.data().opened);
        stream.data().packets += 1;
        stream.data().payload[packet.direction as usize] += u64::from(packet.payload_captured_bytes);
        let payload = packet.payload_at as usize..(packet.payload_at + packet.payload_captured_bytes) as usize;
        assert!(
            packet.bytes.get(payload).is_some() || packet.payload_captured_bytes == 0,
            "payload lies in the packet"
        );
    }

    fn close(&mut self, stream: &mut Stream<'_, StreamLog>, reason: EndReason) {
        let end = End {
            reason,
            key: stream.key(),
            state: stream.state().name(),
            stats: BOTH.map(|direction| stream.stats(direction)),
            gaps: stream.gaps().to_vec(),
            anomalies: stream.anomalies().to_vec(),
            conflicts: BOTH.map(|direction| stream.conflicts(direction).to_vec()),
            priority: stream.priority(),
        };
        let id = stream.id();
        let mptcp = stream.mptcp().filter(|mptcp| mptcp.is_together);
        let log = stream.data();
        assert!(log.opened);
        assert_eq!(log.packets, end.stats.iter().map(|stats| stats.packets).sum::<u64>(), "every packet is shown");
        for (at, stats) in end.stats.iter().enumerate() {
            assert_eq!(stats.delivered_bytes, log.bytes[at].len() as u64);
            assert_eq!(stats.chunks, log.chunks[at]);
            // A subflow of Multipath TCP that is put together delivers what others carried, or nothing.
            let joins = mptcp.is_some_and(|mptcp| mptcp.is_joined);
            if !self.is_track && !joins {
                assert_eq!(log.reached[at], stats.reassembled_bytes + stats.missing_bytes, "all of it was reported");
            }
            if mptcp.is_none() {
                self.account(log, &end, at);
            }
            assert!(end.conflicts[at].len() <= self.list_max as usize);
        }
        assert!(end.gaps.len() <= self.list_max as usize && end.anomalies.len() <= self.list_max as usize);
        log.end = Some(end);
        let log = std::mem::take(log);
        assert!(self.streams.insert(id, log).is_none(), "an id stands for one stream");
    }

    fn datagram(&mut self, datagram: &Datagram<'_>) {
        let fate = datagram.rejected.map_or(String::new(), |why| format!("{why:?}"));
        assert_eq!(fate.is_empty(), datagram.rejected.is_none());
        self.datagrams.push((datagram.packet, datagram.fragments, datagram.payload.to_vec(), fate));
    }
}
