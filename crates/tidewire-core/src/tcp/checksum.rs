//! Wrong checksums: which of them the sender caused, and which are artefacts of the capture.
//!
//! A wrong checksum in a capture has three causes. The sender's network card computes it after the capture saw the
//! packet; a receiver's card or driver merged several packets and kept the first one's; or the packet was sent with it,
//! and the receiver dropped it. [`ChecksumMode::Auto`] leaves the decision to the receiver: payload with a wrong
//! checksum is kept as unconfirmed bytes, which lose against all others and are delivered when they are acknowledged.
//!
//! Payload and FINs with wrong checksums are unconfirmed bytes: they lose against everything else and are delivered
//! when they are acknowledged (`tcp/checksum.rs`). Three acknowledgments of that kind, and the engine stops waiting for
//! that direction, as long as none of its payload has a right checksum, or for segments larger than a frame; a sender
//! on the wire cannot bring that about. Where the receiver is not seen at all, unconfirmed bytes are believed after 32
//! segments, or instead of a hole that is given up. SACK blocks count as acknowledgments (`tcp/sack.rs`). At the end
//! they are believed unless the receiver acknowledged less after they arrived. What is left out is a gap with the cause
//! `bad_checksum`. Its packet has no fate until that is decided.
//!
//! No receiver acknowledges a datagram. The pseudo-header's sum alone is the mark of offloading, and a datagram larger
//! than a frame was merged: both are delivered. Another wrong checksum is damage only while right ones, or absent ones,
//! outnumber the wrong ones of its sender: one in 65,536 is right by chance. (Checksums of fragmented datagrams do not
//! count: hosts compute those themselves.) `verify` and `ignore` override this.

use super::{Segment, tcp_flag};
use crate::{
    AnomalyKind, ChecksumMode, ChecksumStatus, Direction, Fate, GapCause, Mode, PacketChecksum,
    accounting::Reservation,
    connection::Connection,
    flow::{
        Flow, checks,
        doubted::{charge_of, disjoint, least_start_behind, note},
        half,
    },
    packet::Packet,
    wire::{
        Kind, TunnelKind,
        checksum::{self, Checksum},
    },
};

/// Acknowledgments of bytes with a wrong checksum after which the direction's wrong checksums count as artefacts of the
/// capture.
const CONFIRMED_MIN: u8 = 3;
/// Largest IP packet of an Ethernet frame.
const IP_BYTES_MAX: u32 = 1500;
/// Largest IP packet of a jumbo frame in use.
const JUMBO_IP_BYTES_MAX: u32 = 9216;

/// Largest hole before unconfirmed bytes that are accepted without an acknowledgment, where no window is known.
const JUMP_BYTES_MAX: u64 = 1 << 20;

/// How far before the last acknowledgment repetitions are searched where a stream may begin there: a large window. (The
/// sender's window is unknown where its scale was not captured.)
const REPEAT_BYTES_MAX: i64 = 16 << 20;

/// The decision about a packet by its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was not looked at: the packet is accepted.
    Unverified,
    /// The checksum is not wrong.
    Right,
    /// The checksum is wrong, and the packet is accepted.
    Taken,
    /// The checksum is wrong: the receiver's acknowledgment decides.
    Unconfirmed,
    /// The packet is left out.
    LeftOut,
}

impl Verdict {
    /// As a handler sees it.
    pub(crate) fn shown(self) -> PacketChecksum {
        match self {
            Self::Unverified => PacketChecksum::Unverified,
            Self::Right => PacketChecksum::Right,
            Self::Taken | Self::Unconfirmed => PacketChecksum::Doubted,
            Self::LeftOut => PacketChecksum::LeftOut,
        }
    }
}

/// The result of a packet's checksums: the transport's, and the IPv4 header's.
#[inline(always)]
fn examine(packet: &Packet<'_>) -> Checksum {
    let found = examine_transport(packet);
    if packet.decoded.ip_version == 4 && checksum::ipv4_header_checksum(packet.bytes, packet.decoded) == Checksum::Bad {
        return Checksum::Bad;
    }
    found
}

/// The result of the transport's checksum alone, with the status that the frame's source reports.
#[inline(always)]
fn examine_transport(packet: &Packet<'_>) -> Checksum {
    let status = packet.frame.checksum;
    // In a tunnel the kernel's status may be that of the outer checksum.
    if status != ChecksumStatus::Unknown && packet.decoded.tunnel.kind == TunnelKind::None {
        return if status == ChecksumStatus::NotReady { Checksum::Unverifiable } else { Checksum::Good };
    }
    match checksum::transport_checksum(packet.bytes, packet.decoded) {
        // Not computed yet: it shows nothing.
        Checksum::Offloaded if status == ChecksumStatus::NotReady => Checksum::Unverifiable,
        found => found,
    }
}

#[inline(always)]
fn is_wrong(found: Checksum) -> bool {
    matches!(found, Checksum::Bad | Checksum::Offloaded)
}

/// Whether a receiving host would drop the packet for a checksum, if the packet was sent as captured.
pub(crate) fn has_wrong_checksum(packet: &Packet<'_>) -> bool {
    is_wrong(examine(packet))
}

/// Whether a packet's checksum was verified and is correct.
pub(crate) fn has_right_checksum(packet: &Packet<'_>) -> bool {
    examine(packet) == Checksum::Good
}

/// The result of verifying a SYN that waits for its answer.
pub(crate) fn held_checksum(mode: ChecksumMode, packet: &Packet<'_>) -> PacketChecksum {
    match mode {
        ChecksumMode::Ignore => PacketChecksum::Unverified,
        _ if has_wrong_checksum(packet) => PacketChecksum::Doubted,
        _ => PacketChecksum::Right,
    }
}

impl Flow {
    #[inline]
    fn judge_segment(&self, direction: Direction, packet: &Packet<'_>, segment: &Segment, found: Checksum) -> Verdict {
        let me = &self.halves[direction as usize];
        // Once the receiver confirmed a wrong one, correct ones show nothing about the others.
        let is_telling =
            self.slow_state.as_ref().is_none_or(|slow_state| slow_state.confirmed[direction as usize] == 0)
                && !me.checked(checks::STALE);
        if segment.has(tcp_flag::SYN) {
            // A second beginning, by a sender whose SYN was correct.
            let begins = me.base_seq.wrapping_add(self.bias(direction) as u32).wrapping_sub(1);
            let is_other = me.has(half::SYN) && segment.seq != begins;
            return match is_other && me.checked(checks::GOOD_SYN) {
                true => Verdict::LeftOut,
                false => Verdict::Unconfirmed,
            };
        }
        if segment.has(tcp_flag::RST) {
            // Nothing answers a reset. Hosts that offload checksums offload those of empty segments, too.
            let was_right = me.has(half::GOOD_CHECKSUM) || me.checked(checks::GOOD_BARE);
            return if was_right && is_telling { Verdict::LeftOut } else { Verdict::Taken };
        }
        if segment.length > 0 || segment.has(tcp_flag::FIN) {
            let trusted = self.is_trusted(direction, packet);
            return if trusted { Verdict::Taken } else { Verdict::Unconfirmed };
        }
        // An acknowledgment that was damaged in transit. Checksums that offloading leaves incomplete look different,
        // and some senders compute those of some segments in software.
        let is_damaged = found == Checksum::Bad && me.checked(checks::GOOD_BARE) && is_telling;
        if is_damaged { Verdict::LeftOut } else { Verdict::Taken }
    }

    /// Datagrams are not acknowledged. The sum of the pseudo-header alone is the mark of offloading, and a datagram
    /// larger than a frame was merged, or not split yet. Any other wrong checksum is damage only where most datagrams of
    /// the sender have a correct one, or none: one in 65,536 is correct by chance.
    #[inline]
    fn judge_datagram(&mut self, direction: Direction, packet: &Packet<'_>, found: Checksum) -> Verdict {
        let is_merged = !packet.is_rebuilt && packet.decoded.ip_bytes > IP_BYTES_MAX;
        if found == Checksum::Offloaded || is_merged {
            return Verdict::Taken;
        }
        let me = &mut self.halves[direction as usize];
        let (right, wrong) = me.verified_datagrams();
        me.count_verified(false);
        if right > wrong { Verdict::LeftOut } else { Verdict::Taken }
    }

    /// Whether the wrong checksums of a direction are known artefacts of the capture: the receiver acknowledged several
    /// segments with wrong ones, and no payload ever had a correct one, or the segment is larger than a frame.
    ///
    /// A sender on the wire cannot cause this: a receiver does not acknowledge what it dropped.
    #[inline(always)]
    fn is_trusted(&self, direction: Direction, packet: &Packet<'_>) -> bool {
        let me = &self.halves[direction as usize];
        me.checked(checks::STALE) && (!me.has(half::GOOD_CHECKSUM) || is_merged(self, direction, packet))
    }

    /// Up to where unconfirmed bytes are accepted when nothing more will be acknowledged: all with a wrong checksum,
    /// unless the receiver denied them. Larger ones than a frame also then, where it confirmed others.
    #[inline]
    pub(crate) fn accepted_at_end(&self, direction: Direction) -> u64 {
        let at = direction as usize;
        let Some(slow_state) = &self.slow_state else { return 0 };
        let is_denied = is_denied(self, direction);
        if slow_state.confirmed[at] == 0 && is_denied {
            return 0;
        }
        if !self.halves[at].has(half::GOOD_CHECKSUM) {
            return slow_state.doubted[at].last().map_or(0, |one| one.end).max(slow_state.merged_end[at]);
        }
        if is_denied {
            return slow_state.merged_end[at];
        }
        // Bytes that are doubtful for another reason follow those that join each other.
        let reach = self.halves[at].next;
        let end = self.doubted_joined(direction, reach);
        if end > reach { end.max(slow_state.merged_end[at]) } else { slow_state.merged_end[at] }
    }

    /// Processes an acknowledgment `ack` that leaves out unconfirmed bytes sent before it: the receiver has dropped
    /// them. Not where it accepted others, with this acknowledgment or before, nor with the first number that is known
    /// of it.
    #[inline]
    pub(crate) fn deny_doubted(&mut self, direction: Direction, ack: u32) {
        let at = direction as usize;
        let me = &self.halves[at];
        let reached = me.offset_of(ack).max(0) as u64;
        if reached > me.next || !self.halves[direction.opposite() as usize].has(half::ACKED) {
            return;
        }
        let (fin, has_right) = (me.has(half::DOUBTFUL_FIN), me.has(half::GOOD_CHECKSUM));
        let Some(slow_state) = self.slow_state.as_mut().filter(|slow_state| !slow_state.doubted[at].is_empty()) else {
            return;
        };
        if slow_state.confirmed[at] > 0 && !has_right {
            return;
        }
        let fin = if fin { slow_state.fin_doubtful[at].saturating_add(1) } else { 0 };
        let end = slow_state.queue[at].end().max(fin);
        if end > reached {
            slow_state.denied[at] = slow_state.denied[at].max(end);
            slow_state.unanswered[at] = None;
        }
    }

    /// Whether unconfirmed payload of a direction whose beginning is unknown lies outside any window that its receiver
    /// had: accepting it would invent gigabytes.
    #[inline]
    pub(crate) fn is_outside_windows(&self, direction: Direction, segment: &Segment) -> bool {
        let (me, peer) = (&self.halves[direction as usize], &self.halves[direction.opposite() as usize]);
        if !me.has(half::HELD) || !peer.has(half::ACKED) || peer.has(half::SHUNTED) {
            return false;
        }
        let (acked, edge) = (me.offset_of(peer.ack), me.offset_of(peer.edge));
        let start = me.offset_of(segment.seq);
        let queued = self.slow_state.as_ref().map_or(0, |slow_state| slow_state.queue[direction as usize].end() as i64);
        let jump = JUMP_BYTES_MAX as i64;
        start > edge.max(queued).max(acked + jump) || start + i64::from(segment.length) < acked - REPEAT_BYTES_MAX
    }

    /// Up to where doubtful bytes are accepted because their receiver is silent. Not those with a wrong checksum if the
    /// receiver was captured before: it drops those silently in any case.
    #[inline]
    pub(crate) fn silence_limit(&self, direction: Direction) -> u64 {
        if self.engine_decides(direction) {
            return u64::MAX;
        }
        let Some(slow_state) = &self.slow_state else { return u64::MAX };
        let reached = self.acknowledged(direction).max(self.halves[direction as usize].next);
        least_start_behind(&slow_state.doubted[direction as usize], reached).unwrap_or(u64::MAX)
    }

    /// Bounds what is accepted up to `limit` when nothing more will be acknowledged: unconfirmed bytes must continue
    /// others, or lie in the receiver's window.
    #[inline]
    pub(crate) fn bound_accepted(&self, direction: Direction, limit: u64) -> u64 {
        let (me, peer) = (&self.halves[direction as usize], &self.halves[direction.opposite() as usize]);
        if me.has(half::HELD) {
            return limit;
        }
        let edge = if peer.has(half::ACKED) { me.offset_of(peer.edge).max(0) as u64 } else { 0 };
        let mut reached = me.next;
        let last = self.slow_state.as_ref().and_then(|slow_state| slow_state.doubted[direction as usize].last());
        if last.is_none_or(|last| last.end <= edge.max(reached.saturating_add(JUMP_BYTES_MAX))) {
            return limit;
        }
        for (start, end) in self.doubted_ranges(direction) {
            if end > edge && start > reached.saturating_add(JUMP_BYTES_MAX) {
                return limit.min(start);
            }
            reached = reached.max(end);
        }
        limit
    }

    /// Whether the engine decides because the receiver is not captured: as for a hole.
    #[inline]
    pub(crate) fn engine_decides(&self, direction: Direction) -> bool {
        let peer = &self.halves[direction.opposite() as usize];
        peer.packets() == 0 || peer.has(half::SHUNTED)
    }

    /// Unconfirmed bytes alone are not a hole: they are accepted after `segments_min` segments of a direction whose
    /// receiver is not captured.
    #[inline]
    pub(crate) fn accept_unseen(&mut self, direction: Direction, segments_min: u32) {
        let at = direction as usize;
        if !self.engine_decides(direction) {
            return;
        }
        let Some(slow_state) = self.slow_state.as_mut().filter(|slow_state| !slow_state.doubted[at].is_empty()) else {
            return;
        };
        if slow_state.hole_segments[at] >= segments_min {
            slow_state.accepted[at] = slow_state.accepted[at].max(slow_state.queue[at].end());
            if !self.halves[at].has(half::GOOD_CHECKSUM) {
                self.halves[direction as usize].note_check(checks::STALE);
            }
        }
    }

    /// The ranges with wrong checksums of a direction, in order, without overlaps.
    #[inline]
    pub(crate) fn doubted_ranges(&self, direction: Direction) -> impl Iterator<Item = (u64, u64)> {
        disjoint(self.slow_state.as_ref().map_or(&[], |slow_state| &slow_state.doubted[direction as usize]))
    }

    /// Up to where ranges with wrong checksums continue what ends at `end`, and each other.
    #[inline]
    pub(crate) fn doubted_joined(&self, direction: Direction, end: u64) -> u64 {
        let mut reached = end;
        for (start, end) in self.doubted_ranges(direction) {
            if start > reached {
                break;
            }
            reached = reached.max(end);
        }
        reached
    }
}

impl Connection<'_> {
    /// For the fast path: what is known of a plain segment's checksum; `None`: it needs a decision.
    #[inline(always)]
    pub(crate) fn plain_checksum(&mut self, direction: Direction, packet: &Packet<'_>) -> Option<PacketChecksum> {
        if self.shared.config.checksum == ChecksumMode::Ignore {
            return Some(PacketChecksum::Unverified);
        }
        let found = examine(packet);
        if is_wrong(found) {
            let is_artefact = self.shared.config.checksum == ChecksumMode::Auto
                && packet.decoded.payload_bytes > 0
                && self.flow.is_trusted(direction, packet);
            return is_artefact.then_some(PacketChecksum::Doubted);
        }
        note_correct_checksum(self.flow, direction, packet, found, 0);
        Some(PacketChecksum::Right)
    }

    /// Decides on a packet's checksum.
    pub(crate) fn verify(&mut self, direction: Direction, packet: &Packet<'_>, segment: Option<&Segment>) -> Verdict {
        let found = examine(packet);
        if !is_wrong(found) {
            note_correct_checksum(self.flow, direction, packet, found, segment.map_or(0, |segment| segment.flags));
            return Verdict::Right;
        }
        let verdict = match segment {
            _ if self.shared.config.checksum == ChecksumMode::Verify => Verdict::LeftOut,
            Some(segment) => self.flow.judge_segment(direction, packet, segment, found),
            None => self.flow.judge_datagram(direction, packet, found),
        };
        match verdict {
            Verdict::LeftOut => self.note_anomaly(AnomalyKind::BadChecksum),
            _ => self.note_anomaly_once(AnomalyKind::BadChecksum),
        }
        verdict
    }

    /// Records payload or a FIN with a wrong checksum. Returns whether its packet's fate waits for the decision: if
    /// `may_wait`, and there was room.
    pub(crate) fn note_doubted(&mut self, direction: Direction, (start, end): (u64, u64), may_wait: bool) -> bool {
        let at = direction as usize;
        let list = &self.flow.slow_state().doubted[at];
        if list.len() == list.capacity() {
            self.settle_doubted(direction, &[]);
        }
        let list = &mut self.flow.slow_state().doubted[at];
        let before = charge_of(list);
        let has_room = note(list, start, end, u32::from(may_wait));
        self.shared.undecided += u64::from(may_wait && has_room);
        self.reserve_doubted(direction, before);
        has_room
    }

    /// Reserves memory for the new size of a list.
    fn reserve_doubted(&mut self, direction: Direction, before: u64) {
        let list = self.flow.slow_state.as_ref().map(|slow_state| &slow_state.doubted[direction as usize]);
        let after = list.map_or(0, charge_of);
        let change = (Reservation::of_bytes(before), Reservation::of_bytes(after));
        self.shared.accounting.reserve(&self.shared.now, self.flow, direction, change, after > before);
    }

    /// Records payload that was left out, so that its gap has the right cause.
    pub(crate) fn note_left_out(&mut self, direction: Direction, segment: &Segment) {
        let me = &self.flow.halves[direction as usize];
        let (start, next) = (me.offset_of(segment.seq), me.next as i64);
        let end = start + i64::from(segment.length);
        if segment.flags & (tcp_flag::SYN | tcp_flag::RST) == 0
            && me.has(half::KNOWN)
            && end > next.max(0)
            && end - next <= 1 << 30
        {
            self.note_doubted(direction, (start.max(0) as u64, end as u64), false);
        }
    }

    /// Settles what the direction has passed. `accepted`: ranges of bytes with wrong checksums that were delivered, in
    /// order. A segment delivered in part has its fate from that part, but confirms no other: the receiver may have
    /// dropped it, and have acknowledged other bytes in its place.
    pub(crate) fn settle_doubted(&mut self, direction: Direction, accepted: &[(u64, u64)]) {
        let at = direction as usize;
        let next = self.flow.halves[at].next;
        let acknowledged = self.flow.acknowledged(direction);
        let Some(slow_state) = self.flow.slow_state.as_mut().filter(|slow_state| !slow_state.doubted[at].is_empty())
        else {
            return;
        };
        let list = &mut slow_state.doubted[at];
        let before = charge_of(list);
        let mut is_confirmed = false;
        let passed = list.partition_point(|one| one.is_past(next));
        for (index, one) in list.iter_mut().enumerate() {
            // Delivered bytes lie before `next`, and no range from here on begins there.
            if index >= passed && (accepted.is_empty() || one.low >= next) {
                break;
            }
            let (is_believed, is_whole) = one.is_in(accepted);
            // Segments whose packets have a fate already, beyond a cutoff, confirm others as well.
            is_confirmed |= is_whole && one.end <= acknowledged;
            if one.pending > 0 && (is_believed || index < passed) {
                let fate = if is_believed { Fate::Tracked } else { Fate::BadChecksum };
                self.shared.ledger.settle_many(fate, std::mem::take(&mut one.pending).into());
            }
        }
        list.drain(..passed);
        if list.is_empty() {
            *list = Vec::new();
        }
        if is_confirmed {
            slow_state.confirmed[at] = slow_state.confirmed[at].saturating_add(1);
            if slow_state.confirmed[at] >= CONFIRMED_MIN {
                self.flow.halves[direction as usize].note_check(checks::STALE);
            }
        }
        self.reserve_doubted(direction, before);
    }

    /// Accepts a FIN with a wrong checksum.
    pub(crate) fn settle_doubted_fin(&mut self, direction: Direction, fin: u64) {
        let Some(slow_state) = &mut self.flow.slow_state else { return };
        for one in slow_state.doubted[direction as usize].iter_mut().filter(|one| (one.start, one.end) == (fin, fin)) {
            self.shared.ledger.settle_many(Fate::Tracked, std::mem::take(&mut one.pending).into());
        }
    }

    /// Leaves out what was not accepted: nothing more will be decided.
    pub(crate) fn forget_doubted(&mut self, direction: Direction) {
        let Some(slow_state) = &mut self.flow.slow_state else { return };
        let list = std::mem::take(&mut slow_state.doubted[direction as usize]);
        let pending = list.iter().map(|one| u64::from(one.pending)).sum();
        self.shared.ledger.settle_many(Fate::BadChecksum, pending);
        self.reserve_doubted(direction, charge_of(&list));
    }

    /// Accepts unconfirmed bytes in a hole that is given up, where the receiver is not captured or the mode does not
    /// wait for it. Returns whether there were any.
    pub(crate) fn accept_in_hole(&mut self, direction: Direction, first: u64) -> bool {
        let at = direction as usize;
        if self.shared.config.mode != Mode::Fast && !self.flow.engine_decides(direction) {
            return false;
        }
        let next = self.flow.halves[at].next;
        let Some(slow_state) = &mut self.flow.slow_state else { return false };
        let is_any = least_start_behind(&slow_state.doubted[at], next).is_some_and(|start| start < first);
        let is_new = is_any && slow_state.accepted[at] < first;
        if is_new {
            slow_state.accepted[at] = first;
        }
        is_new
    }

    /// The cause of the first part of `[from, until)`, which is given up for `cause`, and its end. `doubted`: the
    /// ranges that remain after those that earlier calls, with smaller `from`, have passed.
    pub(crate) fn cause_of(doubted: &mut &[(u64, u64)], from: u64, until: u64, cause: GapCause) -> (u64, GapCause) {
        if !cause.is_unseen() {
            return (until, cause);
        }
        while let [(_, end), rest @ ..] = *doubted
            && *end <= from
        {
            *doubted = rest;
        }
        match doubted.first() {
            Some((start, end)) if *start <= from => (until.min(*end), GapCause::BadChecksum),
            Some((start, _)) => (until.min(*start), cause),
            None => (until, cause),
        }
    }
}

/// Whether the receiver acknowledged less than the unconfirmed bytes that existed.
fn is_denied(flow: &Flow, direction: Direction) -> bool {
    let at = direction as usize;
    let (me, peer) = (&flow.halves[at], &flow.halves[direction.opposite() as usize]);
    let acknowledged = if peer.has(half::ACKED) { me.offset_of(peer.ack).max(0) as u64 } else { 0 };
    flow.slow_state.as_ref().is_some_and(|slow_state| slow_state.denied[at] > acknowledged.max(me.next))
}

/// Whether a segment is larger than any that its receiver accepts from the wire.
pub(crate) fn is_merged(flow: &Flow, direction: Direction, packet: &Packet<'_>) -> bool {
    let takes_large = flow.halves[direction.opposite() as usize].checked(checks::LARGE_FRAMES);
    !packet.is_rebuilt && packet.decoded.ip_bytes > if takes_large { JUMBO_IP_BYTES_MAX } else { IP_BYTES_MAX }
}

/// Notes that a direction can have correct checksums. Hosts that offload checksums compute some in software: those of a
/// SYN, a reset or a fragmented datagram show nothing about other packets.
#[inline(always)]
fn note_correct_checksum(flow: &mut Flow, direction: Direction, packet: &Packet<'_>, found: Checksum, flags: u8) {
    let me = &mut flow.halves[direction as usize];
    // A sender without checksums does not offload them.
    if found == Checksum::Absent && packet.decoded.kind == Kind::Udp {
        me.count_verified(true);
    }
    if found != Checksum::Good || packet.is_rebuilt {
        return;
    }
    if packet.decoded.kind != Kind::Tcp {
        return me.count_verified(true);
    }
    if flags & tcp_flag::SYN != 0 {
        me.note_check(checks::GOOD_SYN);
    } else if packet.decoded.payload_bytes > 0 {
        me.flags |= half::GOOD_CHECKSUM;
        // (A packet that the kernel calls correct may be merged.)
        if packet.decoded.ip_bytes > IP_BYTES_MAX && packet.frame.checksum == ChecksumStatus::Unknown {
            flow.halves[direction.opposite() as usize].note_check(checks::LARGE_FRAMES);
        }
    } else {
        me.note_check(checks::GOOD_BARE);
    }
}
