//! Packet time: flushes, the sweep for timeouts, and the end of the input.
//!
//! The sweep visits every flow once in 4 s of packet time, a few at a time, and ends those that timed out. On interfaces the
//! end of a connection is reported after a second of silence (`report_closed_ns`), by a queue ordered by time instead of
//! the sweep. The entry stays until `closed_timeout_ns`, so that late packets open no stream; they get the fate
//! `after_close`.

use std::time::Duration;

use std::cmp::Reverse;

use super::{Engine, end::is_new_attempt};
use crate::{
    EndReason, Handler,
    flow::{OpenEntries, OpenEntry, bits},
};

/// Packet time in which a sweep visits every flow once, so that ended ones free their memory.
const SWEEP_NS: u64 = 4_000_000_000;
/// Flows that one step of the sweep visits, at most: twice as many as may open between two steps.
const SWEEP_STEP_MAX: u64 = 64;
/// Entries of a list of slots below which it is not tidied.
const LIST_KEPT: usize = 4096;

impl<H: Handler> Engine<H> {
    /// Advances the clock: flushes chunks, ends half-open connections and flows whose timeouts are over.
    #[inline(always)]
    pub(crate) fn pass_time(&mut self, clock_ns: u64) {
        self.shared.now.clock_ns = clock_ns;
        if clock_ns >= self.sweep.paid_until_ns {
            self.sweep(clock_ns);
        }
        if !self.outputs.flushes.is_empty() {
            self.flush_chunks(clock_ns);
        }
        if !self.closing.is_empty() {
            self.report_closed(clock_ns);
        }
        if H::APPLICATIONS {
            self.flush_subscribers(clock_ns);
        }
    }

    #[cold]
    fn sweep(&mut self, clock_ns: u64) {
        self.tidy_shunt(clock_ns);
        let timeout = self.shared.config.half_open_timeout_ns;
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
        let is_crowded = self.outputs.shunt.as_ref().is_some_and(|shunt| shunt.is_crowded());
        let is_visited =
            H::VISITS && self.outputs.handler.membership().is_none_or(|applications| applications.wants_visits());
        for _ in 0..steps {
            let slot = self.sweep.cursor % self.table.flows.used();
            self.sweep.cursor = slot + 1;
            let (mut connection, mut delivery) = self.connection(slot);
            let is_live = connection.flow.has(bits::LIVE);
            if is_crowded && is_live {
                delivery.retire_silent(&mut connection);
            }
            if is_live && connection.is_expired() && !delivery.was_counted_meanwhile(&mut connection) {
                self.expire(slot);
            } else {
                if H::UNFINISHED {
                    self.report_unfinished(slot, clock_ns);
                }
                if is_visited {
                    self.visit(slot, clock_ns);
                }
            }
        }
    }

    /// Shows a flow that continues to the handler.
    fn visit(&mut self, slot: u32, clock_ns: u64) {
        let flow = self.table.flows.get(slot);
        if flow.has(bits::LIVE) && !flow.is_reported() {
            let before = self.shared.now.slot;
            let (mut connection, mut delivery) = self.connection(slot);
            delivery.visit(&mut connection, clock_ns);
            self.shared.now.slot = before;
        }
    }

    fn flush_chunks(&mut self, clock_ns: u64) {
        while let Some(&(due, slot, id)) = self.outputs.flushes.front() {
            if due > clock_ns {
                break;
            }
            self.outputs.flushes.pop_front();
            if self.table.is_live(slot, id) {
                let (mut connection, mut delivery) = self.connection(slot);
                delivery.flush_due(&mut connection);
            }
        }
    }

    /// Removes entries of the shunt that no flow asks for, when every flow that may have them has timed out.
    fn tidy_shunt(&mut self, clock_ns: u64) {
        let config = &self.shared.config;
        if let Some(shunt) = &mut self.outputs.shunt
            && clock_ns >= self.sweep.tidied_ns.saturating_add(SWEEP_NS)
        {
            self.sweep.tidied_ns = clock_ns;
            let silent_ns = config.inactivity_timeout_ns.max(config.closed_timeout_ns);
            if config.inactivity_timeout_ns != 0 {
                shunt.tidy(Duration::from_nanos(silent_ns.saturating_add(2 * SWEEP_NS)));
            }
        }
    }

    /// Flows that ended leave entries in lists of slots. The lists are rebuilt when most of their entries are such.
    /// (Not by time, which may stand still in an input.)
    #[inline]
    pub(crate) fn tidy_lists(&mut self) {
        let most = LIST_KEPT + 2 * self.table.flows.live() as usize;
        if self.shared.accounting.holders.len().max(self.outputs.flushes.len()).max(self.closing.len()) > most {
            self.tidy_long_lists(most);
        }
    }

    #[cold]
    fn tidy_long_lists(&mut self, most: usize) {
        let flows = &self.table.flows;
        let is_of = |slot: u32, id: u64| flows.get(slot).has(bits::LIVE) && flows.get(slot).id == id;
        if self.shared.accounting.holders.len() > most {
            self.shared.accounting.holders.clear();
            self.shared.accounting.holders.extend((0..flows.used()).filter(|slot| flows.get(*slot).has(bits::HOLDER)));
        }
        if self.outputs.flushes.len() > most {
            // The first entry of a flow is enough: it flushes what began earlier.
            self.outputs.flushes.retain(|&(_, slot, id)| is_of(slot, id));
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
            None => {
                if self.shared.multipath.is_used || self.second_engine.is_some() {
                    self.finish_subflows();
                }
                self.open_entries()
            }
        };
        for (_, kind, slot) in open.by_ref().take(streams) {
            // Whether the sweep visited the flow before depends on the number of flows, and so on the number of
            // workers.
            let reason = |timed_out| if timed_out { EndReason::Timeout } else { EndReason::EndOfInput };
            match kind {
                OpenEntry::Flow => {
                    let flow = self.table.flows.get(slot);
                    let reason = flow.reason_over().unwrap_or(reason(self.shared.is_expired(flow)));
                    self.end(slot, reason);
                }
                OpenEntry::HalfOpen => {
                    let reason = reason(self.shared.is_half_open_expired(self.table.half_open.get(slot)));
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
        self.shared.ledger.buffered_bytes_max = self.shared.accounting.budget.used_max;
        false
    }

    /// Before the input ends: delivers what waits in subflows that joined, those of other workers included.
    #[cold]
    fn finish_subflows(&mut self) {
        self.empty_subflows();
        if let Some(mut engine) = self.second_engine.take() {
            engine.finish();
            self.shared.multipath.events.append(&mut engine.shared.multipath.events);
        }
        self.deliver_last();
    }

    /// Every entry that is still open, in the order of ids. Held SYNs that were not answered become entries first.
    fn open_entries(&mut self) -> OpenEntries {
        for slot in 0..self.table.flows.used() {
            let (mut connection, _) = self.connection(slot);
            if connection.flow.has(bits::LIVE)
                && is_new_attempt(connection.flow)
                && let Some(pending) = connection.take_held_syn()
            {
                let flow = connection.flow;
                let (client_is_a, seen_clock_ns) = (flow.has(bits::CLIENT_IS_A), flow.seen_clock_ns);
                self.add_held_syn(&pending, client_is_a, seen_clock_ns);
            }
        }
        self.table.open_entries()
    }

    /// Flushes chunks whose flush timeout is over, of all applications.
    fn flush_subscribers(&mut self, clock_ns: u64) {
        for subscriber in 0..self.outputs.subscribers.list.len() {
            while let Some(&(due, slot, id)) = self.outputs.subscribers.list[subscriber].flushes.front() {
                if due > clock_ns {
                    break;
                }
                self.outputs.subscribers.list[subscriber].flushes.pop_front();
                if self.table.is_live(slot, id) {
                    let (mut connection, mut delivery) = self.connection(slot);
                    delivery.for_each_matching(
                        &mut connection,
                        |one| one == subscriber,
                        |delivery, connection| delivery.flush_due(connection),
                    );
                }
            }
        }
    }
}
