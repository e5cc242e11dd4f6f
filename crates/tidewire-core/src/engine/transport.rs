//! The look-up of a packet's flow: existing, opened, or joined midway.

use super::{Engine, Prepared, delivery::Delivery, reopen::Reopening};
use crate::{
    EndReason, Fate, Frame, Handler,
    connection::Connection,
    flow::{Found, NO_SLOT},
    packet::{Keyed, Packet},
    tcp::{Events, Segment, tcp_flag},
    wire::Kind,
};

impl<H: Handler> Engine<H> {
    /// Processes a transport packet of a frame.
    #[inline(always)]
    pub(crate) fn prepared_transport(&mut self, frame: &Frame, bytes: &[u8], one: &Prepared) -> Fate {
        let path = self.paths.of(frame, bytes, &one.decoded);
        if self.has_fast_path
            && let Some((flow, data)) = self.table.get_cached(one.slot, &one.key)
            && flow.key.has_ids_of(&one.key)
        {
            self.shared.now.slot = one.slot;
            let mut connection = Connection { flow, shared: &mut self.shared };
            let mut delivery = Delivery { outputs: &mut self.outputs, data };
            if !delivery.is_due(&connection)
                && let Some(fate) =
                    connection.fast_path(&mut delivery, Packet::of(frame, bytes, &one.decoded, path), one.from_a)
            {
                return fate;
            }
        }
        let packet = Packet::of(frame, bytes, &one.decoded, path);
        let keyed = Keyed { packet: &packet, key: &one.key, from_a: one.from_a, hash: one.hash };
        let fate = self.transport(&keyed, one.slot);
        if self.shared.now.slot != one.slot {
            self.lookup_cache.found(one.place, one.hash, self.shared.now.slot);
        }
        fate
    }

    /// Processes a transport packet.
    #[inline(never)]
    pub(crate) fn transport(&mut self, keyed: &Keyed<'_>, guess: u32) -> Fate {
        let Keyed { packet, key, from_a, hash } = *keyed;
        let slot = match self.table.find_cached(guess, hash, key) {
            Found::Flow(slot) => slot,
            _ => match self.flow_for(keyed) {
                Ok(slot) => slot,
                Err(fate) => return fate,
            },
        };
        let has_fast_path = self.has_fast_path;
        let (mut connection, mut delivery) = self.connection(slot);
        if has_fast_path
            && slot != guess
            && !packet.is_rebuilt
            && connection.flow.key.has_ids_of(key)
            && !delivery.is_due(&connection)
            && let Some(fate) = connection.fast_path(&mut delivery, *packet, from_a)
        {
            return fate;
        }
        self.slow_path(keyed, slot)
    }

    /// The slow path: TCP packets that the fast path does not handle, and other protocols.
    #[inline(always)]
    fn slow_path(&mut self, keyed: &Keyed<'_>, slot: u32) -> Fate {
        let Keyed { packet, key, from_a, .. } = *keyed;
        let (mut connection, mut delivery) = self.connection(slot);
        if connection.is_expired() && !delivery.was_counted_meanwhile(&mut connection) {
            // The flow timed out before this packet.
            self.expire(slot);
            if !self.table.flows.get(slot).is_reported() {
                return self.transport_new(keyed);
            }
        }
        let segment = match packet.decoded.kind {
            Kind::Tcp => Segment::of(packet.bytes, packet.decoded),
            _ => None,
        };
        if let Some(segment) = &segment
            && segment.flags & (tcp_flag::SYN | tcp_flag::ACK) != tcp_flag::ACK
            && let Some(reopening) = self.reopen(keyed, slot, segment)
        {
            return match reopening {
                Reopening::Held => Fate::Tracked,
                Reopening::Ended => self.transport_new(keyed),
                Reopening::Promoted(slot) => self.transport(keyed, slot),
            };
        }
        let (mut connection, mut delivery) = self.connection(slot);
        if connection.flow.is_reported() {
            return Fate::AfterClose;
        }
        connection.note_ids(key);
        let fate = delivery.packet(&mut connection, packet, from_a, segment.as_ref());
        delivery.cut(&mut connection);
        if connection.flow.slow_state.is_some() {
            connection.settle_slow_state();
            self.settle_multipath(keyed);
        }
        self.schedule_close_report(slot);
        if self.shared.accounting.budget.is_over() {
            self.reclaim_memory();
        }
        fate
    }

    #[cold]
    pub(crate) fn transport_new(&mut self, keyed: &Keyed<'_>) -> Fate {
        let Keyed { packet, key, from_a, hash } = *keyed;
        // A SYN that was held in the flow that just ended became a flow under the same key.
        if H::PACKETS
            && let Found::Flow(slot) = self.table.find(hash, key)
        {
            return self.slow_path(keyed, slot);
        }
        match self.flow_for(keyed) {
            Err(fate) => fate,
            Ok(slot) => {
                let segment = match packet.decoded.kind {
                    Kind::Tcp => Segment::of(packet.bytes, packet.decoded),
                    _ => None,
                };
                let (mut connection, mut delivery) = self.connection(slot);
                connection.note_ids(key);
                let fate = delivery.packet(&mut connection, packet, from_a, segment.as_ref());
                connection.settle_slow_state();
                self.schedule_close_report(slot);
                fate
            }
        }
    }

    /// A packet without a flow in the main table: the slot of a new flow, or the packet's fate if it needs none.
    #[inline(never)]
    fn flow_for(&mut self, keyed: &Keyed<'_>) -> Result<u32, Fate> {
        let Keyed { packet, key, from_a, hash } = *keyed;
        self.shared.now.slot = NO_SLOT;
        let segment = match packet.decoded.kind {
            Kind::Tcp => Some(Segment::of(packet.bytes, packet.decoded).ok_or(Fate::Malformed)?),
            _ => None,
        };
        if segment.is_some_and(|segment| segment.mptcp.is_some()) {
            self.note_tokens(keyed);
        }
        let found = self.table.find(hash, key);
        let other = self.table.other();
        if let (Found::None, Some(_), Some(segment)) = (found, other, &segment)
            && let Some(slot) = self.moved_flow(keyed, segment)
        {
            return Ok(slot);
        }
        if let Found::FirstPacket(slot) = found {
            if !self.is_first_packet_expired(slot) {
                return self.promote_first_packet(slot);
            }
            self.end_first_packet(slot, EndReason::Timeout);
        }
        if let Found::HalfOpen(slot) = found {
            let entry = *self.table.half_open.get(slot);
            let expired =
                self.shared.now.clock_ns > entry.seen_clock_ns.saturating_add(self.shared.config.half_open_timeout_ns);
            let Some(segment) = segment.as_ref() else {
                // A truncated header does not show what it answers or continues.
                if expired {
                    self.end_half_open(slot, EndReason::Timeout);
                    return self.new_flow(keyed, None);
                }
                return Ok(self.promote(slot));
            };
            let from_client = from_a == entry.client_is_a;
            let is_syn =
                segment.flags & (tcp_flag::SYN | tcp_flag::ACK | tcp_flag::RST | tcp_flag::FIN) == tcp_flag::SYN;
            if expired {
                self.end_half_open(slot, EndReason::Timeout);
            } else if from_client
                && is_syn
                && segment.length == 0
                && segment.seq == entry.isn
                && entry.key.has_ids_of(key)
                // Which of the two paths leads to the receiver is not known: the anomaly is reported.
                && !packet.path.deviates(entry.path)
            {
                self.count_syn_retry(slot, packet, segment);
                return Err(Fate::Tracked);
            } else if from_client
                && is_syn
                && segment.seq != entry.isn
                && !self.shared.doubts_syn(packet, entry.good_checksum)
                && !packet.path.deviates(entry.path)
            {
                self.end_half_open(slot, EndReason::Reused);
            } else {
                return Ok(self.promote(slot));
            }
        }
        if let Some(segment) = &segment
            && segment.flags & (tcp_flag::SYN | tcp_flag::ACK | tcp_flag::RST | tcp_flag::FIN) == tcp_flag::SYN
            && segment.length == 0
            // A handler that wants packets needs a flow: the half-open table does not keep the packet.
            && !H::PACKETS
            && !self.shared.refuses_syn(packet)
        {
            self.half_open(keyed, segment);
            return Err(Fate::Tracked);
        }
        if let Some(segment) = &segment
            && other.is_none()
            && self.may_wait(packet, segment)
        {
            return Err(self.keep_first_packet(keyed));
        }
        let slot = self.new_flow(keyed, segment.as_ref())?;
        let opens = segment.is_some_and(|segment| segment.flags & (tcp_flag::SYN | tcp_flag::ACK) == tcp_flag::SYN);
        if let Some(other) = other.filter(|_| !opens) {
            self.note_other_ids(slot, other);
        }
        Ok(slot)
    }
}
