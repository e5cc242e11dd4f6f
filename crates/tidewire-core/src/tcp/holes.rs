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

use super::lost_ranges::Range;
use crate::{
    AnomalyKind, Conflict, Deliver, Direction, Gap, GapCause, Mode, TcpState,
    engine::context::FlowContext,
    flow::{Flow, MIDSTREAM_START, bits, half},
};

/// Cost of a waiting segment beside its bytes, for `Config::hole_bytes_strict`.
const WAITING_OVERHEAD_BYTES: u64 = 112;

/// What the queue of a direction holds and has charged.
#[derive(Clone, Copy, Default)]
pub(crate) struct QueueCharge {
    bytes: u64,
    holes: u64,
}

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
    #[inline]
    pub(crate) fn queue_charge(&self, direction: Direction) -> QueueCharge {
        let Some(slow_state) = &self.slow_state else { return QueueCharge::default() };
        let queue = &slow_state.queue[direction as usize];
        if queue.is_empty() {
            return QueueCharge::default();
        }
        QueueCharge { bytes: queue.charged_bytes(), holes: u64::from(queue.holes()) }
    }

    /// Start of the queue's first bytes, if they lie beyond the next expected byte (or the beginning is not known).
    #[inline]
    pub(crate) fn next_queued(&self, direction: Direction) -> Option<u64> {
        let me = &self.halves[direction as usize];
        let slow_state = self.slow_state.as_ref()?;
        if me.has(half::HELD) {
            return slow_state.first_known(direction as usize);
        }
        let first = slow_state.queue[direction as usize].first_start()?;
        // What waits beyond the FIN is never delivered.
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
}

impl<H: Deliver> FlowContext<H> {
    /// Whether a flow has delivered more than a direction's queue holds: the bound of all flows applies, not that of
    /// its source.
    fn is_deserving(&self, flow: &Flow, charged: u64) -> bool {
        flow.delivered[0] + flow.delivered[1] > charged + u64::from(self.accounting.budget.forced(self.now.slot))
    }

    /// Charges the budget with the new size of a queue, and lists the flow among those that hold bytes.
    pub(crate) fn settle_queue(&mut self, flow: &mut Flow, direction: Direction, before: QueueCharge) {
        let at = direction as usize;
        let now = flow.queue_charge(direction);
        self.accounting.budget.holes = (self.accounting.budget.holes + now.holes).saturating_sub(before.holes);
        self.accounting.recharge(&self.now, flow, direction, before.bytes, now.bytes);
        let is_held = flow.halves[at].has(half::HELD);
        let is_empty = flow.slow_state.as_ref().is_none_or(|slow_state| slow_state.has_nothing(at, is_held));
        if is_empty {
            flow.halves[at].flags &= !half::QUEUED;
            if let Some(slow_state) = &mut flow.slow_state {
                (slow_state.hole_segments[at], slow_state.waiting_bytes[at]) = (0, 0);
                slow_state.unanswered[at] = None;
            }
        } else {
            self.accounting.list_holder(&self.now, flow);
        }
    }

    /// Whether the hole before the queue's first bytes waited long enough, or must not wait.
    pub(crate) fn hole_is_over(&mut self, flow: &mut Flow, direction: Direction) -> HoleEnd {
        if flow.slow_state.is_none() {
            HoleEnd::NotYet
        } else if self.hole_is_too_much(flow, direction) {
            HoleEnd::Bound
        } else if self.hole_is_old(flow, direction) {
            HoleEnd::Time
        } else {
            HoleEnd::NotYet
        }
    }

    /// Whether a bound does not allow a direction to wait.
    fn hole_is_too_much(&mut self, flow: &mut Flow, direction: Direction) -> bool {
        let at = direction as usize;
        let from_a = flow.has(bits::CLIENT_IS_A) == (direction == Direction::ClientToServer);
        let groups = self.accounting.groups(flow, from_a);
        let slow_state = flow.slow_state();
        let queue = &slow_state.queue[at];
        let (charged, holes) = (queue.charged_bytes(), queue.holes());
        let is_greedy = self.accounting.budget.source_is_over(groups) && !self.is_deserving(flow, charged);
        if charged > self.config.stream_buffer_bytes || is_greedy {
            self.note_anomaly_once(flow, AnomalyKind::BufferLimit);
            return true;
        }
        if flow.slow_state().lost_ranges[at].is_full() {
            // In a stream joined midway it is not a hole that is given up.
            if !flow.halves[at].has(half::HELD) {
                self.note_anomaly_once(flow, AnomalyKind::HoleLimit);
            }
            return true;
        }
        if holes > self.holes_max(flow.slow_state().waiting_bytes[at])
            || self.accounting.budget.holes > u64::from(self.config.holes_max)
        {
            self.note_anomaly_once(flow, AnomalyKind::HoleLimit);
            return true;
        }
        false
    }

    /// Whether a direction waited long enough.
    fn hole_is_old(&mut self, flow: &mut Flow, direction: Direction) -> bool {
        let at = direction as usize;
        let segments = flow.slow_state().hole_segments[at];
        if self.config.mode == Mode::Fast && segments >= self.config.hole_segments_fast {
            return true;
        }
        if !flow.is_acknowledged(direction) {
            return false;
        }
        if flow.is_begun(direction) || flow.begins_with_other(direction) || flow.has_all_arrivals(direction) {
            return true;
        }
        let slow_state = flow.slow_state();
        let waited = self.now.clock_ns.saturating_sub(slow_state.hole_since_ns[at]);
        if self.config.hole_timeout_ns != 0 && waited >= self.config.hole_timeout_ns {
            return true;
        }
        // Not the bytes that are stored: a cutoff behind a hole must not decide when the hole is given up.
        let waiting = slow_state.waiting_bytes[at] + u64::from(segments) * WAITING_OVERHEAD_BYTES;
        // In track mode packets count instead of bytes.
        let enough = self.config.mode == Mode::Track || waiting >= self.config.hole_bytes_strict;
        segments >= self.config.hole_segments_strict && enough
    }

    /// How many holes a direction may have while so many bytes wait. Few bytes are not worth the bookkeeping of each
    /// hole, nor would a host keep them (Linux charges a segment of one byte with 768, so its first receive buffer of
    /// 128 KiB holds 170).
    fn holes_max(&self, waiting_bytes: u64) -> u32 {
        const FREE: u64 = 128;
        const BYTES_EACH: u64 = 128;
        let most = u64::from(self.config.stream_holes_max);
        most.min(FREE.max(most / 4) + waiting_bytes / BYTES_EACH) as u32
    }

    /// Up to where the next bytes are known to be missing, and why.
    fn known_lost(&self, flow: &Flow, direction: Direction) -> Option<(u64, GapCause)> {
        let at = direction as usize;
        let slow_state = flow.slow_state.as_ref()?;
        if slow_state.lost_ranges[at].is_empty() && slow_state.truncated[at].is_empty() {
            return None;
        }
        let next = flow.halves[at].next;
        if flow.halves[at].has(half::HELD) {
            return None;
        }
        let is_next = |range: &Range| range.start <= next;
        let truncated = || {
            // The rest of a segment that the receiver has accepted.
            let range = slow_state.truncated[at].beyond(next).filter(is_next)?;
            Some(Range { end: range.end.min(flow.acknowledged(direction)), ..range })
        };
        let Range { end, cause, .. } = slow_state.lost_ranges[at].beyond(next).filter(is_next).or_else(truncated)?;
        let queued = slow_state.queue[at].first_start().filter(|first| *first > next).unwrap_or(u64::MAX);
        let until = end.min(queued).min(self.limits(flow, direction).0);
        (until > next).then_some((until, cause))
    }

    /// Gives up bytes that are next and known to be missing, without waiting. Returns whether there were any.
    pub(crate) fn skip_lost(&mut self, flow: &mut Flow, data: &mut H::Data, direction: Direction) -> bool {
        let Some((until, cause)) = self.known_lost(flow, direction) else { return false };
        self.give_up(flow, data, direction, until, cause);
        true
    }

    /// Gives up the hole before internal offset `first`.
    pub(crate) fn give_up(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        first: u64,
        cause: GapCause,
    ) {
        let at = direction as usize;
        if flow.halves[at].has(half::HELD) {
            flow.begin_here(direction, first);
            if flow.halves[at].next >= first {
                return;
            }
        }
        let lost_ranges = std::mem::take(&mut flow.slow_state().lost_ranges[at]);
        let truncated = std::mem::take(&mut flow.slow_state().truncated[at]);
        let bias = flow.bias(direction);
        let mut from = flow.halves[at].next;
        let doubted: Vec<_> = flow.doubted_ranges(direction).take_while(|range| range.0 < first).collect();
        let mut doubted = doubted.as_slice();
        flow.halves[at].next = first;
        while from < first {
            let (until, why) = lost_ranges.cause_at(from, first, cause);
            let (until, why) = match Self::cause_of(&mut doubted, from, until, why) {
                (until, GapCause::BadChecksum) => truncated.cause_at(from, until, GapCause::BadChecksum),
                found => found,
            };
            self.gap(flow, data, direction, from - bias, until - from, why);
            from = until;
        }
        let slow_state = flow.slow_state();
        // Of a hole behind this one no more is known than that it is of the time since.
        slow_state.hole_after_ns[at] = slow_state.hole_since_ns[at];
        slow_state.lost_ranges[at] = lost_ranges;
        slow_state.lost_ranges[at].forget_before(first);
        slow_state.truncated[at] = truncated;
        slow_state.truncated[at].forget_before(first);
        (slow_state.hole_segments[at], slow_state.hole_since_ns[at]) = (0, self.now.clock_ns);
    }

    /// The cause of the hole before the queue's first bytes, which is given up for `cause`.
    pub(crate) fn hole_cause(&mut self, flow: &Flow, direction: Direction, cause: GapCause) -> GapCause {
        let at = direction as usize;
        let Some(slow_state) = flow.slow_state.as_ref().filter(|_| cause == GapCause::NotCaptured) else {
            return cause;
        };
        let times_ns = (slow_state.hole_after_ns[at], slow_state.hole_since_ns[at]);
        match self.losses.is_any(Some(slow_state.hole_interface[at]), times_ns, self.now.clock_ns) {
            true => GapCause::LostByCapture,
            false => cause,
        }
    }

    /// The cause of missing bytes behind the last packet of a direction.
    fn tail_cause(&mut self, flow: &Flow, direction: Direction) -> GapCause {
        // (The packets that acknowledge them may be those of another interface.)
        match self.losses.is_any(None, (flow.last_ns[direction as usize], flow.end_ns()), self.now.clock_ns) {
            true => GapCause::LostByCapture,
            false => GapCause::NotCaptured,
        }
    }

    /// Empties a direction's queue and gives up its holes, because memory is needed or the stream ends.
    pub(crate) fn empty(&mut self, flow: &mut Flow, data: &mut H::Data, direction: Direction, cause: GapCause) {
        let at = direction as usize;
        if !flow.halves[at].has(half::QUEUED) {
            return;
        }
        let before = flow.queue_charge(direction);
        let timestamp_ns = flow.last_ns[at];
        loop {
            self.drain(flow, data, direction, timestamp_ns, true);
            let Some(first) = flow.next_queued(direction) else { break };
            let cause = self.hole_cause(flow, direction, cause);
            self.give_up(flow, data, direction, first, cause);
        }
        // The rest was never acknowledged and a host would not have accepted it, or it lies beyond the FIN.
        let end = flow.slow_state.as_ref().map_or(0, |slow_state| slow_state.queue[at].end());
        if flow.fin_of(direction).is_some_and(|fin| (end as i64) > fin) {
            self.note_anomaly_once(flow, AnomalyKind::DataBeyondFin);
        }
        if end > flow.halves[at].next && flow.halves[at].has(half::SIGNED) {
            self.note_anomaly_once(flow, AnomalyKind::UnexpectedSignature);
        }
        if let Some(slow_state) = &mut flow.slow_state {
            slow_state.queue[at].clear();
        }
        self.settle_queue(flow, direction, before);
    }

    /// Delivers what is left of a stream before it closes.
    pub(crate) fn complete(&mut self, flow: &mut Flow, data: &mut H::Data) {
        if flow.slow_state.as_ref().is_some_and(|slow_state| !slow_state.arrivals.is_empty()) {
            self.begin_both(flow, data, true);
        }
        for direction in Direction::BOTH {
            let unanswered = flow.slow_state.as_ref().and_then(|slow_state| slow_state.unanswered[direction as usize]);
            self.empty(flow, data, direction, GapCause::NotCaptured);
            self.accept_last_fin(flow, direction, unanswered);
            self.tail(flow, data, direction);
            self.note_unacknowledged(flow, direction);
            self.forget_doubted(flow, direction);
            self.report_cutoff(flow, data, direction);
            self.flush(flow, data, direction);
            self.drop_chunk(flow, direction);
        }
        // A FIN behind a hole that was given up above.
        for direction in Direction::BOTH {
            self.reach_fin(flow, direction);
        }
    }

    /// Notes at the end that the receiver did not acknowledge all that was delivered, although it sent last, or nothing
    /// could be expected of it behind a reset or its FIN: it dropped a segment that looked acceptable, so there were
    /// two readings.
    fn note_unacknowledged(&mut self, flow: &mut Flow, direction: Direction) {
        let (me, peer) = (&flow.halves[direction as usize], &flow.halves[direction.opposite() as usize]);
        let (at, other) = (direction as usize, direction.opposite() as usize);
        // If the sender sent last, its bytes may have been in flight. But nothing answers after a reset or a wrong
        // signature, and a receiver that sent its FIN may have closed the connection altogether.
        let is_silent = flow.state == TcpState::Reset || me.has(half::SIGNED) || peer.has(half::FIN);
        let is_last = peer.packets() > 0 && (flow.last_ns[other] > flow.last_ns[at] || is_silent);
        let is_heard = me.flags & (half::KNOWN | half::HELD) == half::KNOWN && is_last;
        if !is_heard || flow.state == TcpState::Stateless || (me.flags | peer.flags) & half::SHUNTED != 0 {
            return;
        }
        let acknowledged = if peer.has(half::ACKED) { me.offset_of(peer.ack) } else { 0 };
        let acknowledged = acknowledged.max(flow.bias(direction) as i64);
        // Missing bytes were not delivered.
        let bias = flow.bias(direction);
        let until = if flow.is_sacked(direction, me.next, me.next) { flow.sacked_start(direction) } else { me.next };
        let (from, until) = ((acknowledged as u64).saturating_sub(bias), until.saturating_sub(bias));
        let gaps = flow.slow_state.as_ref().map_or(&[][..], |slow_state| &slow_state.gaps);
        let covers = |gap: &Gap| gap.direction == direction && gap.offset <= from && gap.offset + gap.bytes >= until;
        if from < until && !gaps.iter().any(covers) {
            self.note_anomaly_once(flow, AnomalyKind::Unacknowledged);
        }
    }

    /// Reports bytes at the end that were announced by a FIN, known to be lost, or acknowledged, and never arrived.
    fn tail(&mut self, flow: &mut Flow, data: &mut H::Data, direction: Direction) {
        let at = direction as usize;
        if let Some(bytes) = flow.unseen_bytes(direction) {
            flow.begin_here(direction, MIDSTREAM_START);
            return self.give_up(flow, data, direction, MIDSTREAM_START + bytes, GapCause::NotCaptured);
        }
        let (me, peer) = (flow.halves[at], &flow.halves[direction.opposite() as usize]);
        if !me.has(half::KNOWN) || me.has(half::HELD) || me.packets() == 0 {
            return;
        }
        let mut end = me.next.max(flow.sacked_end(direction));
        if let Some(slow_state) = &flow.slow_state {
            let fin = slow_state.fin_at[at];
            if fin != u64::MAX {
                end = end.max(fin);
            }
            end = end.max(slow_state.lost_ranges[at].end().unwrap_or(0));
        }
        if peer.has(half::ACKED) && !me.has(half::FIN) {
            let acknowledged = me.offset_of(peer.ack) - i64::from(me.has(half::FIN_SEEN));
            // One beyond may be a FIN that was not captured.
            if acknowledged > end as i64 + i64::from(!me.has(half::FIN_SEEN)) {
                end = acknowledged as u64;
            }
        }
        if !me.has(half::FIN_SEEN) {
            // What was left out at the end may be bytes of the stream that were still to be acknowledged.
            end = flow.doubted_joined(direction, end);
        }
        if end > me.next {
            let cause = self.tail_cause(flow, direction);
            self.give_up(flow, data, direction, end, cause);
        }
    }

    /// Reports bytes that arrived in two versions; `offset` counts from the beginning of the stream.
    pub(crate) fn conflict(&mut self, flow: &mut Flow, direction: Direction, offset: u64, bytes: u64) {
        self.note_anomaly(flow, AnomalyKind::OverlapConflict);
        let limit = self.config.list_max as usize;
        let slow_state = flow.slow_state();
        let list = &mut slow_state.conflicts[direction as usize];
        if list.len() < limit {
            list.push(Conflict { offset, bytes }, &mut slow_state.bytes);
        } else {
            self.note_anomaly_once(flow, AnomalyKind::ListFull);
        }
    }
}
