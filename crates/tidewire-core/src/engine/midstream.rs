//! Connections joined midway: the first packet waits for a second one (see `flow/first_packets.rs`).

use super::{Engine, delivery::Delivery};
use crate::{
    EndReason, Fate, Frame, Handler,
    connection::Connection,
    flow::{FirstPacket, MIDSTREAM_START, half},
    packet::{Keyed, Now, Packet},
    tcp::{Events, Segment, tcp_flag},
    wire::{self, Kind},
};

impl<H: Handler> Engine<H> {
    /// Whether a packet without a flow is held until a second packet of its connection arrives. Not for a handler that
    /// wants packets, nor where packets may be counted before the engine: both need the flow.
    #[inline]
    pub(crate) fn may_wait(&self, packet: &Packet<'_>, segment: &Segment) -> bool {
        const ENDS: u8 = tcp_flag::SYN | tcp_flag::FIN | tcp_flag::RST;
        !H::PACKETS
            && segment.flags & (ENDS | tcp_flag::ACK) == tcp_flag::ACK
            && !packet.is_rebuilt
            && self.outputs.shunt.is_none()
            && FirstPacket::charge(packet.bytes.len()) <= self.shared.config.midstream_bytes
    }

    /// Holds a packet. Its fate is decided when it is processed.
    pub(crate) fn keep_first_packet(&mut self, keyed: &Keyed<'_>) -> Fate {
        let Keyed { packet, key, from_a, hash } = *keyed;
        let first_packet = FirstPacket {
            key: key.opened(),
            hash,
            frame: *packet.frame,
            input_bytes: self.shared.now.input_bytes,
            bytes: packet.bytes.into(),
            from_a,
            ..FirstPacket::default()
        };
        self.table.add_first_packet(first_packet);
        while self.table.first_packets.charged_bytes() > self.shared.config.midstream_bytes
            && let Some(oldest) = self.table.first_packets.oldest()
        {
            self.shared.ledger.evicted += 1;
            self.end_first_packet(oldest, EndReason::Evicted);
        }
        self.shared.now.slot = crate::flow::NO_SLOT;
        self.shared.undecided += 1;
        Fate::Tracked
    }

    /// Whether the timeout of a connection with only one packet is over.
    pub(crate) fn is_first_packet_expired(&self, slot: u32) -> bool {
        let timeout = self.shared.config.inactivity_timeout_ns;
        timeout != 0
            && self.shared.now.clock_ns
                > self.table.first_packets.get(slot).frame.clock.as_nanos().saturating_add(timeout)
    }

    /// Ends connections with only one packet whose timeout is over.
    pub(crate) fn expire_first_packets(&mut self) {
        while let Some(oldest) = self.table.first_packets.oldest()
            && self.is_first_packet_expired(oldest)
        {
            self.end_first_packet(oldest, EndReason::Timeout);
        }
    }

    /// Makes a flow of a first packet, as if it had just arrived, because a second packet arrived. Returns the flow's
    /// slot.
    pub(crate) fn promote_first_packet(&mut self, slot: u32) -> Result<u32, Fate> {
        let first_packet = self.table.remove_first_packet(slot);
        self.make_room();
        let slot = self.table.add(first_packet.hash as u32, first_packet.key);
        self.take_in(&first_packet, slot, false);
        self.schedule_close_report(slot);
        // The connection sent a packet just now, so it was not silent for long.
        Ok(slot)
    }

    /// Ends a connection of which no second packet arrived.
    pub(crate) fn end_first_packet(&mut self, slot: u32, reason: EndReason) {
        let first_packet = self.table.remove_first_packet(slot);
        let slot = self.table.add_apart(first_packet.key);
        self.take_in(&first_packet, slot, true);
        self.conclude(slot, reason);
        self.table.remove_apart(slot);
    }

    /// Processes a held packet as the first of the flow at `slot`. `is_all`: no further packet follows.
    fn take_in(&mut self, first_packet: &FirstPacket, slot: u32, is_all: bool) {
        let Frame { number, clock, .. } = first_packet.frame;
        let clock_ns = clock.as_nanos();
        let before = std::mem::replace(
            &mut self.shared.now,
            Now { number, clock_ns, input_bytes: first_packet.input_bytes, slot, time_ns: 0, before_ns: 0 },
        );
        let decoded = wire::decode(
            first_packet.frame.link,
            &first_packet.bytes,
            first_packet.frame.wire_bytes,
            &self.shared.config.wire,
        );
        let path = self.paths.of(&first_packet.frame, &first_packet.bytes, &decoded);
        let packet = Packet::of(&first_packet.frame, &first_packet.bytes, &decoded, path);
        let segment = Segment::of(&first_packet.bytes, &decoded);
        let class = self.classify(&packet);
        let keyed =
            Keyed { packet: &packet, key: &first_packet.key, from_a: first_packet.from_a, hash: first_packet.hash };
        self.begin_flow(slot, &keyed, segment.as_ref(), class);
        let has_fast_path = self.has_fast_path;
        let (mut connection, mut delivery) = self.connection(slot);
        connection.note_ids(&first_packet.key);
        let at_once = match &segment {
            Some(segment) if is_all && has_fast_path => {
                delivery.deliver_first_packet(&mut connection, &packet, first_packet.from_a, segment)
            }
            _ => None,
        };
        let fate = at_once.unwrap_or_else(|| {
            let fate = delivery.packet(&mut connection, &packet, first_packet.from_a, segment.as_ref());
            connection.settle_slow_state();
            fate
        });
        let shared = &mut self.shared;
        shared.ledger.settle(fate);
        shared.ledger.fates[Fate::Tracked as usize] -= std::mem::take(&mut shared.undecided);
        shared.now = before;
    }
}

impl<H: Handler> Delivery<'_, H> {
    /// Counts and delivers the only segment of a connection, if it is unremarkable; `None`: nothing was done. The
    /// result is the one that waiting for the beginning of its stream would have in the end.
    fn deliver_first_packet(
        &mut self,
        connection: &mut Connection<'_>,
        packet: &Packet<'_>,
        from_a: bool,
        segment: &Segment,
    ) -> Option<Fate> {
        const PLAIN: u8 = tcp_flag::ACK | tcp_flag::PSH;
        let direction = connection.flow.direction(from_a);
        let bytes = packet.payload();
        let is_plain = segment.flags & !PLAIN == 0
            && !segment.signed
            && !packet.path.is_doubtful()
            && bytes.len() == segment.length as usize
            && packet.decoded.kind == Kind::Tcp
            && connection.shared.config.chunk_bytes == 0
            && connection.is_uncut(direction)
            && connection.flow.slow_state.is_none()
            && !H::APPLICATIONS;
        if !is_plain {
            return None;
        }
        connection.plain_checksum(direction, packet)?;
        connection.count(direction as usize, packet, Some(segment));
        let me = &mut connection.flow.halves[direction as usize];
        (me.base_seq, me.next) = (segment.seq, MIDSTREAM_START + bytes.len() as u64);
        me.flags |= half::KNOWN;
        if !bytes.is_empty() {
            self.deliver(connection, direction, 0, bytes, packet.frame.timestamp.as_nanos());
        }
        Some(Fate::Tracked)
    }
}
