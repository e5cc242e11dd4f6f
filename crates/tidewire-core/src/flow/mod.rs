//! Flows: their keys, the table, and the state of each.
//!
//! `flow/index.rs` has buckets of one cache line with 12 entries, a one-byte tag and a four-byte slot each; the index
//! doubles when 8 buckets are not enough. `flow/slab.rs` keeps flows in pieces that never move. A flow (`flow/mod.rs`)
//! is 256 bytes: one line for each direction, two for both. State that only irregular flows need (queue, gaps,
//! anomalies, chunk) is in `flow/slow_state.rs`, allocated on first use.

mod answer;
mod arrival;
pub(crate) mod doubted;
mod first_packets;
mod half_open;
mod held_syn;
mod index;
mod lookup_cache;
mod slab;
mod slow_state;
mod subscriber;
mod table;

pub(crate) use crate::{
    key::{DirectedKey, Ids, Key, KeyMask},
    list::List,
};
pub(crate) use answer::Answer;
pub(crate) use arrival::{ARRIVALS_MAX, Arrival};
pub(crate) use first_packets::FirstPacket;
pub(crate) use half_open::HalfOpen;
pub(crate) use held_syn::{HeldSyn, KeptPacket};
pub(crate) use index::NO_SLOT;
pub(crate) use lookup_cache::LookupCache;
pub(crate) use slow_state::SlowState;
pub(crate) use subscriber::{PendingChunk, SubscriberState};
pub(crate) use table::{Found, OpenEntries, OpenEntry, Table, table_entry_bytes};

use crate::{
    Direction, DirectionCutoff, TcpState, mptcp::connection_stream::ConnectionStream, path::Path, wire::CLOCK_STEP,
};

/// [`CLOCK_STEP`] in nanoseconds.
pub(crate) const CLOCK_STEP_NS: u64 = CLOCK_STEP.as_nanos() as u64;

/// State of one direction that packets in order change. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Half {
    /// Internal offset of the next expected byte: all bytes before it were delivered or given up.
    ///
    /// Internal offsets count from `base_seq`; offsets of the stream begin at [`Flow::bias`].
    pub next: u64,
    pub payload_wire_bytes: u64,
    /// Packets, up to a multiple of 2^31: see [`Flow::packets`]. Not 0 once there was one.
    packets: u32,
    path: Path,
    pub ip_bytes: u64,
    /// Sequence number of internal offset 0. ICMP flows: type << 8 | code of the first packet, in the client's.
    pub base_seq: u32,
    /// Highest acknowledgment number sent by this side.
    pub ack: u32,
    /// Highest right edge of a window offered by this side. Protocols other than TCP: packets with a wrong checksum.
    pub edge: u32,
    /// Latest timestamp value accepted from this side (RFC 7323 TS.Recent). Protocols other than TCP: packets with a
    /// correct checksum, or none.
    pub ts_recent: u32,
    pub chunks: u32,
    /// Bytes of frames outside of their IP packets, modulo 2^32: see [`Flow::frame_bytes`].
    pub link_bytes: u32,
    /// Number of this direction's last entry in the delivery log; 0: none.
    pub delivery_log: u32,
    pub flags: u16,
    pub tcp_flags: u8,
    /// Shift count of this side's windows in the lower four bits, [`checks`] in the others.
    scale_and_checks: u8,
}

/// The scale of this side's windows is unknown, because no SYN of it was seen.
///
/// It is the largest that four bits hold, and a valid one is at most 14 (RFC 7323 section 2.3).
pub(crate) const SCALE_UNKNOWN: u8 = 0x0f;

/// Bits of [`Half::flags`].
pub(crate) mod half {
    /// `base_seq` and `next` are set.
    pub const KNOWN: u16 = 1;
    /// `ack` and `edge` are set.
    pub const ACKED: u16 = 2;
    /// The FIN was reached in order.
    pub const FIN: u16 = 4;
    /// A FIN was seen, maybe beyond a hole.
    pub const FIN_SEEN: u16 = 8;
    /// A SYN was seen: `base_seq` is exact.
    pub const SYN: u16 = 16;
    /// `ts_recent` is set.
    pub const TIMESTAMP: u16 = 32;
    /// Payload was seen before a SYN: the first bytes are held until the beginning of the stream is clear.
    pub const HELD: u16 = 64;
    /// The cutoff was reached, or the application discarded the rest.
    pub const CUT: u16 = 128;
    /// `SlowState::cutoff` overrides the general cutoff.
    pub const OWN_CUTOFF: u16 = 256;
    /// The last window offered was zero.
    pub const ZERO_WINDOW: u16 = 512;
    /// Bytes wait in the out-of-order queue.
    pub const QUEUED: u16 = 1024;
    /// Payload with a correct checksum was seen: wrong ones are not all artefacts of the capture.
    pub const GOOD_CHECKSUM: u16 = 2048;
    /// The SYN carried a signature: see `Segment::signed`.
    pub const SIGNED: u16 = 4096;
    /// `SlowState::fin_doubtful` is set.
    pub const DOUBTFUL_FIN: u16 = 8192;
    /// Packets are counted and dropped before the engine: see [`crate::Shunt`].
    pub const SHUNTED: u16 = 16_384;
    /// Alone: offload was refused; do not retry. With `SHUNTED`: the entry was retired, and may be offered again.
    pub const UNSHUNTED: u16 = 32_768;
    /// A packet of a direction with any of these cannot take the fast path.
    pub const SLOW: u16 = HELD | CUT | OWN_CUTOFF | QUEUED | FIN | FIN_SEEN | ZERO_WINDOW;
}

impl Half {
    pub(crate) const NEW: Self = Self {
        next: 0,
        payload_wire_bytes: 0,
        packets: 0,
        path: Path::NONE,
        ip_bytes: 0,
        base_seq: 0,
        ack: 0,
        edge: 0,
        ts_recent: 0,
        chunks: 0,
        link_bytes: 0,
        delivery_log: 0,
        flags: 0,
        tcp_flags: 0,
        scale_and_checks: SCALE_UNKNOWN,
    };

    #[inline(always)]
    pub(crate) fn has(&self, bits: u16) -> bool {
        self.flags & bits != 0
    }

    /// Packets seen, up to a multiple of 2^31: 0 only if there were none. See [`Flow::packets`].
    #[inline(always)]
    pub(crate) fn packets(&self) -> u32 {
        self.packets
    }

    /// The path of this direction's packets.
    #[inline(always)]
    pub(crate) fn path(&self) -> Path {
        self.path
    }

    pub(crate) fn set_path(&mut self, path: Path) {
        self.path = path;
    }

    /// Packets of a protocol other than TCP with a correct checksum or none, and those with a wrong one that is not the
    /// mark of offloading.
    pub(crate) fn verified_datagrams(&self) -> (u32, u32) {
        (self.ts_recent, self.edge)
    }

    /// Counts such a packet.
    #[inline(always)]
    pub(crate) fn count_verified(&mut self, is_right: bool) {
        let count = if is_right { &mut self.ts_recent } else { &mut self.edge };
        *count = count.saturating_add(1);
    }

    /// Shift count of this side's windows, or [`SCALE_UNKNOWN`].
    #[inline(always)]
    pub(crate) fn scale(&self) -> u8 {
        self.scale_and_checks & 0x0f
    }

    pub(crate) fn set_scale(&mut self, scale: u8) {
        self.scale_and_checks = self.scale_and_checks & 0xf0 | scale & 0x0f;
    }

    /// Whether a bit of [`checks`] is set.
    #[inline(always)]
    pub(crate) fn checked(&self, bit: u8) -> bool {
        self.scale_and_checks & bit << 4 != 0
    }

    /// Sets a bit of [`checks`].
    #[inline(always)]
    pub(crate) fn note_check(&mut self, bit: u8) {
        self.scale_and_checks |= bit << 4;
    }

    /// The sequence number of an internal offset.
    #[inline(always)]
    pub(crate) fn seq_of(&self, offset: u64) -> u32 {
        self.base_seq.wrapping_add(offset as u32)
    }

    /// The sequence number of the next byte expected.
    #[inline(always)]
    pub(crate) fn next_seq(&self) -> u32 {
        self.seq_of(self.next)
    }

    /// The internal offset nearest to `next` that has this sequence number; negative: before offset 0.
    #[inline(always)]
    pub(crate) fn offset_of(&self, seq: u32) -> i64 {
        let distance = seq.wrapping_sub(self.next_seq()) as i32;
        (self.next as i64).wrapping_add(i64::from(distance))
    }
}

/// Findings about a direction's checksums: four bits, see [`Half::checked`].
pub(crate) mod checks {
    /// A SYN had a correct checksum.
    pub const GOOD_SYN: u8 = 1;
    /// A packet without payload, other than a SYN, had a correct checksum.
    pub const GOOD_BARE: u8 = 2;
    /// Wrong checksums are artefacts of the capture: see `Flow::is_trusted`.
    pub const STALE: u8 = 4;
    /// (Not a checksum.) This side accepts segments larger than a usual frame: it announced so (RFC 9293 section
    /// 3.7.1), or one arrived with a correct checksum.
    pub const LARGE_FRAMES: u8 = 8;
}

/// Bits of [`Flow::flags`].
pub(crate) mod bits {
    /// The client is the lower endpoint of the key.
    pub const CLIENT_IS_A: u8 = 1;
    /// A SYN or SYN-ACK showed which side is the client.
    pub const CLIENT_KNOWN: u8 = 2;
    /// The slot is in use.
    pub const LIVE: u8 = 4;
    /// The flow was reported to the handler.
    pub const OPENED: u8 = 8;
    /// Packets of both sides were seen.
    pub const CONFIRMED: u8 = 16;
    /// Joined after its beginning.
    pub const MIDSTREAM: u8 = 32;
    /// The flow is in the list of holders of memory.
    pub const HOLDER: u8 = 64;
    /// The application discarded the stream.
    pub const DISCARDED: u8 = 128;
}

/// Bits of [`Flow::closing`], and those for which [`Flow::flags`] has no room.
pub(crate) mod closing {
    /// The bits that are about the end.
    pub const ENDING: u8 = LISTED | REPORTED;
    /// A segment of the direction had the flag AE (RFC 9768): the bit of `c2s`, with that of `s2c` above it.
    pub const AE: u8 = 8;
    /// The evidence for which side is the client: see `ClientBy::bits`.
    pub const CLIENT_BY: u8 = 0x60;
    /// The flow is over, and in the queue of ends to be reported.
    pub const LISTED: u8 = 1;
    /// The end was reported to the handler; the entry stays for late packets.
    pub const REPORTED: u8 = 2;
    /// The conversation was reported as unfinished.
    pub const UNFINISHED: u8 = 4;
}

/// A flow: four cache lines, so that ten million of them take 2.4 GiB. State that few flows need is in `slow_state`.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Flow {
    pub key: Key,
    pub slow_state: Option<Box<SlowState>>,
    pub hash: u32,
    pub state: TcpState,
    pub flags: u8,
    pub priority: u8,
    /// See [`closing`].
    pub closing: u8,

    pub halves: [Half; 2],

    pub id: u64,
    pub first_ns: [u64; 2],
    pub last_ns: [u64; 2],
    /// Packet clock (not the packet's timestamp) at the last packet: the clock of timeouts.
    pub seen_clock_ns: u64,
    pub delivered: [u64; 2],
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            key: Key::NONE,
            slow_state: None,
            hash: 0,
            state: TcpState::Stateless,
            flags: 0,
            priority: 0,
            closing: 0,
            halves: [Half::NEW; 2],
            id: 0,
            first_ns: [0; 2],
            last_ns: [0; 2],
            seen_clock_ns: 0,
            delivered: [0; 2],
        }
    }
}

/// Internal offset at which a direction starts whose beginning was not seen: leaves room for earlier bytes that arrive
/// late.
pub(crate) const MIDSTREAM_START: u64 = 1 << 32;

/// The farthest that a late SYN may lie before what arrived earlier: many times what is in flight at once.
pub(crate) const SYN_BEFORE_MAX: i64 = 1 << 20;

impl Flow {
    #[inline(always)]
    pub(crate) fn has(&self, bits: u8) -> bool {
        self.flags & bits != 0
    }

    /// The direction of a packet whose sender is (or is not) the key's lower endpoint.
    #[inline(always)]
    pub(crate) fn direction(&self, from_a: bool) -> Direction {
        if from_a == self.has(bits::CLIENT_IS_A) { Direction::ClientToServer } else { Direction::ServerToClient }
    }

    /// The internal offset that the stream's own offsets count from.
    #[inline(always)]
    pub(crate) fn bias(&self, direction: Direction) -> u64 {
        let half = &self.halves[direction as usize];
        match &self.slow_state {
            Some(slow_state) if slow_state.bias[direction as usize] != u64::MAX => slow_state.bias[direction as usize],
            _ if half.has(half::SYN) || self.state == TcpState::Stateless => 0,
            _ => MIDSTREAM_START,
        }
    }

    /// Offset of the stream's next byte: of the first subflow of a connection of Multipath TCP, that of the connection's stream.
    pub(crate) fn reached(&self, direction: Direction) -> u64 {
        match self.connection_stream() {
            Some(connection) => connection.sides[direction as usize].next(),
            None => self.next_offset(direction),
        }
    }

    /// How many bytes of a direction are delivered at most; `of_all`: of flows without a cutoff of their own.
    #[inline(always)]
    pub(crate) fn cutoff(&self, direction: Direction, of_all: &DirectionCutoff) -> u64 {
        let at = direction as usize;
        match &self.slow_state {
            Some(slow_state) if self.halves[at].has(half::OWN_CUTOFF) => slow_state.cutoff[at],
            _ => of_all.0[at],
        }
    }

    /// Offset of the next byte of this flow alone, which may be a subflow; 0 before the direction's beginning is known.
    #[inline(always)]
    pub(crate) fn reached_here(&self, direction: Direction) -> u64 {
        if self.halves[direction as usize].has(half::KNOWN) { self.next_offset(direction) } else { 0 }
    }

    /// The next byte's internal offset as one of the stream.
    #[inline(always)]
    fn next_offset(&self, direction: Direction) -> u64 {
        self.halves[direction as usize].next.saturating_sub(self.bias(direction))
    }

    /// Whether a connection of Multipath TCP continues in other subflows than this one, its first.
    pub(crate) fn continues_elsewhere(&self) -> bool {
        self.connection_stream().is_some_and(|connection| connection.others > 0)
    }

    /// The connection of Multipath TCP whose first subflow this is.
    pub(crate) fn connection_stream(&self) -> Option<&ConnectionStream> {
        self.slow_state.as_ref().and_then(|slow_state| slow_state.connection_stream.as_deref())
    }

    /// Whether a direction whose SYN was not seen may begin with this number: at or shortly before what waits, or
    /// exactly where it was assumed to begin.
    pub(crate) fn may_begin_at(&self, direction: Direction, first_byte: u32) -> bool {
        let me = &self.halves[direction as usize];
        let offset = me.offset_of(first_byte);
        if !me.has(half::HELD) {
            return offset == self.bias(direction) as i64;
        }
        let queued = self.slow_state.as_ref().and_then(|slow_state| slow_state.first_known(direction as usize));
        let first = queued.map_or(me.next as i64, |first| first as i64);
        (0..=first).contains(&offset) && first - offset <= SYN_BEFORE_MAX
    }

    /// Counts packets of a direction.
    #[inline(always)]
    pub(crate) fn add_packets(&mut self, at: usize, packets: u64) {
        let (sum, over) = self.halves[at].packets.overflowing_add(packets as u32);
        self.halves[at].packets = sum;
        if over || packets >> 32 != 0 {
            self.carry_packets(at, packets >> 32, over);
        }
    }

    /// Moves a multiple of 2^31 packets out of the direction's own count, which stays above 0.
    #[cold]
    fn carry_packets(&mut self, at: usize, wraps: u64, over: bool) {
        const KEPT: u32 = 1 << 31;
        let half = &mut self.halves[at];
        let mut carried = (wraps + u64::from(over)) << 32;
        if half.packets < KEPT {
            half.packets += KEPT;
            carried -= u64::from(KEPT);
        }
        self.slow_state().more_packets[at] += carried;
    }

    /// Packets of a direction.
    pub(crate) fn packets(&self, at: usize) -> u64 {
        let more = self.slow_state.as_ref().map_or(0, |slow_state| slow_state.more_packets[at]);
        u64::from(self.halves[at].packets) + more
    }

    /// Counts the frames of a packet: `frame_bytes` in total, of which `ip_bytes` from the network layer up.
    #[inline(always)]
    pub(crate) fn count_frames(&mut self, at: usize, frame_bytes: u64, ip_bytes: u64) {
        let half = &mut self.halves[at];
        half.ip_bytes += ip_bytes;
        let (sum, over) = half.link_bytes.overflowing_add(frame_bytes.saturating_sub(ip_bytes) as u32);
        half.link_bytes = sum;
        if over {
            self.slow_state().link_wraps[at] += 1;
        }
    }

    /// Counts the frames of many packets: their bytes outside IP packets may wrap more than once.
    pub(crate) fn count_many(&mut self, at: usize, frame_bytes: u64, ip_bytes: u64) {
        let link_bytes = frame_bytes.saturating_sub(ip_bytes);
        if link_bytes >> 32 != 0 {
            self.slow_state().link_wraps[at] += (link_bytes >> 32) as u32;
        }
        self.count_frames(at, ip_bytes + (link_bytes & 0xffff_ffff), ip_bytes);
    }

    /// Notes flags of a segment that are in the byte before the others: AE and three that are reserved.
    #[cold]
    pub(crate) fn note_high_flags(&mut self, at: usize, flags: u8) {
        if flags & 1 != 0 {
            self.closing |= closing::AE << at;
        }
        if flags & 0x0e != 0 {
            self.slow_state().reserved_flags[at] |= flags & 0x0e;
        }
    }

    /// All flags of a direction's segments.
    pub(crate) fn tcp_flags(&self, at: usize) -> u16 {
        let ae = self.closing & closing::AE << at != 0;
        let reserved = self.slow_state.as_ref().map_or(0, |slow_state| slow_state.reserved_flags[at]);
        u16::from(reserved) << 8 | u16::from(ae) << 8 | u16::from(self.halves[at].tcp_flags)
    }

    /// Bytes on the wire of a direction's frames.
    pub(crate) fn frame_bytes(&self, at: usize) -> u64 {
        let wraps = self.slow_state.as_ref().map_or(0, |slow_state| u64::from(slow_state.link_wraps[at]));
        self.halves[at].ip_bytes + u64::from(self.halves[at].link_bytes) + (wraps << 32)
    }

    /// The slow state, created on demand.
    pub(crate) fn slow_state(&mut self) -> &mut SlowState {
        self.slow_state.get_or_insert_default()
    }

    /// Timestamp of the flow's last packet.
    pub(crate) fn end_ns(&self) -> u64 {
        self.last_ns[0].max(self.last_ns[1])
    }

    /// Whether a packet is not earlier than the flow's last one, nor much later.
    #[inline(always)]
    pub(crate) fn is_next_time(&self, timestamp_ns: u64) -> bool {
        timestamp_ns.checked_sub(self.end_ns()).is_some_and(|later_ns| later_ns <= CLOCK_STEP_NS)
    }

    /// Timestamp of the flow's first packet.
    pub(crate) fn start_ns(&self) -> u64 {
        match (self.halves[0].packets(), self.halves[1].packets()) {
            (0, _) => self.first_ns[1],
            (_, 0) => self.first_ns[0],
            _ => self.first_ns[0].min(self.first_ns[1]),
        }
    }

    /// Whether the end was reported to the handler.
    #[inline(always)]
    pub(crate) fn is_reported(&self) -> bool {
        self.closing & closing::REPORTED != 0
    }

    /// Whether the connection is over: nothing more is expected of it.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, TcpState::Closed | TcpState::Reset)
    }

    /// Internal offset up to which the receiver has acknowledged.
    #[inline]
    pub(crate) fn acknowledged(&self, direction: Direction) -> u64 {
        let (me, peer) = (&self.halves[direction as usize], &self.halves[direction.opposite() as usize]);
        if peer.has(half::ACKED) { me.offset_of(peer.ack).max(0) as u64 } else { 0 }
    }

    /// Whether empty segments or a FIN say that bytes are missing behind all that were seen in order.
    pub(crate) fn misses_bytes(&self, direction: Direction) -> bool {
        let at = direction as usize;
        let next = self.halves[at].next;
        let says_so = |slow_state: &SlowState| {
            slow_state.claimed[at] > next || slow_state.fin_at[at] != u64::MAX && slow_state.fin_at[at] > next
        };
        self.slow_state.as_deref().is_some_and(says_so)
    }

    /// Notes that a segment says for the first time that bytes before it are missing: they were sent since the direction's packet before it.
    pub(crate) fn note_missing(&mut self, direction: Direction, before_ns: u64) {
        let at = direction as usize;
        if !self.halves[at].has(half::QUEUED) && !self.misses_bytes(direction) {
            self.slow_state().hole_after_ns[at] = before_ns;
        }
    }

    /// Internal offset of the direction's FIN; `None`: none was seen.
    #[inline]
    pub(crate) fn fin_of(&self, direction: Direction) -> Option<i64> {
        let me = &self.halves[direction as usize];
        if me.has(half::FIN) {
            return Some(me.next as i64);
        }
        let slow_state = self.slow_state.as_ref()?;
        let at = slow_state.fin_at[direction as usize];
        (at != u64::MAX).then_some(at as i64)
    }
}

const _: () = assert!(size_of::<Flow>() == 256, "a flow is four cache lines");
const _: () = assert!(size_of::<Half>() == 64, "a direction is one cache line");

#[cfg(test)]
mod tests {
    use super::*;

    /// A direction of more packets than its own count holds.
    #[test]
    fn packets_are_counted_beyond_their_field() {
        let mut flow = Flow::default();
        let mut sum = 0_u64;
        for packets in [1, u64::from(u32::MAX), 1, 1 << 31, 5 << 32, (1 << 32) - 1, 1, 7 << 31] {
            flow.add_packets(0, packets);
            sum += packets;
            assert_eq!(flow.packets(0), sum);
            assert_ne!(flow.halves[0].packets(), 0);
        }
        assert_eq!((flow.packets(1), flow.halves[1].packets()), (0, 0));
    }
}
