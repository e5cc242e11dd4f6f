//! Prioritized packet loss (Scap): which payload is not buffered while memory runs short.

use super::context::FlowContext;
use crate::{
    Deliver, Direction,
    flow::{Flow, half},
};

impl<H: Deliver> FlowContext<H> {
    /// The watermark rule: above the watermark of its priority a packet is shed; in the region just below it, a packet
    /// beyond the overload cutoff of its stream.
    pub(crate) fn is_shed(&self, flow: &Flow, direction: Direction) -> bool {
        if !self.config.shed {
            return false;
        }
        let base = u64::from(self.config.base_threshold_permille.min(1000));
        let priorities = u64::from(self.config.priorities.max(1));
        let priority = u64::from(flow.priority).min(priorities - 1);
        // The upper end of a priority's region, in thousandths of the memory, times the number of priorities.
        let watermark = |i: u64| base * priorities + (1000 - base) * i;
        if !self.accounting.budget.is_above(watermark(priority), 1000 * priorities) {
            return false;
        }
        if self.accounting.budget.is_above(watermark(priority + 1), 1000 * priorities) {
            return true;
        }
        let me = &flow.halves[direction as usize];
        let reached = if me.has(half::KNOWN) { me.next.saturating_sub(flow.bias(direction)) } else { 0 };
        reached >= self.config.overload_cutoff_bytes
    }

    /// Counts a shed packet.
    pub(crate) fn count_shed(&mut self, flow: &mut Flow, direction: Direction, bytes: u64) {
        self.ledger.shed_by_priority[usize::from(flow.priority & 7)] += 1;
        let slow_state = flow.slow_state();
        slow_state.shed_packets[direction as usize] += 1;
        slow_state.shed_bytes[direction as usize] += bytes;
    }
}
