//! The end of a direction's wait: its queue is emptied, because memory is needed or the stream ends, and bytes are
//! reported that never arrived.

use super::Events;
use crate::{
    AnomalyKind, Direction, Gap, GapCause, TcpState,
    connection::Connection,
    flow::{Flow, MIDSTREAM_START, half},
};

impl Flow {
    /// Whether a gap was reported that has these bytes. With applications the lists of gaps are theirs: it counts if any of them has it.
    fn is_gap(&self, direction: Direction, from: u64, until: u64) -> bool {
        let covers = |gap: &Gap| gap.direction == direction && gap.offset <= from && gap.offset + gap.bytes >= until;
        self.slow_state.as_ref().is_some_and(|slow_state| match &slow_state.subscriber_states[..] {
            [] => slow_state.gaps.iter().any(covers),
            applications => applications.iter().any(|application| application.gaps.iter().any(covers)),
        })
    }
}

impl Connection<'_> {
    /// Empties a direction's queue and gives up its holes, because memory is needed or the stream ends.
    pub(crate) fn empty(&mut self, events: &mut impl Events, direction: Direction, cause: GapCause) {
        let at = direction as usize;
        if !self.flow.halves[at].has(half::QUEUED) {
            return;
        }
        let before = self.flow.reserved(direction);
        let timestamp_ns = self.flow.last_ns[at];
        loop {
            self.drain(events, direction, timestamp_ns, true);
            let Some(first) = self.flow.next_queued(direction) else { break };
            let cause = self.hole_cause(direction, cause);
            self.give_up(events, direction, first, cause);
        }
        // The rest was never acknowledged and a host would not have accepted it, or it lies beyond the FIN.
        let end = self.flow.slow_state.as_ref().map_or(0, |slow_state| slow_state.queue[at].end());
        if self.flow.fin_of(direction).is_some_and(|fin| (end as i64) > fin) {
            self.note_anomaly_once(AnomalyKind::DataBeyondFin);
        }
        if end > self.flow.halves[at].next && self.flow.halves[at].has(half::SIGNED) {
            self.note_anomaly_once(AnomalyKind::UnexpectedSignature);
        }
        if let Some(slow_state) = &mut self.flow.slow_state {
            slow_state.queue[at].clear();
        }
        self.settle_queue(direction, before);
    }

    /// Delivers what is left of a stream before it closes.
    pub(crate) fn complete(&mut self, events: &mut impl Events) {
        if self.flow.slow_state.as_ref().is_some_and(|slow_state| !slow_state.arrivals.is_empty()) {
            self.begin_both(events, true);
        }
        for direction in Direction::BOTH {
            let unanswered =
                self.flow.slow_state.as_ref().and_then(|slow_state| slow_state.unanswered[direction as usize]);
            self.empty(events, direction, GapCause::NotCaptured);
            self.accept_last_fin(direction, unanswered);
            self.tail(events, direction);
            self.note_unacknowledged(direction);
            self.forget_doubted(direction);
            events.close(self, direction);
        }
        // A FIN behind a hole that was given up above.
        for direction in Direction::BOTH {
            self.reach_fin(direction);
        }
    }

    /// Notes at the end that the receiver did not acknowledge all that was delivered, although it sent last, or nothing
    /// could be expected of it behind a reset or its FIN: it dropped a segment that looked acceptable, so there were
    /// two readings.
    fn note_unacknowledged(&mut self, direction: Direction) {
        let (me, peer) = (&self.flow.halves[direction as usize], &self.flow.halves[direction.opposite() as usize]);
        let (at, other) = (direction as usize, direction.opposite() as usize);
        // If the sender sent last, its bytes may have been in flight. But nothing answers after a reset or a wrong
        // signature, and a receiver that sent its FIN may have closed the connection altogether.
        let is_silent = self.flow.state == TcpState::Reset || me.has(half::SIGNED) || peer.has(half::FIN);
        let is_last = peer.packets() > 0 && (self.flow.last_ns[other] > self.flow.last_ns[at] || is_silent);
        let is_heard = me.flags & (half::KNOWN | half::HELD) == half::KNOWN && is_last;
        if !is_heard || self.flow.state == TcpState::Stateless || (me.flags | peer.flags) & half::SHUNTED != 0 {
            return;
        }
        let acknowledged = if peer.has(half::ACKED) { me.offset_of(peer.ack) } else { 0 };
        let acknowledged = acknowledged.max(self.flow.bias(direction) as i64);
        // Missing bytes were not delivered.
        let bias = self.flow.bias(direction);
        let until =
            if self.flow.is_sacked(direction, me.next, me.next) { self.flow.sacked_start(direction) } else { me.next };
        let (from, until) = ((acknowledged as u64).saturating_sub(bias), until.saturating_sub(bias));
        if from < until && !self.flow.is_gap(direction, from, until) {
            self.note_anomaly_once(AnomalyKind::Unacknowledged);
        }
    }

    /// Reports bytes at the end that were announced by a FIN, known to be lost, or acknowledged, and never arrived.
    fn tail(&mut self, events: &mut impl Events, direction: Direction) {
        let at = direction as usize;
        if let Some(bytes) = self.flow.unseen_bytes(direction) {
            self.flow.begin_here(direction, MIDSTREAM_START);
            return self.give_up(events, direction, MIDSTREAM_START + bytes, GapCause::NotCaptured);
        }
        let (me, peer) = (self.flow.halves[at], &self.flow.halves[direction.opposite() as usize]);
        if !me.has(half::KNOWN) || me.has(half::HELD) || me.packets() == 0 {
            return;
        }
        let mut end = me.next.max(self.flow.sacked_end(direction));
        if let Some(slow_state) = &self.flow.slow_state {
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
            // Bytes that were left out at the end may be of the stream, and still to be acknowledged.
            end = self.flow.doubted_joined(direction, end);
        }
        if end > me.next {
            let cause = self.tail_cause(direction);
            self.give_up(events, direction, end, cause);
        }
    }

    /// The cause of missing bytes at the end of a direction.
    fn tail_cause(&mut self, direction: Direction) -> GapCause {
        let at = direction as usize;
        let hole_after_ns = || self.flow.slow_state.as_ref().map(|slow_state| slow_state.hole_after_ns[at]);
        let since_ns = self.flow.misses_bytes(direction).then(hole_after_ns).flatten().unwrap_or(self.flow.last_ns[at]);
        // (The packets that acknowledge them may be those of another interface.)
        match self.shared.losses.is_any(None, (since_ns, self.flow.end_ns()), self.shared.now.clock_ns) {
            true => GapCause::LostByCapture,
            false => GapCause::NotCaptured,
        }
    }
}
