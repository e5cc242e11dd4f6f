//! Which timeouts are over.

use std::cmp::Reverse;

use super::{Engine, delivery::Delivery};
use crate::{
    Handler,
    connection::{Connection, Shared},
    flow::{Flow, HalfOpen, closing},
};

impl Shared {
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
    pub(super) fn over_timeout_ns(&self, flow: &Flow) -> u64 {
        if flow.continues_elsewhere() {
            let timeout_ns = self.config.inactivity_timeout_ns;
            return if timeout_ns == 0 { u64::MAX } else { timeout_ns };
        }
        match self.config.report_closed_ns {
            report_ns @ 1.. if !flow.is_reported() => report_ns.min(self.config.closed_timeout_ns),
            _ => self.config.closed_timeout_ns,
        }
    }

    /// Whether a closed connection is due for removal.
    pub(super) fn is_due_for_removal(&self, flow: &Flow) -> bool {
        self.now.clock_ns > flow.seen_clock_ns.saturating_add(self.config.closed_timeout_ns)
    }

    /// Whether the timeout of a connection with only a SYN is over.
    pub(crate) fn is_half_open_expired(&self, entry: &HalfOpen) -> bool {
        self.now.clock_ns > entry.seen_clock_ns.saturating_add(self.config.half_open_timeout_ns)
    }
}

impl Connection<'_> {
    /// Whether the flow's timeout was over before the current packet.
    #[inline(always)]
    pub(super) fn is_expired(&self) -> bool {
        self.shared.is_expired(self.flow)
    }
}

impl<H: Handler> Delivery<'_, H> {
    /// Whether a packet of the flow may come after its timeout, or after that of its pending chunk.
    #[inline(always)]
    pub(super) fn is_due(&self, connection: &Connection<'_>) -> bool {
        self.is_flush_due(connection) || connection.is_expired()
    }
}

impl<H: Handler> Engine<H> {
    /// Schedules the report of a closed flow's end.
    #[inline]
    pub(crate) fn schedule_close_report(&mut self, slot: u32) {
        let flow = self.table.flows.get_mut(slot);
        let is_due = flow.is_over() && flow.closing & closing::ENDING == 0;
        if self.shared.config.report_closed_ns != 0 && is_due && !flow.continues_elsewhere() {
            flow.closing |= closing::LISTED;
            let due_ns = flow.seen_clock_ns.saturating_add(self.shared.over_timeout_ns(flow));
            self.closing.push(Reverse((due_ns, slot, flow.id)));
        }
    }
}
