//! Conversations that were begun and not answered, reported long before their timeouts.

use tidewire_types::ip_protocol;

use super::Engine;
use crate::{
    Handler, TcpState, Timestamp, Unfinished,
    flow::{Flow, bits, closing},
    tcp::tcp_flag,
};

impl Flow {
    /// Whether the other side has not answered, or the client has not completed the handshake.
    fn is_unfinished(&self) -> bool {
        match self.state {
            TcpState::Stateless => self.halves[1].packets() == 0,
            TcpState::Closed | TcpState::Reset => false,
            _ => self.halves[0].tcp_flags & tcp_flag::ACK == 0,
        }
    }

    fn unfinished(&self) -> Unfinished {
        let icmp = self.halves[0].base_seq;
        let icmp = if ip_protocol::is_icmp(self.key.proto()) { [(icmp >> 8) as u8, icmp as u8] } else { [0; 2] };
        Unfinished {
            id: self.id,
            key: self.key.describe(self.has(bits::CLIENT_IS_A), icmp),
            start: Timestamp::from_nanos(self.start_ns()),
            tcp_flags: [0, 1].map(|at: usize| self.halves[at].tcp_flags),
            packets: [0, 1].map(|at: usize| self.packets(at)),
            payload_bytes: [0, 1].map(|at: usize| self.halves[at].payload_wire_bytes),
        }
    }
}

impl<H: Handler> Engine<H> {
    /// Reports half-open connections that are old enough.
    pub(super) fn report_unfinished_half_open(&mut self, clock_ns: u64) {
        let before_ns = clock_ns.saturating_sub(self.shared.config.unfinished_ns);
        while let Some(slot) = self.table.next_unfinished(before_ns) {
            let entry = self.table.half_open.get_mut(slot);
            entry.is_reported = true;
            let mut flow = Flow { key: entry.key, ..Flow::default() };
            entry.begin(&mut flow);
            self.outputs.handler.unfinished(&flow.unfinished());
        }
    }

    /// Reports a flow if it is old enough and unfinished.
    #[inline]
    pub(super) fn report_unfinished(&mut self, slot: u32, clock_ns: u64) {
        let after_ns = self.shared.config.unfinished_ns;
        let flow = self.table.flows.get_mut(slot);
        if flow.has(bits::LIVE)
            && flow.closing & (closing::ENDING | closing::UNFINISHED) == 0
            && flow.is_unfinished()
            && clock_ns.saturating_sub(flow.start_ns()) >= after_ns
        {
            flow.closing |= closing::UNFINISHED;
            self.outputs.handler.unfinished(&flow.unfinished());
        }
    }
}
