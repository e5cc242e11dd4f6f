//! Streams whose beginning was not captured: in which order their bytes arrived that wait for it.
//!
//! Both directions wait, often to the end of a short stream. A request and its response belong together by their order,
//! so what waited is delivered in the order of its arrival in both, with the times at which it arrived.

use super::holes::QueueCharge;
use crate::{
    Deliver, Direction, GapCause,
    engine::context::FlowContext,
    flow::{ARRIVALS_MAX, Arrival, Flow, MIDSTREAM_START, half},
};

impl Flow {
    /// Whether a direction waits for its beginning.
    fn waits_for_beginning(&self, direction: Direction) -> bool {
        const WAITS: u16 = half::HELD | half::QUEUED;
        self.halves[direction as usize].flags & WAITS == WAITS
    }

    /// Whether a direction waits for its beginning, and the order of no further arrival can be noted.
    pub(crate) fn has_all_arrivals(&self, direction: Direction) -> bool {
        self.halves[direction as usize].has(half::HELD)
            && self.slow_state.as_ref().is_some_and(|slow_state| slow_state.arrivals.len() >= ARRIVALS_MAX)
    }

    /// Whether a direction need not wait for its beginning: the other one did, or has its own, and what waits begins
    /// where the other side had acknowledged all before.
    pub(crate) fn begins_with_other(&self, direction: Direction) -> bool {
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

impl<H: Deliver> FlowContext<H> {
    /// Ends the wait for the beginning of a stream in both directions, and delivers what waited in the order of its
    /// arrival. `last`: nothing more will be acknowledged.
    pub(crate) fn begin_both(&mut self, flow: &mut Flow, data: &mut H::Data, last: bool) {
        let mut before = [QueueCharge::default(); 2];
        for direction in Direction::BOTH {
            before[direction as usize] = flow.queue_charge(direction);
            if flow.waits_for_beginning(direction) {
                // Where it begins depends on what is accepted.
                self.drain(flow, data, direction, 0, last);
                if let Some(first) = flow.next_queued(direction) {
                    flow.begin_here(direction, first);
                    if flow.halves[direction as usize].next < first {
                        self.give_up(flow, data, direction, first, GapCause::NotCaptured);
                    }
                }
            }
        }
        let arrivals = std::mem::take(&mut flow.slow_state().arrivals);
        for Arrival { direction, end, timestamp_ns } in arrivals.iter().copied() {
            self.drain_until(flow, data, direction, timestamp_ns, last, end);
            while flow.halves[direction as usize].next < end && self.skip_lost(flow, data, direction) {
                self.drain_until(flow, data, direction, timestamp_ns, last, end);
            }
        }
        let slow_state = flow.slow_state();
        slow_state.arrivals = arrivals;
        slow_state.arrivals.clear();
        for direction in Direction::BOTH {
            self.settle_queue(flow, direction, before[direction as usize]);
        }
    }
}
