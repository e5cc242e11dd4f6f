//! Holes: how long they wait, their bounds, and what is reported when they are given up.
//!
//! STRICT waits for a hole until it is acknowledged (so the receiver has the bytes and the capture has not) *and* 64
//! packets with payload and 96 KiB have arrived behind it. FAST waits for 16 packets. A bound on memory or holes ends
//! the wait at once. A direction joined midstream first waits in the same way for earlier bytes; its acknowledged FIN
//! ends that wait. It ends for both directions at once, and what waited is delivered in the order of its arrival with
//! its own times (`tcp/arrivals.rs`): otherwise all requests would come before all answers. A side need not wait if the
//! other one did or has its own SYN, and its first byte is the one that was acknowledged. A hole that is given up is a
//! gap with its cause; ranges known to be snapped, shed or cut keep theirs.
//!
//! **STRICT gives up a hole only after 64 packets and 96 KiB.** An acknowledgement says that the receiver has the
//! bytes. A capture may still show them later, because taps and multi-queue cards reorder. With both conditions STRICT
//! waits for a short connection to its end, and a long one on a lossy link costs at most 96 KiB and 64 packets a hole.
//! Holes that were never acknowledged are never given up by STRICT, only by a bound: the sender will fill them.

use super::Events;
use crate::{
    AnomalyKind, Direction, Gap, GapCause, Mode,
    connection::Connection,
    flow::{ARRIVALS_MAX, Flow, MIDSTREAM_START, half},
    lost_ranges::Range,
};

/// Cost of a waiting segment beside its bytes, for `Config::hole_bytes_strict`.
const WAITING_OVERHEAD_BYTES: u64 = 112;

/// Whether a hole is given up, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HoleEnd {
    NotYet,
    /// It waited long enough.
    Time,
    /// There is no memory to wait longer.
    Bound,
}

impl Flow {
    /// Start of the queue's first bytes, if they lie beyond the next expected byte (or the beginning is not known).
    #[inline]
    pub(crate) fn next_queued(&self, direction: Direction) -> Option<u64> {
        let me = &self.halves[direction as usize];
        let slow_state = self.slow_state.as_ref()?;
        if me.has(half::HELD) {
            return slow_state.first_known(direction as usize);
        }
        let first = slow_state.queue[direction as usize].first_start()?;
        // Bytes beyond the FIN are never delivered.
        let fin = self.fin_of(direction).unwrap_or(i64::MAX);
        (first > me.next && (first as i64) < fin).then_some(first)
    }

    /// Whether a stream whose beginning was not captured has ended: nothing before what waits will arrive.
    #[inline]
    pub(crate) fn is_begun(&self, direction: Direction) -> bool {
        const HELD_TO_THE_END: u16 = half::HELD | half::FIN_SEEN;
        let me = &self.halves[direction as usize];
        let peer = &self.halves[direction.opposite() as usize];
        me.flags & (HELD_TO_THE_END | half::DOUBTFUL_FIN) == HELD_TO_THE_END
            && peer.has(half::ACKED)
            && self.fin_of(direction).is_some_and(|fin| me.offset_of(peer.ack) > fin)
    }

    /// Begins a stream whose beginning was not captured: what lies before `first` is no hole, as far as the capture
    /// shows.
    pub(crate) fn begin_here(&mut self, direction: Direction, first: u64) {
        let at = direction as usize;
        let start = if self.began_before(direction, first) { MIDSTREAM_START } else { first };
        self.halves[at].flags &= !half::HELD;
        self.halves[at].next = start;
        self.slow_state().bias[at] = start;
    }

    /// Whether the receiver has what lies before the queue's first bytes. Assumed where the receiver is never seen.
    #[inline]
    fn is_acknowledged(&self, direction: Direction) -> bool {
        let me = &self.halves[direction as usize];
        let peer = &self.halves[direction.opposite() as usize];
        if me.has(half::HELD) || peer.packets() == 0 || !peer.has(half::ACKED) || peer.has(half::SHUNTED) {
            return true;
        }
        let acknowledged = me.offset_of(peer.ack).max(0) as u64;
        let first = self.slow_state.as_ref().and_then(|slow_state| slow_state.queue[direction as usize].first_start());
        first.is_some_and(|first| acknowledged >= first || self.is_sacked(direction, me.next, first))
    }

    /// Whether a direction waits for its beginning, and the order of no further arrival can be noted.
    fn has_all_arrivals(&self, direction: Direction) -> bool {
        self.halves[direction as usize].has(half::HELD)
            && self.slow_state.as_ref().is_some_and(|slow_state| slow_state.arrivals.len() >= ARRIVALS_MAX)
    }

    /// Whether a direction need not wait for its beginning: the other one did, or has its own, and what waits begins
    /// where the other side had acknowledged all before.
    fn begins_with_other(&self, direction: Direction) -> bool {
        let peer = &self.halves[direction.opposite() as usize];
        peer.flags & (half::KNOWN | half::HELD) == half::KNOWN
            && self.halves[direction as usize].has(half::HELD)
            && self
                .slow_state
                .as_ref()
                .and_then(|slow_state| slow_state.first_known(direction as usize))
                .is_some_and(|first| first <= MIDSTREAM_START)
    }
}

impl Connection<'_> {
    /// Whether the hole before the queue's first bytes waited long enough, or must not wait.
    pub(crate) fn hole_is_over(&mut self, direction: Direction) -> HoleEnd {
        if self.flow.slow_state.is_none() {
            HoleEnd::NotYet
        } else if self.hole_is_too_much(direction) {
            HoleEnd::Bound
        } else if self.hole_is_old(direction) {
            HoleEnd::Time
        } else {
            HoleEnd::NotYet
        }
    }

    /// Whether a bound does not allow a direction to wait.
    fn hole_is_too_much(&mut self, direction: Direction) -> bool {
        let at = direction as usize;
        let queue = &self.flow.slow_state().queue[at];
        let (charged, holes) = (queue.charged_bytes(), queue.holes());
        let is_greedy = self.shared.accounting.is_greedy(&self.shared.now, self.flow, direction, charged);
        if charged > self.shared.config.stream_buffer_bytes || is_greedy {
            self.note_anomaly_once(AnomalyKind::BufferLimit);
            return true;
        }
        if self.flow.slow_state().lost_ranges[at].is_full() {
            // In a stream joined midway it is not a hole that is given up.
            if !self.flow.halves[at].has(half::HELD) {
                self.note_anomaly_once(AnomalyKind::HoleLimit);
            }
            return true;
        }
        let waiting_bytes = self.flow.slow_state().waiting_bytes[at];
        if holes > self.holes_max(waiting_bytes)
            || self.shared.accounting.holes() > u64::from(self.shared.config.holes_max)
        {
            self.note_anomaly_once(AnomalyKind::HoleLimit);
            return true;
        }
        false
    }

    /// Whether a direction waited long enough.
    fn hole_is_old(&mut self, direction: Direction) -> bool {
        let at = direction as usize;
        let segments = self.flow.slow_state().hole_segments[at];
        if self.shared.config.mode == Mode::Fast && segments >= self.shared.config.hole_segments_fast {
            return true;
        }
        if !self.flow.is_acknowledged(direction) {
            return false;
        }
        if self.flow.is_begun(direction)
            || self.flow.begins_with_other(direction)
            || self.flow.has_all_arrivals(direction)
        {
            return true;
        }
        let slow_state = self.flow.slow_state();
        let waited = self.shared.now.clock_ns.saturating_sub(slow_state.hole_since_ns[at]);
        if self.shared.config.hole_timeout_ns != 0 && waited >= self.shared.config.hole_timeout_ns {
            return true;
        }
        // Not the bytes that are stored: a cutoff behind a hole must not decide when the hole is given up.
        let waiting = slow_state.waiting_bytes[at] + u64::from(segments) * WAITING_OVERHEAD_BYTES;
        // In track mode packets count instead of bytes.
        let enough = self.shared.config.mode == Mode::Track || waiting >= self.shared.config.hole_bytes_strict;
        segments >= self.shared.config.hole_segments_strict && enough
    }

    /// How many holes a direction may have while so many bytes wait. Few bytes are not worth the bookkeeping of each
    /// hole, nor would a host keep them (Linux charges a segment of one byte with 768, so its first receive buffer of
    /// 128 KiB holds 170).
    fn holes_max(&self, waiting_bytes: u64) -> u32 {
        const FREE: u64 = 128;
        const BYTES_EACH: u64 = 128;
        let most = u64::from(self.shared.config.stream_holes_max);
        most.min(FREE.max(most / 4) + waiting_bytes / BYTES_EACH) as u32
    }

    /// Up to where the next bytes are known to be missing, and why.
    fn known_lost(&self, direction: Direction) -> Option<(u64, GapCause)> {
        let at = direction as usize;
        let slow_state = self.flow.slow_state.as_ref()?;
        if slow_state.lost_ranges[at].is_empty() && slow_state.truncated[at].is_empty() {
            return None;
        }
        let next = self.flow.halves[at].next;
        if self.flow.halves[at].has(half::HELD) {
            return None;
        }
        let is_next = |range: &Range| range.start <= next;
        let truncated = || {
            // The rest of a segment that the receiver has accepted.
            let range = slow_state.truncated[at].beyond(next).filter(is_next)?;
            Some(Range { end: range.end.min(self.flow.acknowledged(direction)), ..range })
        };
        let Range { end, cause, .. } = slow_state.lost_ranges[at].beyond(next).filter(is_next).or_else(truncated)?;
        let queued = slow_state.queue[at].first_start().filter(|first| *first > next).unwrap_or(u64::MAX);
        let until = end.min(queued).min(self.limits(direction).0);
        (until > next).then_some((until, cause))
    }

    /// Gives up bytes that are next and known to be missing, without waiting. Returns whether there were any.
    pub(crate) fn skip_lost(&mut self, events: &mut impl Events, direction: Direction) -> bool {
        let Some((until, cause)) = self.known_lost(direction) else { return false };
        self.give_up(events, direction, until, cause);
        true
    }

    /// Gives up the hole before internal offset `first`.
    pub(crate) fn give_up(&mut self, events: &mut impl Events, direction: Direction, first: u64, cause: GapCause) {
        let at = direction as usize;
        if self.flow.halves[at].has(half::HELD) {
            self.flow.begin_here(direction, first);
            if self.flow.halves[at].next >= first {
                return;
            }
        }
        let lost_ranges = std::mem::take(&mut self.flow.slow_state().lost_ranges[at]);
        let truncated = std::mem::take(&mut self.flow.slow_state().truncated[at]);
        let bias = self.flow.bias(direction);
        let mut from = self.flow.halves[at].next;
        let doubted: Vec<_> = self.flow.doubted_ranges(direction).take_while(|range| range.0 < first).collect();
        let mut doubted = doubted.as_slice();
        self.flow.halves[at].next = first;
        while from < first {
            let (until, why) = lost_ranges.cause_at(from, first, cause);
            let (until, why) = match Self::cause_of(&mut doubted, from, until, why) {
                (until, GapCause::BadChecksum) => truncated.cause_at(from, until, GapCause::BadChecksum),
                found => found,
            };
            events.gap(self, Gap { direction, offset: from - bias, bytes: until - from, cause: why });
            from = until;
        }
        let slow_state = self.flow.slow_state();
        // `hole_after_ns` stays: of a hole behind this one no more is known than that it is of the time since the queue was empty.
        slow_state.lost_ranges[at] = lost_ranges;
        slow_state.lost_ranges[at].forget_before(first);
        slow_state.truncated[at] = truncated;
        slow_state.truncated[at].forget_before(first);
        (slow_state.hole_segments[at], slow_state.hole_since_ns[at]) = (0, self.shared.now.clock_ns);
    }

    /// The cause of the hole before the queue's first bytes, which is given up for `cause`.
    pub(crate) fn hole_cause(&mut self, direction: Direction, cause: GapCause) -> GapCause {
        let at = direction as usize;
        let Some(slow_state) = self.flow.slow_state.as_ref().filter(|_| cause == GapCause::NotCaptured) else {
            return cause;
        };
        let times_ns = (slow_state.hole_after_ns[at], slow_state.hole_since_ns[at]);
        match self.shared.losses.is_any(Some(slow_state.hole_interface[at]), times_ns, self.shared.now.clock_ns) {
            true => GapCause::LostByCapture,
            false => cause,
        }
    }
}
