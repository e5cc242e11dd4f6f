//! The end of a flow, and room for the next one.
//!
//! A flow that ends may leave another behind: the connection of a SYN that was held in it.

use std::cmp::Reverse;

use super::Engine;
use crate::{
    Direction, EndReason, Handler,
    connection::Connection,
    flow::{Flow, HalfOpen, HeldSyn, KeyMask, bits, closing, half},
    packet::frame_number,
};

/// Whether the held SYN of an open connection was unanswered, and nothing of that connection came after it: an attempt
/// at another connection, not an attack on the old one. It becomes a stream by itself.
pub(super) fn is_new_attempt(flow: &Flow) -> bool {
    let last_ns = flow.last_ns[0].max(flow.last_ns[1]);
    let pending = flow.slow_state.as_ref().and_then(|slow_state| slow_state.held_syn.as_ref());
    pending.is_some_and(|pending| pending.timestamp_ns > last_ns)
}

impl<H: Handler> Engine<H> {
    /// Handles a flow whose timeout is over: it ends, or its end is reported and the entry stays for late packets.
    pub(crate) fn expire(&mut self, slot: u32) {
        let flow = self.table.flows.get(slot);
        let reason = flow.reason_over().unwrap_or(EndReason::Timeout);
        // A held SYN needs the entry's slot.
        if !flow.is_over() || flow.is_reported() || self.shared.is_due_for_removal(flow) || is_new_attempt(flow) {
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
            if self.shared.is_expired(flow) {
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
        let before = self.shared.now;
        let (mut connection, mut delivery) = self.connection(slot);
        if delivery.outputs.shunt.is_some() {
            delivery.retire(&mut connection);
        }
        // Anomalies noted now belong to no packet, in particular not to the one that advanced the clock of this worker.
        let slow_state = connection.flow.slow_state.as_ref();
        let last_anomaly = slow_state.and_then(|slow_state| slow_state.anomalies.last()).map_or(0, |last| last.packet);
        connection.shared.now.number = last_anomaly.max(frame_number(connection.flow.id));
        let alone = is_new_attempt(connection.flow);
        let pending = connection.take_held_syn();
        if let Some(pending) = pending.as_ref().filter(|_| !alone) {
            delivery.count_held_syn(&mut connection, pending);
        }
        connection.complete(&mut delivery);
        if self.shared.multipath.is_used {
            self.conclude_multipath(slot);
        }
        let (mut connection, mut delivery) = self.connection(slot);
        // Segments that were doubtful until the end may have closed it.
        let reason = match (reason, connection.flow.reason_over()) {
            (EndReason::EndOfInput | EndReason::Timeout, Some(over)) => over,
            _ => reason,
        };
        delivery.report_end(&mut connection, reason);
        let Connection { flow, shared } = connection;
        shared.accounting.release(&shared.now, flow);
        shared.now = before;
        pending.filter(|_| alone)
    }

    /// Adds the half-open connection of a SYN that was held in a flow with this key.
    pub(super) fn add_held_syn(&mut self, pending: &HeldSyn, client_is_a: bool, seen_clock_ns: u64) {
        let entry = HalfOpen { seen_clock_ns, ..pending.half_open(client_is_a == pending.from_client) };
        if self.table.half_open.live() >= self.shared.config.half_open_max
            && let Some(oldest) = self.table.oldest_half_open()
        {
            self.shared.ledger.evicted_half_open += 1;
            self.end_half_open(oldest, EndReason::Evicted);
        }
        let hash = entry.key.hash(self.shared.config.hash_key, KeyMask::of(self.shared.config.key_ids)).max(1) as u32;
        let half_open = self.table.add_half_open(HalfOpen { hash, ..entry });
        if H::PACKETS {
            let before = self.shared.now.slot;
            let slot = self.promote_held_syn(half_open, pending);
            self.table.flows.get_mut(slot).seen_clock_ns = seen_clock_ns;
            self.shared.now.slot = before;
        }
    }

    /// Makes room for one more flow. Returns false if there is none.
    pub(crate) fn make_room(&mut self) -> bool {
        // A flow that ends may leave another behind: a held SYN, for a handler that wants packets.
        while self.table.flows.live() >= self.shared.config.flows_max {
            let budget = &self.shared.accounting.budget;
            let Some(victim) = self.table.victim(self.shared.now.clock_ns, |slot| budget.forced(slot)) else {
                return false;
            };
            let flow = self.table.flows.get(victim);
            self.table.prefetch_index(flow.hash.into());
            self.shared.ledger.evicted += u64::from(!flow.is_reported());
            let reason = flow.reason_over().unwrap_or(EndReason::Evicted);
            self.end(victim, reason);
        }
        true
    }

    /// Turns a half-open connection into a flow, as if its SYN had just arrived.
    pub(crate) fn promote(&mut self, slot: u32) -> u32 {
        let entry = self.table.remove_half_open(slot);
        self.make_room();
        let slot = self.table.add(entry.hash, entry.key);
        let (mut connection, mut delivery) = self.connection(slot);
        entry.begin(connection.flow);
        // Its half-open timeout was checked; the timeout of flows begins with the packet that promotes it.
        connection.flow.seen_clock_ns = connection.shared.now.clock_ns;
        delivery.begin_half_open(&mut connection, &entry);
        slot
    }

    /// For a handler that wants packets: opens the connection that a held SYN began, and reports the SYN.
    pub(crate) fn promote_held_syn(&mut self, half_open: u32, pending: &HeldSyn) -> u32 {
        let slot = self.promote(half_open);
        let (mut connection, mut delivery) = self.connection(slot);
        for kept in &pending.kept {
            delivery.show(&mut connection, kept.shown(Direction::ClientToServer));
        }
        slot
    }
}
