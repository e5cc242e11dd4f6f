//! Times of packets that are not in the order of their flow: earlier ones, and outliers.

use crate::{connection::Connection, flow::CLOCK_STEP_NS};

/// The least step back that a flow reports: less are packets of a card's queues that overtook each other.
const TIME_BACK_MIN_NS: u64 = 1_000_000;

impl Connection<'_> {
    /// The time by which a packet counts in its flow, where it is not the next one.
    ///
    /// An outlier counts at the time of the packet before it: a flow does not last for decades because of one packet.
    #[cold]
    pub(super) fn irregular_time(&mut self, timestamp_ns: u64) -> u64 {
        let (clock_ns, end_ns) = (self.shared.now.clock_ns, self.flow.end_ns());
        if timestamp_ns > clock_ns {
            self.note_outlier();
            return end_ns.min(clock_ns);
        }
        if timestamp_ns < self.flow.start_ns() {
            self.note_opening();
        }
        if timestamp_ns < end_ns {
            let back_ns = end_ns - timestamp_ns;
            if back_ns >= TIME_BACK_MIN_NS {
                let slow_state = self.flow.slow_state();
                slow_state.time_back_ns = slow_state.time_back_ns.max(back_ns);
            }
            if back_ns <= CLOCK_STEP_NS {
                return timestamp_ns;
            }
            self.note_outlier();
            return end_ns;
        }
        // Much later: after a silence, or the times before were outliers.
        let silent_ns = clock_ns.saturating_sub(self.flow.seen_clock_ns);
        if timestamp_ns - end_ns > silent_ns.saturating_add(CLOCK_STEP_NS) {
            self.note_outlier();
            self.note_opening();
            (self.flow.first_ns, self.flow.last_ns) = ([timestamp_ns; 2], [timestamp_ns; 2]);
        }
        timestamp_ns
    }

    /// Keeps the time of the packet that opened the flow: names of streams are made of it.
    fn note_opening(&mut self) {
        let start_ns = self.flow.start_ns();
        let slow_state = self.flow.slow_state();
        if slow_state.opened_ns == 0 {
            slow_state.opened_ns = start_ns;
        }
    }

    fn note_outlier(&mut self) {
        self.shared.ledger.time_outliers += 1;
        self.flow.slow_state().time_outliers += 1;
    }
}
