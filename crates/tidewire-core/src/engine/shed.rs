//! Prioritized packet loss (Scap): which payload is not buffered while memory runs short.

use crate::{Direction, connection::Connection};

impl Connection<'_> {
    /// The watermark rule: above the watermark of its priority a packet is shed; in the region just below it, a packet
    /// beyond the overload cutoff of its stream.
    pub(crate) fn is_shed(&self, direction: Direction) -> bool {
        if !self.shared.config.shed {
            return false;
        }
        let base = u64::from(self.shared.config.base_threshold_permille.min(1000));
        let priorities = u64::from(self.shared.config.priorities.max(1));
        let priority = u64::from(self.flow.priority).min(priorities - 1);
        // The upper end of a priority's region, in thousandths of the memory, times the number of priorities.
        let watermark = |i: u64| base * priorities + (1000 - base) * i;
        if !self.shared.accounting.budget.is_above(watermark(priority), 1000 * priorities) {
            return false;
        }
        if self.shared.accounting.budget.is_above(watermark(priority + 1), 1000 * priorities) {
            return true;
        }
        self.flow.reached_here(direction) >= self.shared.config.overload_cutoff_bytes
    }

    /// Counts a shed packet.
    pub(crate) fn count_shed(&mut self, direction: Direction, bytes: u64) {
        self.shared.ledger.shed_by_priority[usize::from(self.flow.priority & 7)] += 1;
        let slow_state = self.flow.slow_state();
        slow_state.shed_packets[direction as usize] += 1;
        slow_state.shed_bytes[direction as usize] += bytes;
    }
}
