//! A SYN with a new sequence number in an open connection (RFC 5961 section 4). The other side's answer decides which
//! connection it belongs to. Until then neither stream counts it, and its packets are kept if the handler wants
//! packets.
//!
//! If it is answered, the old connection ends (`reused`) and a new one begins with that SYN. If no packet of the old
//! connection follows, it becomes a stream of its own at the end. Accepting it at once lets a forged SYN split a
//! stream; ignoring it joins two connections that reuse a port.

use super::delivery::Delivery;
use crate::{AnomalyKind, Handler, TcpState, connection::Connection, flow::HeldSyn};

impl Connection<'_> {
    /// Removes the held SYN from a flow, and releases its memory.
    pub(crate) fn take_held_syn(&mut self) -> Option<Box<HeldSyn>> {
        let pending = self.flow.slow_state.as_mut()?.held_syn.take()?;
        self.shared.accounting.recharge(&self.shared.now, self.flow, pending.direction(), pending.charge(), 0);
        Some(pending)
    }

    pub(super) fn charge_held_syn(&mut self, pending: Box<HeldSyn>) {
        self.shared.accounting.recharge(&self.shared.now, self.flow, pending.direction(), 0, pending.charge());
        self.shared.accounting.list_holder(&self.shared.now, self.flow);
        self.flow.slow_state().held_syn = Some(pending);
    }
}

impl<H: Handler> Delivery<'_, H> {
    /// Counts and reports the packets of a held SYN that opened nothing.
    pub(crate) fn count_held_syn(&mut self, connection: &mut Connection<'_>, pending: &HeldSyn) {
        let direction = pending.direction();
        if connection.flow.state == TcpState::Closed {
            let number = std::mem::replace(&mut connection.shared.now.number, pending.number);
            connection.note_anomaly(AnomalyKind::BlindSyn);
            connection.shared.now.number = number;
        }
        connection.flow.add_packets(direction as usize, pending.packets.into());
        connection.flow.halves[direction as usize].payload_wire_bytes += pending.payload_bytes;
        connection.flow.count_frames(direction as usize, pending.frame_bytes, pending.ip_bytes);
        for kept in &pending.kept {
            self.show(connection, kept.shown(direction));
        }
    }
}
