//! Memory accounting of flows: charges to the budget, and the list of flows that hold memory.

use crate::{
    Direction,
    budget::{Budget, Groups, Holder},
    flow::{Flow, bits, half},
    packet::Now,
};

/// The budget of an engine, and the flows that hold memory of it.
pub(crate) struct Accounting {
    pub budget: Budget,
    /// Slots of flows that hold memory beyond their entry of the table. Some may have ended since.
    pub holders: Vec<u32>,
}

/// The memory that a direction of TCP has reserved, and its holes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Reservation {
    pub bytes: u64,
    pub holes: u64,
}

impl Reservation {
    pub(crate) fn of_bytes(bytes: u64) -> Self {
        Self { bytes, holes: 0 }
    }
}

impl Accounting {
    pub(crate) fn new(budget: Budget) -> Self {
        Self { budget, holders: Vec::new() }
    }

    /// The budget's counters for the addresses that a direction's packets come from and go to.
    #[inline]
    pub(crate) fn groups(&self, flow: &mut Flow, from_a: bool) -> Groups {
        let (key, group_key) = (flow.key, self.budget.group_key());
        // By endpoint: which of them is the client may turn out later.
        *flow.slow_state().groups[usize::from(!from_a)].get_or_insert_with(|| {
            let source = key.address_hash(from_a, group_key);
            Groups::of(source, key.network_hash(from_a, group_key), key.address_hash(!from_a, group_key))
        })
    }

    /// Records that the charge of a direction changed from `before` to `after`.
    #[inline]
    pub(crate) fn recharge(&mut self, now: &Now, flow: &mut Flow, direction: Direction, before: u64, after: u64) {
        let from_a = flow.has(bits::CLIENT_IS_A) == (direction == Direction::ClientToServer);
        self.recharge_endpoint(now, flow, from_a, before, after);
    }

    /// Records that the charge of an endpoint changed from `before` to `after`.
    #[inline]
    fn recharge_endpoint(&mut self, now: &Now, flow: &mut Flow, from_a: bool, before: u64, after: u64) {
        if before == after {
            return;
        }
        let groups = self.groups(flow, from_a);
        self.budget.change(groups, before, after);
        let number = now.number;
        let holder = self.budget.holder(now.slot);
        if holder.bytes == 0 {
            holder.since = number as u32;
        }
        holder.bytes = (u64::from(holder.bytes) + after).saturating_sub(before).min(u64::from(u32::MAX)) as u32;
        holder.groups = groups;
        Self::update_holder(holder, flow, number);
    }

    /// Updates what a flow that holds memory is weighed by.
    #[inline]
    pub(crate) fn update_holder(holder: &mut Holder, flow: &Flow, number: u64) {
        let delivered = (flow.delivered[0] + flow.delivered[1]).min(u64::from(u32::MAX)) as u32;
        if delivered > holder.delivered {
            holder.since = number as u32;
        }
        holder.delivered = delivered;
        holder.is_proven = flow.has(bits::CONFIRMED) && flow.halves.iter().all(|half| half.has(half::SYN));
        holder.is_over = flow.is_over();
    }

    /// Changes what a direction has reserved. `is_held`: lists the flow among those that hold memory.
    #[inline]
    pub(crate) fn reserve(
        &mut self,
        now: &Now,
        flow: &mut Flow,
        direction: Direction,
        (before, after): (Reservation, Reservation),
        is_held: bool,
    ) {
        self.budget.holes = (self.budget.holes + after.holes).saturating_sub(before.holes);
        self.recharge(now, flow, direction, before.bytes, after.bytes);
        if is_held {
            self.list_holder(now, flow);
        }
    }

    /// Whether the source of a direction's packets holds more than its share, and the flow has not delivered more than
    /// the `reserved` bytes of its queue. Otherwise only the bound of all flows applies.
    pub(crate) fn is_greedy(&self, now: &Now, flow: &mut Flow, direction: Direction, reserved: u64) -> bool {
        let from_a = flow.has(bits::CLIENT_IS_A) == (direction == Direction::ClientToServer);
        let groups = self.groups(flow, from_a);
        let has_delivered = flow.delivered[0] + flow.delivered[1];
        self.budget.source_is_over(groups) && has_delivered <= reserved + u64::from(self.budget.forced(now.slot))
    }

    /// Holes that the queues of all flows have reserved.
    pub(crate) fn holes(&self) -> u64 {
        self.budget.holes
    }

    /// Counts bytes that a flow delivered only because a bound ended a hole: they do not count in its favour.
    pub(crate) fn force(&mut self, now: &Now, bytes: u64) {
        self.budget.force(now.slot, bytes);
    }

    /// Charges the flow's slow state and its lists with their current size.
    #[inline]
    pub(crate) fn settle_slow_state(&mut self, now: &Now, flow: &mut Flow) {
        if let Some(slow_state) = &mut flow.slow_state
            && slow_state.bytes != slow_state.charged
        {
            let (before, after) = (slow_state.charged, slow_state.bytes);
            slow_state.charged = after;
            let owner_is_a = *slow_state.owner_is_a.get_or_insert(flow.flags & bits::CLIENT_IS_A != 0);
            self.recharge_endpoint(now, flow, owner_is_a, before, after);
            self.list_holder(now, flow);
        }
    }

    /// Adds the flow to the list of those that hold memory.
    #[inline]
    pub(crate) fn list_holder(&mut self, now: &Now, flow: &mut Flow) {
        if !flow.has(bits::HOLDER) {
            flow.flags |= bits::HOLDER;
            self.holders.push(now.slot);
        }
    }

    /// Frees the slow state of a flow whose end was reported, and releases its charge.
    #[inline]
    pub(crate) fn release(&mut self, now: &Now, flow: &mut Flow) {
        if let Some((charged, owner_is_a)) =
            flow.slow_state.as_ref().map(|slow_state| (slow_state.charged, slow_state.owner_is_a))
        {
            self.recharge_endpoint(now, flow, owner_is_a.unwrap_or_default(), charged, 0);
            // The next flow in this slot starts from zero.
            *self.budget.holder(now.slot) = Holder::default();
            flow.slow_state = None;
        }
    }
}
