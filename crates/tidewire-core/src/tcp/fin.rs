//! FINs: where a direction ends, and which FINs a host would accept.

use crate::{
    AnomalyKind, Direction, TcpState,
    connection::Connection,
    flow::{Flow, half},
};

impl Flow {
    #[inline]
    fn forget_doubtful_fin(&mut self, direction: Direction) {
        let at = direction as usize;
        let is_queued = self.halves[at].has(half::QUEUED);
        self.halves[at].flags &= !half::DOUBTFUL_FIN;
        let slow_state = self.slow_state();
        slow_state.fin_doubtful[at] = u64::MAX;
        if !is_queued {
            slow_state.unanswered[at] = None;
        }
    }

    /// Whether a segment from `start` with a FIN at `fin` lies in received or waiting bytes, including its FIN: a host
    /// takes it for a repetition.
    #[inline]
    pub(super) fn is_covered(&self, direction: Direction, start: i64, fin: i64) -> bool {
        let at = direction as usize;
        let me = &self.halves[at];
        if me.has(half::HELD | half::FIN_SEEN) {
            return false;
        }
        fin < me.next as i64
            || me.has(half::QUEUED)
                && self
                    .slow_state
                    .as_ref()
                    .is_some_and(|slow_state| slow_state.queue[at].holds(start.max(0) as u64, fin as u64 + 1))
    }
}

impl Connection<'_> {
    /// Records a FIN whose segment began at internal offset `start`. Of several that wait, the one that is reached
    /// first counts, and there were two readings.
    pub(super) fn note_fin(&mut self, direction: Direction, start: i64, fin: i64) {
        let at = direction as usize;
        if fin < 0 {
            return;
        }
        if self.flow.halves[at].has(half::FIN) {
            // A host without room for what came before this FIN (Linux: `tcp_prune_ofo_queue`) ends here.
            if fin != self.flow.halves[at].next as i64 {
                self.note_anomaly_once(AnomalyKind::DataBeyondFin);
            }
            return;
        }
        if self.flow.halves[at].has(half::FIN_SEEN) {
            let known = self.flow.fin_of(direction).unwrap_or(self.flow.halves[at].next as i64);
            if known != fin {
                self.note_anomaly_once(AnomalyKind::DataBeyondFin);
            }
            if known <= fin {
                return;
            }
        }
        let me = &mut self.flow.halves[at];
        me.flags |= half::FIN_SEEN;
        // Waiting bytes may lie beyond it.
        let is_simple = fin as u64 == me.next && !me.has(half::HELD | half::QUEUED);
        if fin as u64 > me.next {
            self.flow.note_missing(direction, self.shared.now.before_ns);
        }
        if !is_simple || self.flow.slow_state.as_ref().is_some_and(|slow_state| slow_state.fin_at[at] != u64::MAX) {
            let slow_state = self.flow.slow_state();
            (slow_state.fin_at[at], slow_state.fin_from[at]) = (fin as u64, start.max(0) as u64);
        }
    }

    /// Records a FIN that a host would probably not accept. The receiver's acknowledgment decides, but not between two
    /// of them.
    pub(super) fn doubt_fin(&mut self, direction: Direction, fin: i64) {
        let at = direction as usize;
        let me = &mut self.flow.halves[at];
        if fin >= me.next as i64 && !me.has(half::FIN_SEEN) {
            let is_second = me.has(half::DOUBTFUL_FIN);
            me.flags |= half::DOUBTFUL_FIN;
            let known = std::mem::replace(&mut self.flow.slow_state().fin_doubtful[at], fin as u64);
            if is_second && known != fin as u64 {
                self.note_anomaly_once(AnomalyKind::DataBeyondFin);
            }
        }
    }

    /// Accepts a doubtful FIN when the receiver acknowledges exactly it, and no byte was accepted in its place.
    pub(super) fn settle_fin(&mut self, direction: Direction) {
        let at = direction as usize;
        let Some(fin) = self.flow.slow_state.as_ref().map(|slow_state| slow_state.fin_doubtful[at]) else { return };
        let (me, peer) = (self.flow.halves[at], &self.flow.halves[direction.opposite() as usize]);
        if me.next > fin || me.has(half::FIN_SEEN) {
            self.flow.forget_doubtful_fin(direction);
        } else if peer.has(half::ACKED) && me.offset_of(peer.ack) == fin as i64 + 1 {
            self.flow.forget_doubtful_fin(direction);
            self.settle_doubted_fin(direction, fin);
            self.note_fin(direction, fin as i64, fin as i64);
        }
    }

    /// Accepts a doubtful FIN at the end, if all bytes before it were accepted because the receiver sent nothing more.
    /// `unanswered`: those bytes (see `SlowState::unanswered`).
    pub(super) fn accept_last_fin(&mut self, direction: Direction, unanswered: Option<(u64, u64)>) {
        let at = direction as usize;
        let Some(slow_state) = self.flow.slow_state.as_ref().filter(|_| self.flow.halves[at].has(half::DOUBTFUL_FIN))
        else {
            return;
        };
        let (fin, next) = (slow_state.fin_doubtful[at], self.flow.halves[at].next);
        if fin == next && unanswered.is_some_and(|(first, last)| (first..=last).contains(&fin)) {
            self.settle_doubted_fin(direction, fin);
            self.note_fin(direction, fin as i64, fin as i64);
            self.reach_fin(direction);
        }
    }

    /// Drops a FIN that waits behind a hole when a segment covers the FIN's own from its first byte to beyond it: a
    /// host reads what its queue adds to that segment, and it adds nothing (Linux: `tcp_data_queue_ofo`,
    /// `tcp_ofo_queue`).
    pub(super) fn drop_covered_fin(&mut self, direction: Direction, start: i64, end: i64) {
        let at = direction as usize;
        if self.flow.halves[at].flags & (half::FIN_SEEN | half::FIN | half::HELD) != half::FIN_SEEN {
            return;
        }
        let Some(slow_state) = &mut self.flow.slow_state else { return };
        let is_pending = slow_state.fin_at[at] != u64::MAX && slow_state.fin_at[at] > self.flow.halves[at].next;
        if is_pending && end > slow_state.fin_at[at] as i64 && start <= slow_state.fin_from[at] as i64 {
            (slow_state.fin_at[at], slow_state.fin_from[at]) = (u64::MAX, u64::MAX);
            self.flow.halves[at].flags &= !half::FIN_SEEN;
            self.note_anomaly_once(AnomalyKind::DataBeyondFin);
        }
    }

    /// Ends a direction whose FIN was reached; the second one closes the connection.
    pub(super) fn reach_fin(&mut self, direction: Direction) {
        let at = direction as usize;
        let me = &self.flow.halves[at];
        if me.flags & (half::FIN_SEEN | half::FIN | half::HELD) != half::FIN_SEEN {
            return;
        }
        if self
            .flow
            .slow_state
            .as_ref()
            .is_some_and(|slow_state| slow_state.fin_at[at] != u64::MAX && slow_state.fin_at[at] > me.next)
        {
            return;
        }
        self.flow.halves[at].flags |= half::FIN;
        if self.flow.halves[at].has(half::QUEUED) {
            // A host discards what waits beyond it (Linux: `tcp_fin`).
            let before = self.flow.reserved(direction);
            if self.flow.slow_state().queue[at].end() > self.flow.halves[at].next {
                self.note_anomaly_once(AnomalyKind::DataBeyondFin);
            }
            self.flow.slow_state().queue[at].clear();
            self.settle_queue(direction, before);
        }
        if self.flow.state != TcpState::Reset {
            let both = self.flow.halves[direction.opposite() as usize].has(half::FIN);
            self.flow.state = if both { TcpState::Closed } else { TcpState::HalfClosed };
        }
    }
}
