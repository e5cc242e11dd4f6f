//! Memory beyond the bound: which flows release theirs.

use super::Engine;
use crate::{
    AnomalyKind, Direction, EndReason, GapCause, Handler,
    accounting::Accounting,
    flow::bits,
    prefetch::{prefetch, prefetch_all},
};

/// Flows sampled together to find those that release memory.
const RECLAIM_SAMPLE: usize = 64;
/// Of these, how many release memory, at most: those that weigh at least half as much as the heaviest.
const RECLAIM_ROUND: usize = 16;

impl<H: Handler> Engine<H> {
    /// Reclaims memory beyond the bound: of the flows that hold some, those that deserve it least release theirs.
    #[cold]
    pub(crate) fn reclaim_memory(&mut self) {
        let mut sample: Vec<(f32, u32)> = Vec::with_capacity(RECLAIM_SAMPLE);
        while !self.shared.accounting.budget.is_reclaimed() && !self.shared.accounting.holders.is_empty() {
            sample.clear();
            for _ in 0..RECLAIM_SAMPLE.min(self.shared.accounting.holders.len()) {
                let at = self.random(self.shared.accounting.holders.len());
                // Removed for this round, so that no slot is sampled twice.
                let slot = self.shared.accounting.holders.swap_remove(at);
                prefetch_all(self.table.flows.get(slot));
                prefetch(self.shared.accounting.budget.holder(slot));
                sample.push((0.0, slot));
            }
            for one in &mut sample {
                one.0 = self.weigh(one.1);
            }
            sample.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
            let least = sample[0].0 / 2.0;
            let worst = sample.iter().take(RECLAIM_ROUND).take_while(|one| one.0 >= least).count();
            self.shared.accounting.holders.extend(sample[worst..].iter().map(|one| one.1));
            for &(_, slot) in &sample[..worst] {
                self.table.prefetch_slow_state(slot);
            }
            for &(_, slot) in &sample[..worst] {
                if self.shared.accounting.budget.is_reclaimed() {
                    self.shared.accounting.holders.push(slot);
                } else {
                    self.reclaim_from(slot);
                }
            }
        }
    }

    /// See `Budget::weight`. Counts what the flow did since its last charge.
    fn weigh(&mut self, slot: u32) -> f32 {
        let (flow, number) = (self.table.flows.get(slot), self.shared.now.number);
        let holder = self.shared.accounting.budget.holder(slot);
        if holder.bytes > 0 {
            Accounting::update_holder(holder, flow, number);
        }
        self.shared.accounting.budget.weight(slot, number)
    }

    /// A number below `bound`, unpredictable without the key of the hashes.
    fn random(&mut self, bound: usize) -> usize {
        let state = &mut self.sweep.random;
        if *state == 0 {
            *state = self.shared.config.hash_key[0] | 1;
        }
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        ((u128::from(*state) * bound as u128) >> 64) as usize
    }

    /// Reclaims the holes and chunks of a flow that was removed from the list of holders. A flow that holds little else
    /// than bookkeeping ends.
    fn reclaim_from(&mut self, slot: u32) {
        let flow = self.table.flows.get_mut(slot);
        flow.flags &= !bits::HOLDER;
        let held = self.shared.accounting.budget.held_by(slot);
        if held == 0 || !flow.has(bits::LIVE) {
            return;
        }
        let before = self.shared.now.slot;
        let (mut connection, mut delivery) = self.connection(slot);
        let delivered = connection.flow.delivered[0] + connection.flow.delivered[1];
        if !connection.flow.is_over() {
            connection.note_anomaly_once(AnomalyKind::BufferLimit);
        }
        for direction in Direction::BOTH {
            connection.empty(&mut delivery, direction, GapCause::Memory);
            connection.forget_doubted(direction);
            delivery.flush(&mut connection, direction);
            delivery.drop_chunk(&mut connection, direction);
        }
        delivery.empty_connection_stream(&mut connection, GapCause::Memory);
        if H::PACKETS
            && let Some(pending) = connection.take_held_syn()
        {
            delivery.count_held_syn(&mut connection, &pending);
        }
        connection.settle_slow_state();
        let delivered = connection.flow.delivered[0] + connection.flow.delivered[1] - delivered;
        connection.shared.accounting.force(&connection.shared.now, delivered);
        let left = self.shared.accounting.budget.held_by(slot);
        if left > held - held / 4 {
            let reason = self.table.flows.get(slot).reason_over();
            self.shared.ledger.evicted += u64::from(reason.is_none());
            self.end(slot, reason.unwrap_or(EndReason::Evicted));
        } else if left > 0 {
            self.shared.accounting.list_holder(&self.shared.now, self.table.flows.get_mut(slot));
        }
        self.shared.now.slot = before;
    }
}
