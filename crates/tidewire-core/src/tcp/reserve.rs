//! The memory that a direction's queue reserves.

use crate::{
    Direction,
    accounting::Reservation,
    connection::Connection,
    flow::{Flow, half},
};

impl Flow {
    /// The memory and holes that the queue of a direction has to reserve.
    #[inline]
    pub(crate) fn reserved(&self, direction: Direction) -> Reservation {
        let Some(slow_state) = &self.slow_state else { return Reservation::default() };
        let queue = &slow_state.queue[direction as usize];
        if queue.is_empty() {
            return Reservation::default();
        }
        Reservation { bytes: queue.charged_bytes(), holes: u64::from(queue.holes()) }
    }
}

impl Connection<'_> {
    /// Reserves memory for the new size of a queue.
    pub(crate) fn settle_queue(&mut self, direction: Direction, before: Reservation) {
        let at = direction as usize;
        let after = self.flow.reserved(direction);
        let is_held = self.flow.halves[at].has(half::HELD);
        let is_empty = self.flow.slow_state.as_ref().is_none_or(|slow_state| slow_state.has_nothing(at, is_held));
        self.shared.accounting.reserve(&self.shared.now, self.flow, direction, (before, after), !is_empty);
        if is_empty {
            self.flow.halves[at].flags &= !half::QUEUED;
            if let Some(slow_state) = &mut self.flow.slow_state {
                (slow_state.hole_segments[at], slow_state.waiting_bytes[at]) = (0, 0);
                slow_state.unanswered[at] = None;
            }
        }
    }
}
