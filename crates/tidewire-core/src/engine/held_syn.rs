//! A SYN with a new sequence number in an open connection (RFC 5961 section 4). The other side's answer decides which
//! connection it belongs to. Until then neither stream counts it, and its packets are kept if the handler wants
//! packets.
//!
//! If it is answered, the old connection ends (`reused`) and a new one begins with that SYN. If no packet of the old
//! connection follows, it becomes a stream of its own at the end. Accepting it at once lets a forged SYN split a
//! stream; ignoring it joins two connections that reuse a port.

use super::{Engine, context::FlowContext};
use crate::{
    AnomalyKind, ChecksumMode, Deliver, Direction, EndReason, Fate, TcpState,
    flow::{Flow, HalfOpen, HeldSyn, KeptPacket},
    packet::Keyed,
    tcp::{Segment, has_right_checksum},
};

/// Copies of one SYN that are held, at most: hosts send about seven (`tcp_syn_retries`). Further copies count in the
/// old connection.
const COPIES_MAX: u32 = 16;

impl<H: Deliver> Engine<H> {
    /// Holds a SYN with a new number in an open connection until the other side answers.
    pub(crate) fn hold_syn(&mut self, keyed: &Keyed<'_>, slot: u32, direction: Direction, segment: &Segment) {
        let Keyed { packet, key, .. } = *keyed;
        // Classifies the connection that the SYN may open, by its first packet.
        let class = self.classify(packet);
        let fresh = HeldSyn {
            key: *key,
            class,
            number: packet.frame.number,
            timestamp_ns: packet.frame.timestamp_ns,
            isn: segment.seq,
            scale: segment.scale.unwrap_or(0),
            timestamp: segment.timestamp,
            large_frames: segment.large_frames,
            mptcp: segment.mptcp,
            good_checksum: self.context.config.checksum != ChecksumMode::Ignore && has_right_checksum(packet),
            signed: segment.signed,
            from_client: direction == Direction::ClientToServer,
            path: packet.path,
            packets: 0,
            payload_bytes: 0,
            ip_bytes: 0,
            frame_bytes: 0,
            kept: Vec::new(),
        };
        self.context.now.slot = slot;
        let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
        // Behind both FINs it is expected, unless it opens nothing.
        if flow.state != TcpState::Closed {
            self.context.note_anomaly(flow, AnomalyKind::BlindSyn);
        }
        flow.seen_clock_ns = self.context.now.clock_ns;
        let mut pending = match self.context.take_held_syn(flow) {
            Some(pending) if pending.isn == segment.seq && pending.from_client == fresh.from_client => pending,
            Some(other) => {
                self.context.count_held_syn(flow, data, &other);
                Box::new(fresh)
            }
            None => Box::new(fresh),
        };
        if pending.packets >= COPIES_MAX {
            flow.add_packets(direction as usize, 1);
            flow.halves[direction as usize].payload_wire_bytes += u64::from(segment.length);
            flow.count_frames(direction as usize, packet.frame_bytes, packet.ip_bytes);
            if H::PACKETS {
                self.context.show(flow, data, packet.shown(direction, self.context.held_checksum(packet)));
            }
        } else {
            pending.packets += 1;
            pending.payload_bytes += u64::from(segment.length);
            pending.ip_bytes += packet.ip_bytes;
            pending.frame_bytes += packet.frame_bytes;
            if H::PACKETS {
                pending.kept.push(KeptPacket::of(packet.shown(direction, self.context.held_checksum(packet))));
            }
        }
        self.context.charge_held_syn(flow, pending);
        self.context.accounting.settle_slow_state(&self.context.now, flow);
        if self.context.accounting.budget.is_over() {
            self.reclaim_memory();
        }
    }

    /// A SYN-ACK that answers a held SYN: the old connection is over, the new one began with that SYN.
    pub(crate) fn answered(&mut self, keyed: &Keyed<'_>, slot: u32, segment: &Segment) -> Option<Fate> {
        let flow = self.table.flows.get_mut(slot);
        let from_client = flow.direction(keyed.from_a) == Direction::ClientToServer;
        let pending = flow.slow_state.as_ref()?.held_syn.as_ref()?;
        if pending.from_client == from_client || segment.ack != pending.isn.wrapping_add(1) {
            return None;
        }
        self.context.now.slot = slot;
        let pending = self.context.take_held_syn(flow)?;
        let reason = self.table.flows.get(slot).reason_over().unwrap_or(EndReason::Reused);
        self.end(slot, reason);
        let entry = HalfOpen {
            hash: keyed.hash as u32,
            seen_clock_ns: self.context.now.clock_ns,
            ..pending.half_open(!keyed.from_a)
        };
        let half_open = self.table.add_half_open(entry);
        if H::PACKETS {
            let slot = self.promote_held_syn(half_open, &pending);
            return Some(self.transport(keyed, slot));
        }
        Some(self.transport_new(keyed))
    }

    /// For a handler that wants packets: opens the connection that a held SYN began, and reports the SYN.
    pub(crate) fn promote_held_syn(&mut self, half_open: u32, pending: &HeldSyn) -> u32 {
        let slot = self.promote(half_open);
        let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
        for kept in &pending.kept {
            self.context.show(flow, data, kept.shown(Direction::ClientToServer));
        }
        slot
    }
}

impl<H: Deliver> FlowContext<H> {
    /// Removes the held SYN from a flow, and releases its memory.
    pub(crate) fn take_held_syn(&mut self, flow: &mut Flow) -> Option<Box<HeldSyn>> {
        let pending = flow.slow_state.as_mut()?.held_syn.take()?;
        self.accounting.recharge(&self.now, flow, pending.direction(), pending.charge(), 0);
        Some(pending)
    }

    fn charge_held_syn(&mut self, flow: &mut Flow, pending: Box<HeldSyn>) {
        self.accounting.recharge(&self.now, flow, pending.direction(), 0, pending.charge());
        self.accounting.list_holder(&self.now, flow);
        flow.slow_state().held_syn = Some(pending);
    }

    /// Counts and reports the packets of a held SYN that opened nothing.
    pub(crate) fn count_held_syn(&mut self, flow: &mut Flow, data: &mut H::Data, pending: &HeldSyn) {
        let direction = pending.direction();
        if flow.state == TcpState::Closed {
            let number = std::mem::replace(&mut self.now.number, pending.number);
            self.note_anomaly(flow, AnomalyKind::BlindSyn);
            self.now.number = number;
        }
        flow.add_packets(direction as usize, pending.packets.into());
        flow.halves[direction as usize].payload_wire_bytes += pending.payload_bytes;
        flow.count_frames(direction as usize, pending.frame_bytes, pending.ip_bytes);
        for kept in &pending.kept {
            self.show(flow, data, kept.shown(direction));
        }
    }
}
