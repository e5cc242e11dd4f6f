//! The look-up of a packet's flow: existing, opened, or joined midway.

use super::{Engine, Prepared};
use crate::{
    Deliver, EndReason, Fate, Frame,
    flow::{Found, NO_SLOT},
    packet::{Keyed, Packet},
    tcp::{Segment, flag},
    wire::Kind,
};

impl<H: Deliver> Engine<H> {
    /// Processes a transport packet of a frame.
    #[inline(always)]
    pub(crate) fn prepared_transport(&mut self, frame: &Frame, bytes: &[u8], one: &Prepared) -> Fate {
        let path = self.context.path_of(frame, bytes, &one.decoded);
        if self.has_fast_path
            && let Some((flow, data)) = self.table.get_cached(one.slot, &one.key)
            && flow.key.has_ids_of(&one.key)
        {
            self.context.now.slot = one.slot;
            if let Some(fate) =
                self.context.fast_path(flow, data, Packet::of(frame, bytes, &one.decoded, path), one.from_a)
            {
                return fate;
            }
        }
        let packet = Packet::of(frame, bytes, &one.decoded, path);
        let keyed = Keyed { packet: &packet, key: &one.key, from_a: one.from_a, hash: one.hash };
        let fate = self.transport(&keyed, one.slot);
        if self.context.now.slot != one.slot {
            self.lookup_cache.found(one.place, one.hash, self.context.now.slot);
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
        self.context.now.slot = slot;
        let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
        if self.has_fast_path
            && slot != guess
            && !packet.is_rebuilt
            && flow.key.has_ids_of(key)
            && let Some(fate) = self.context.fast_path(flow, data, *packet, from_a)
        {
            return fate;
        }
        self.slow_path(keyed, slot)
    }

    /// The slow path: TCP packets that the fast path does not handle, and other protocols.
    #[inline(always)]
    fn slow_path(&mut self, keyed: &Keyed<'_>, slot: u32) -> Fate {
        let Keyed { packet, key, from_a, .. } = *keyed;
        let flow = self.table.flows.get_mut(slot);
        if self.context.is_expired(flow) && !self.context.was_counted_meanwhile(flow) {
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
            && segment.flags & (flag::SYN | flag::ACK) != flag::ACK
            && let Some(fate) = self.reopen(keyed, slot, segment)
        {
            return fate;
        }
        self.context.now.slot = slot;
        let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
        if flow.is_reported() {
            return Fate::AfterClose;
        }
        self.context.note_ids(flow, key);
        let fate = self.context.packet(flow, data, packet, from_a, segment.as_ref());
        if self.context.shunt.is_some() {
            self.context.offer(flow);
        }
        self.context.accounting.settle_slow_state(&self.context.now, self.table.flows.get_mut(slot));
        self.schedule_close_report(slot);
        if self.context.accounting.budget.is_over() {
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
                self.context.now.slot = slot;
                let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
                self.context.note_ids(flow, key);
                let fate = self.context.packet(flow, data, packet, from_a, segment.as_ref());
                self.context.accounting.settle_slow_state(&self.context.now, flow);
                self.schedule_close_report(slot);
                fate
            }
        }
    }

    /// A packet without a flow in the main table: the slot of a new flow, or the packet's fate if it needs none.
    #[inline(never)]
    fn flow_for(&mut self, keyed: &Keyed<'_>) -> Result<u32, Fate> {
        let Keyed { packet, key, from_a, hash } = *keyed;
        self.context.now.slot = NO_SLOT;
        let segment = match packet.decoded.kind {
            Kind::Tcp => Some(Segment::of(packet.bytes, packet.decoded).ok_or(Fate::Malformed)?),
            _ => None,
        };
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
            let expired = self.context.now.clock_ns
                > entry.seen_clock_ns.saturating_add(self.context.config.half_open_timeout_ns);
            let Some(segment) = segment.as_ref() else {
                // A truncated header does not show what it answers or continues.
                if expired {
                    self.end_half_open(slot, EndReason::Timeout);
                    return self.new_flow(keyed, None);
                }
                return Ok(self.promote(slot));
            };
            let from_client = from_a == entry.client_is_a;
            let is_syn = segment.flags & (flag::SYN | flag::ACK | flag::RST | flag::FIN) == flag::SYN;
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
                && !self.context.doubts_syn(packet, entry.good_checksum)
                && !packet.path.deviates(entry.path)
            {
                self.end_half_open(slot, EndReason::Reused);
            } else {
                return Ok(self.promote(slot));
            }
        }
        if let Some(segment) = &segment
            && segment.flags & (flag::SYN | flag::ACK | flag::RST | flag::FIN) == flag::SYN
            && segment.length == 0
            // A handler that wants packets needs a flow: the half-open table does not keep the packet.
            && !H::PACKETS
            && !self.context.refuses_syn(packet)
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
        let opens = segment.is_some_and(|segment| segment.flags & (flag::SYN | flag::ACK) == flag::SYN);
        if let Some(other) = other.filter(|_| !opens) {
            self.note_other_ids(slot, other);
        }
        Ok(slot)
    }
}
