//! Streams whose beginning was not captured: in which order their bytes arrived that wait for it.
//!
//! Both directions wait, often to the end of a short stream. A request and its response belong together by their order,
//! so what waited is delivered in the order of its arrival in both, with the times at which it arrived.

use super::Events;
use crate::{
    Direction, GapCause,
    accounting::Reservation,
    connection::Connection,
    flow::{Arrival, Flow, half},
};

impl Flow {
    /// Whether a direction waits for its beginning.
    fn waits_for_beginning(&self, direction: Direction) -> bool {
        const WAITS: u16 = half::HELD | half::QUEUED;
        self.halves[direction as usize].flags & WAITS == WAITS
    }
}

impl Connection<'_> {
    /// Ends the wait for the beginning of a stream in both directions, and delivers what waited in the order of its
    /// arrival. `last`: nothing more will be acknowledged.
    pub(crate) fn begin_both(&mut self, events: &mut impl Events, last: bool) {
        let mut before = [Reservation::default(); 2];
        for direction in Direction::BOTH {
            before[direction as usize] = self.flow.reserved(direction);
            if self.flow.waits_for_beginning(direction) {
                // Where it begins depends on what is accepted.
                self.drain(events, direction, 0, last);
                if let Some(first) = self.flow.next_queued(direction) {
                    self.flow.begin_here(direction, first);
                    if self.flow.halves[direction as usize].next < first {
                        self.give_up(events, direction, first, GapCause::NotCaptured);
                    }
                }
            }
        }
        let arrivals = std::mem::take(&mut self.flow.slow_state().arrivals);
        for Arrival { direction, end, timestamp_ns } in arrivals.iter().copied() {
            self.drain_until(events, direction, timestamp_ns, last, end);
            while self.flow.halves[direction as usize].next < end && self.skip_lost(events, direction) {
                self.drain_until(events, direction, timestamp_ns, last, end);
            }
        }
        let slow_state = self.flow.slow_state();
        slow_state.arrivals = arrivals;
        slow_state.arrivals.clear();
        for direction in Direction::BOTH {
            self.settle_queue(direction, before[direction as usize]);
        }
    }
}
