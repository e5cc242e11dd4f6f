//! How flows end: by timeouts, by a full table, for lack of memory, and with the input.
//!
//! When the table is full, 32 flows are examined and one is evicted: a closed one, else one that was never answered,
//! else the one silent longest. A sweep (`engine/lifetime.rs`) visits every flow once in 4 s of packet time, a few at a
//! time, and ends those that timed out.
//!
//! On interfaces: the end of a connection is reported after a second of silence (`report_closed_ns`), by a queue
//! ordered by time instead of the sweep. The entry stays until `closed_timeout_ns`, so that late packets open no
//! stream; they get the fate `after_close`. Whether the kernel verified a packet's checksum is in `Frame::checksum`
//! (`TP_STATUS_CSUMNOTREADY`, `TP_STATUS_CSUM_VALID`): packets that this host sends have no checksum yet, which is no
//! anomaly.

use std::cmp::Reverse;

use super::{Engine, accounting::Accounting, context::FlowContext};
use crate::{
    Deliver, EndReason, GapCause, TcpState,
    flow::{Flow, HalfOpen, HeldSyn, KeyMask, OpenEntries, OpenEntry, bits, closing, half},
    packet::frame_number,
    prefetch::{prefetch, prefetch_all},
};

/// Packet time in which a sweep visits every flow once, so that ended ones free their memory.
const SWEEP_NS: u64 = 4_000_000_000;
/// Flows that one step of the sweep visits, at most: twice as many as may open between two steps.
const SWEEP_STEP_MAX: u64 = 64;
/// Flows sampled together to find those that release memory.
const RECLAIM_SAMPLE: usize = 64;
/// Of these, how many release memory, at most: those that weigh at least half as much as the heaviest.
const RECLAIM_ROUND: usize = 16;
/// Entries of a list of slots below which it is not tidied.
const LIST_KEPT: usize = 4096;

impl Flow {
    /// The reason for the end of a connection that is over; `None`: it is not over.
    #[inline]
    pub(crate) fn reason_over(&self) -> Option<EndReason> {
        match self.state {
            TcpState::Closed => Some(EndReason::Fin),
            TcpState::Reset => Some(EndReason::Rst),
            _ => None,
        }
    }
}

impl<H: Deliver> FlowContext<H> {
    /// Whether the flow's timeout was over before the current packet.
    #[inline(always)]
    pub(crate) fn is_expired(&self, flow: &Flow) -> bool {
        let timeout = if flow.is_over() {
            self.over_timeout_ns(flow)
        } else if self.config.inactivity_timeout_ns != 0 {
            self.config.inactivity_timeout_ns
        } else {
            return false;
        };
        self.now.clock_ns > flow.seen_clock_ns.saturating_add(timeout)
    }

    /// How long a closed connection is kept: until its end is reported, and then until it is removed.
    #[inline]
    fn over_timeout_ns(&self, flow: &Flow) -> u64 {
        match self.config.report_closed_ns {
            report_ns @ 1.. if !flow.is_reported() => report_ns.min(self.config.closed_timeout_ns),
            _ => self.config.closed_timeout_ns,
        }
    }

    /// Whether a closed connection is due for removal.
    fn is_due_for_removal(&self, flow: &Flow) -> bool {
        self.now.clock_ns > flow.seen_clock_ns.saturating_add(self.config.closed_timeout_ns)
    }
}

/// Whether the held SYN of an open connection was unanswered, and nothing of that connection came after it: an attempt
/// at another connection, not an attack on the old one. It becomes a stream by itself.
fn is_new_attempt(flow: &Flow) -> bool {
    let last_ns = flow.last_ns[0].max(flow.last_ns[1]);
    let pending = flow.slow_state.as_ref().and_then(|slow_state| slow_state.held_syn.as_ref());
    pending.is_some_and(|pending| pending.timestamp_ns > last_ns)
}

impl<H: Deliver> Engine<H> {
    /// Handles a flow whose timeout is over: it ends, or its end is reported and the entry stays for late packets.
    pub(crate) fn expire(&mut self, slot: u32) {
        let flow = self.table.flows.get(slot);
        let reason = flow.reason_over().unwrap_or(EndReason::Timeout);
        // A held SYN needs the entry's slot.
        if !flow.is_over() || flow.is_reported() || self.context.is_due_for_removal(flow) || is_new_attempt(flow) {
            return self.end(slot, reason);
        }
        self.conclude(slot, reason);
        let flow = self.table.flows.get_mut(slot);
        flow.closing |= closing::REPORTED;
        for half in &mut flow.halves {
            // Closed windows keep packets from the fast path; nothing is counted before the engine from now on.
            half.flags = half.flags & !(half::SHUNTED | half::QUEUED | half::DOUBTFUL_FIN) | half::ZERO_WINDOW;
        }
        *self.table.data.get_mut(slot) = H::Data::default();
    }

    /// Schedules the report of a closed flow's end.
    #[inline]
    pub(crate) fn schedule_close_report(&mut self, slot: u32) {
        let flow = self.table.flows.get_mut(slot);
        if self.context.config.report_closed_ns != 0 && flow.is_over() && flow.closing & closing::ENDING == 0 {
            flow.closing |= closing::LISTED;
            let due_ns = flow.seen_clock_ns.saturating_add(self.context.over_timeout_ns(flow));
            self.closing.push(Reverse((due_ns, slot, flow.id)));
        }
    }

    /// Reports the ends of connections that have been closed and silent for long enough.
    pub(super) fn report_closed(&mut self, clock_ns: u64) {
        while let Some(&Reverse((due_ns, slot, id))) = self.closing.peek() {
            if due_ns >= clock_ns {
                break;
            }
            self.closing.pop();
            let flow = self.table.flows.get_mut(slot);
            if !flow.has(bits::LIVE) || flow.id != id || flow.is_reported() {
                continue;
            }
            flow.closing &= !closing::ENDING;
            let flow = self.table.flows.get(slot);
            if !flow.is_over() {
                continue;
            }
            if self.context.is_expired(flow) {
                self.expire(slot);
            } else {
                // A packet arrived since.
                self.schedule_close_report(slot);
            }
        }
    }

    /// Ends a flow: delivers what is left for its handler, then reports the end.
    pub(crate) fn end(&mut self, slot: u32, reason: EndReason) {
        if self.table.flows.get(slot).is_reported() {
            return self.table.remove(slot);
        }
        let flow = self.table.flows.get(slot);
        let (client_is_a, seen_clock_ns) = (flow.has(bits::CLIENT_IS_A), flow.seen_clock_ns);
        let alone = self.conclude(slot, reason);
        self.table.remove(slot);
        if let Some(pending) = alone {
            self.add_held_syn(&pending, client_is_a, seen_clock_ns);
        }
    }

    /// Delivers what is left for a flow's handler, then reports the end. Returns the held SYN if it becomes a stream by
    /// itself.
    pub(super) fn conclude(&mut self, slot: u32, reason: EndReason) -> Option<Box<HeldSyn>> {
        let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
        let before = self.context.now;
        self.context.now.slot = slot;
        if self.context.shunt.is_some() {
            self.context.retire(flow, data);
        }
        // Anomalies noted now belong to no packet, in particular not to the one that advanced the clock of this worker.
        let last_odd = flow
            .slow_state
            .as_ref()
            .and_then(|slow_state| slow_state.anomalies.last())
            .map_or(0, |note_anomaly| note_anomaly.packet);
        self.context.now.number = last_odd.max(frame_number(flow.id));
        let alone = is_new_attempt(flow);
        let pending = self.context.take_held_syn(flow);
        if let Some(pending) = pending.as_ref().filter(|_| !alone) {
            self.context.count_held_syn(flow, data, pending);
        }
        self.context.complete(flow, data);
        // Segments that were doubtful until the end may have closed it.
        let reason = match (reason, flow.reason_over()) {
            (EndReason::EndOfInput | EndReason::Timeout, Some(over)) => over,
            _ => reason,
        };
        self.context.close(flow, data, reason);
        self.context.accounting.release(&self.context.now, flow);
        self.context.now = before;
        pending.filter(|_| alone)
    }

    /// Adds the half-open connection of a SYN that was held in a flow with this key.
    fn add_held_syn(&mut self, pending: &HeldSyn, client_is_a: bool, seen_clock_ns: u64) {
        let entry = HalfOpen { seen_clock_ns, ..pending.half_open(client_is_a == pending.from_client) };
        if self.table.half_open.live() >= self.context.config.half_open_max
            && let Some(oldest) = self.table.oldest_half_open()
        {
            self.context.ledger.evicted_half_open += 1;
            self.end_half_open(oldest, EndReason::Evicted);
        }
        let hash = entry.key.hash(self.context.config.hash_key, KeyMask::of(self.context.config.key_ids)).max(1) as u32;
        let half_open = self.table.add_half_open(HalfOpen { hash, ..entry });
        if H::PACKETS {
            let before = self.context.now.slot;
            let slot = self.promote_held_syn(half_open, pending);
            self.table.flows.get_mut(slot).seen_clock_ns = seen_clock_ns;
            self.context.now.slot = before;
        }
    }

    /// Advances the clock: flushes chunks, ends half-open connections and flows whose timeouts are over.
    #[inline(always)]
    pub(crate) fn pass_time(&mut self, clock_ns: u64) {
        self.context.now.clock_ns = clock_ns;
        if clock_ns >= self.sweep.paid_until_ns {
            self.sweep(clock_ns);
        }
        if !self.context.flushes.is_empty() {
            self.flush_chunks(clock_ns);
        }
        if !self.closing.is_empty() {
            self.report_closed(clock_ns);
        }
        if H::SUBSCRIBERS {
            self.flush_subscribers(clock_ns);
        }
    }

    #[cold]
    fn sweep(&mut self, clock_ns: u64) {
        self.tidy_shunt(clock_ns);
        let timeout = self.context.config.half_open_timeout_ns;
        while let Some(slot) = self.table.oldest_half_open() {
            if clock_ns <= self.table.half_open.get(slot).seen_clock_ns.saturating_add(timeout) {
                break;
            }
            self.end_half_open(slot, EndReason::Timeout);
        }
        if H::UNFINISHED {
            self.report_unfinished_half_open(clock_ns);
        }
        self.expire_first_packets();
        let used = u64::from(self.table.flows.used());
        let elapsed = clock_ns.saturating_sub(self.sweep.paid_until_ns).clamp(SWEEP_NS / 64, SWEEP_NS);
        let steps = (used * elapsed / SWEEP_NS).clamp(1, SWEEP_STEP_MAX).min(used);
        // Each step pays for the time that its share of the table stands for.
        self.sweep.paid_until_ns =
            clock_ns.saturating_add((steps * SWEEP_NS).checked_div(used).unwrap_or(SWEEP_NS / 64));
        let is_crowded = self.context.shunt.as_ref().is_some_and(|shunt| shunt.is_crowded());
        for _ in 0..steps {
            let slot = self.sweep.cursor % self.table.flows.used();
            self.sweep.cursor = slot + 1;
            let flow = self.table.flows.get_mut(slot);
            if is_crowded && flow.has(bits::LIVE) {
                self.context.retire_silent(flow);
            }
            if flow.has(bits::LIVE) && self.context.is_expired(flow) && !self.context.was_counted_meanwhile(flow) {
                self.expire(slot);
            } else {
                if H::UNFINISHED {
                    self.report_unfinished(slot, clock_ns);
                }
                if H::VISITS && !H::SUBSCRIBERS {
                    self.visit(slot, clock_ns);
                }
            }
        }
    }

    /// Shows a flow that goes on to the handler.
    fn visit(&mut self, slot: u32, clock_ns: u64) {
        let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
        if flow.has(bits::LIVE) && !flow.is_reported() {
            let before = self.context.now.slot;
            self.context.now.slot = slot;
            self.context.visit(flow, data, clock_ns);
            self.context.now.slot = before;
        }
    }

    fn flush_chunks(&mut self, clock_ns: u64) {
        while let Some(&(due, slot, id)) = self.context.flushes.front() {
            if due > clock_ns {
                break;
            }
            self.context.flushes.pop_front();
            let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
            if flow.has(bits::LIVE) && flow.id == id {
                self.context.now.slot = slot;
                self.context.flush_due(flow, data);
            }
        }
    }

    /// Makes room for one more flow. Returns false if there is none.
    pub(crate) fn make_room(&mut self) -> bool {
        // A flow that ends may leave another behind: a held SYN, for a handler that wants packets.
        while self.table.flows.live() >= self.context.config.flows_max {
            let budget = &self.context.accounting.budget;
            let Some(victim) = self.table.victim(self.context.now.clock_ns, |slot| budget.forced(slot)) else {
                return false;
            };
            let flow = self.table.flows.get(victim);
            self.table.prefetch_index(flow.hash.into());
            self.context.ledger.evicted += u64::from(!flow.is_reported());
            let reason = flow.reason_over().unwrap_or(EndReason::Evicted);
            self.end(victim, reason);
        }
        true
    }

    /// Reclaims memory beyond the bound: of the flows that hold some, those that deserve it least release theirs.
    #[cold]
    pub(crate) fn reclaim_memory(&mut self) {
        let mut sample: Vec<(f32, u32)> = Vec::with_capacity(RECLAIM_SAMPLE);
        while !self.context.accounting.budget.is_reclaimed() && !self.context.accounting.holders.is_empty() {
            sample.clear();
            for _ in 0..RECLAIM_SAMPLE.min(self.context.accounting.holders.len()) {
                let at = self.random(self.context.accounting.holders.len());
                // Removed for this round, so that no slot is sampled twice.
                let slot = self.context.accounting.holders.swap_remove(at);
                prefetch_all(self.table.flows.get(slot));
                prefetch(self.context.accounting.budget.holder(slot));
                sample.push((0.0, slot));
            }
            for one in &mut sample {
                one.0 = self.weigh(one.1);
            }
            sample.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
            let least = sample[0].0 / 2.0;
            let worst = sample.iter().take(RECLAIM_ROUND).take_while(|one| one.0 >= least).count();
            self.context.accounting.holders.extend(sample[worst..].iter().map(|one| one.1));
            for &(_, slot) in &sample[..worst] {
                self.table.prefetch_slow_state(slot);
            }
            for &(_, slot) in &sample[..worst] {
                if self.context.accounting.budget.is_reclaimed() {
                    self.context.accounting.holders.push(slot);
                } else {
                    self.reclaim_from(slot);
                }
            }
        }
    }

    /// See `Budget::weight`. Counts what the flow did since its last charge.
    fn weigh(&mut self, slot: u32) -> f32 {
        let (flow, number) = (self.table.flows.get(slot), self.context.now.number);
        let holder = self.context.accounting.budget.holder(slot);
        if holder.bytes > 0 {
            Accounting::update_holder(holder, flow, number);
        }
        self.context.accounting.budget.weight(slot, number)
    }

    /// A number below `bound`, unpredictable without the key of the hashes.
    fn random(&mut self, bound: usize) -> usize {
        let state = &mut self.sweep.random;
        if *state == 0 {
            *state = self.context.config.hash_key[0] | 1;
        }
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        ((u128::from(*state) * bound as u128) >> 64) as usize
    }

    /// Reclaims the holes and chunks of a flow that was removed from the list of holders. A flow that holds little else
    /// than bookkeeping ends.
    fn reclaim_from(&mut self, slot: u32) {
        let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
        flow.flags &= !bits::HOLDER;
        let held = self.context.accounting.budget.held_by(slot);
        if held == 0 || !flow.has(bits::LIVE) {
            return;
        }
        let before = std::mem::replace(&mut self.context.now.slot, slot);
        let delivered = flow.delivered[0] + flow.delivered[1];
        if !flow.is_over() {
            self.context.note_anomaly_once(flow, crate::AnomalyKind::BufferLimit);
        }
        for direction in [crate::Direction::ClientToServer, crate::Direction::ServerToClient] {
            self.context.empty(flow, data, direction, GapCause::Memory);
            self.context.forget_doubted(flow, direction);
            self.context.flush(flow, data, direction);
            self.context.drop_chunk(flow, direction);
        }
        if H::PACKETS
            && let Some(pending) = self.context.take_held_syn(flow)
        {
            self.context.count_held_syn(flow, data, &pending);
        }
        self.context.accounting.settle_slow_state(&self.context.now, flow);
        self.context.accounting.budget.force(slot, flow.delivered[0] + flow.delivered[1] - delivered);
        let left = self.context.accounting.budget.held_by(slot);
        if left > held - held / 4 {
            let reason = flow.reason_over();
            self.context.ledger.evicted += u64::from(reason.is_none());
            self.end(slot, reason.unwrap_or(EndReason::Evicted));
        } else if left > 0 {
            self.context.accounting.list_holder(&self.context.now, flow);
        }
        self.context.now.slot = before;
    }

    /// Removes entries of the shunt that no flow asks for, when every flow that may have them has timed out.
    fn tidy_shunt(&mut self, clock_ns: u64) {
        let config = &self.context.config;
        if let Some(shunt) = &mut self.context.shunt
            && clock_ns >= self.sweep.tidied_ns.saturating_add(SWEEP_NS)
        {
            self.sweep.tidied_ns = clock_ns;
            let silent_ns = config.inactivity_timeout_ns.max(config.closed_timeout_ns);
            if config.inactivity_timeout_ns != 0 {
                shunt.tidy(silent_ns.saturating_add(2 * SWEEP_NS));
            }
        }
    }

    /// Flows that ended leave entries in lists of slots. The lists are rebuilt when most of their entries are such.
    /// (Not by time, which may stand still in an input.)
    #[inline]
    pub(crate) fn tidy_lists(&mut self) {
        let most = LIST_KEPT + 2 * self.table.flows.live() as usize;
        if self.context.accounting.holders.len().max(self.context.flushes.len()).max(self.closing.len()) > most {
            self.tidy_long_lists(most);
        }
    }

    #[cold]
    fn tidy_long_lists(&mut self, most: usize) {
        let flows = &self.table.flows;
        let is_of = |slot: u32, id: u64| flows.get(slot).has(bits::LIVE) && flows.get(slot).id == id;
        if self.context.accounting.holders.len() > most {
            self.context.accounting.holders.clear();
            self.context.accounting.holders.extend((0..flows.used()).filter(|slot| flows.get(*slot).has(bits::HOLDER)));
        }
        if self.context.flushes.len() > most {
            // The first entry of a flow is enough: it flushes what began earlier.
            self.context.flushes.retain(|&(_, slot, id)| is_of(slot, id));
        }
        if self.closing.len() > most {
            self.closing.retain(|&Reverse((_, slot, id))| is_of(slot, id));
        }
    }

    /// Ends every open stream, in the order of ids, and settles every packet that is still held.
    pub fn finish(&mut self) {
        while self.finish_some(usize::MAX) {}
    }

    /// Ends at most `streams` open streams, in the order of ids; after the last one settles every packet that is still held.
    /// `false`: nothing is left to end. No packet may be processed between two calls.
    pub fn finish_some(&mut self, streams: usize) -> bool {
        let mut open = match self.finishing.take() {
            Some(open) => open,
            None => self.open_entries(),
        };
        for (_, kind, slot) in open.by_ref().take(streams) {
            // Whether the sweep visited the flow before depends on the number of flows, and so on the number of
            // workers.
            let reason = |timed_out| if timed_out { EndReason::Timeout } else { EndReason::EndOfInput };
            match kind {
                OpenEntry::Flow => {
                    let flow = self.table.flows.get(slot);
                    let reason = flow.reason_over().unwrap_or(reason(self.context.is_expired(flow)));
                    self.end(slot, reason);
                }
                OpenEntry::HalfOpen => {
                    let reason = reason(self.context.is_half_open_expired(self.table.half_open.get(slot)));
                    self.end_half_open(slot, reason);
                }
                OpenEntry::FirstPacket => self.end_first_packet(slot, reason(self.is_first_packet_expired(slot))),
            }
        }
        if open.len() > 0 {
            self.finishing = Some(open);
            return true;
        }
        self.finish_fragments();
        self.context.ledger.buffered_bytes_max = self.context.accounting.budget.used_max;
        false
    }

    /// Every entry that is still open, in the order of ids. Held SYNs that were not answered become entries first.
    fn open_entries(&mut self) -> OpenEntries {
        for slot in 0..self.table.flows.used() {
            let flow = self.table.flows.get_mut(slot);
            self.context.now.slot = slot;
            if flow.has(bits::LIVE)
                && is_new_attempt(flow)
                && let Some(pending) = self.context.take_held_syn(flow)
            {
                let (client_is_a, seen_clock_ns) = (flow.has(bits::CLIENT_IS_A), flow.seen_clock_ns);
                self.add_held_syn(&pending, client_is_a, seen_clock_ns);
            }
        }
        self.table.open_entries()
    }
}
