//! Connections joined midway: the first packet waits for a second one (see `flow/midstream.rs`).

use super::{Engine, core::Core};
use crate::{
    ChecksumMode, Deliver, EndReason, Fate, Frame,
    flow::{Flow, Lone, MIDSTREAM_START, half},
    packet::{Keyed, Now, Packet},
    tcp::{Segment, flag},
    wire::{self, Kind},
};

impl<H: Deliver> Engine<H> {
    /// Whether a packet without a flow is kept until another one of its connection comes. Not for who wants the packets
    /// themselves, nor where packets may be counted before the engine: both need the flow.
    #[inline]
    pub(crate) fn may_wait(&self, packet: &Packet<'_>, segment: &Segment) -> bool {
        const ENDS: u8 = flag::SYN | flag::FIN | flag::RST;
        !H::PACKETS
            && segment.flags & (ENDS | flag::ACK) == flag::ACK
            && !packet.is_rebuilt
            && self.core.shunt.is_none()
            && Lone::charge(packet.bytes.len()) <= self.core.config.midstream_bytes
    }

    /// Keeps a packet. Its fate is decided when it is taken in.
    pub(crate) fn keep_lone(&mut self, keyed: &Keyed<'_>) -> Fate {
        let Keyed { packet, key, from_a, hash } = *keyed;
        let lone = Lone {
            key: *key,
            hash,
            frame: *packet.frame,
            input_bytes: self.core.now.input_bytes,
            bytes: packet.bytes.into(),
            from_a,
            ..Lone::default()
        };
        self.table.add_lone(lone);
        while self.table.lones.charged_bytes() > self.core.config.midstream_bytes
            && let Some(oldest) = self.table.lones.oldest()
        {
            self.core.ledger.evicted += 1;
            self.end_lone(oldest, EndReason::Evicted);
        }
        self.core.now.slot = crate::flow::NO_SLOT;
        self.core.undecided += 1;
        Fate::Tracked
    }

    /// Whether the timeout of a connection passed of which one packet was seen.
    pub(crate) fn is_lone_expired(&self, slot: u32) -> bool {
        let timeout = self.core.config.inactivity_timeout_ns;
        timeout != 0 && self.core.now.clock_ns > self.table.lones.get(slot).frame.clock_ns.saturating_add(timeout)
    }

    /// Ends those whose timeout passed.
    pub(crate) fn expire_lones(&mut self) {
        while let Some(oldest) = self.table.lones.oldest()
            && self.is_lone_expired(oldest)
        {
            self.end_lone(oldest, EndReason::Timeout);
        }
    }

    /// A second packet: the first one becomes a flow, as if it had just come. The flow's slot.
    pub(crate) fn promote_lone(&mut self, slot: u32) -> Result<u32, Fate> {
        let lone = self.table.remove_lone(slot);
        self.make_room();
        let slot = self.table.add(lone.hash as u32, lone.key);
        self.take_in(&lone, slot, false);
        self.list_closed(slot);
        // It was heard when this packet came, and so not silent for long.
        Ok(slot)
    }

    /// No second packet came.
    pub(crate) fn end_lone(&mut self, slot: u32, reason: EndReason) {
        let lone = self.table.remove_lone(slot);
        let slot = self.table.add_apart(lone.key);
        self.take_in(&lone, slot, true);
        self.conclude(slot, reason);
        self.table.remove_apart(slot);
    }

    /// Takes in a packet that waited as the first of the flow at `slot`. `is_all`: nothing more will come.
    fn take_in(&mut self, lone: &Lone, slot: u32, is_all: bool) {
        let core = &mut self.core;
        let Frame { number, clock_ns, .. } = lone.frame;
        let before = std::mem::replace(&mut core.now, Now { number, clock_ns, input_bytes: lone.input_bytes, slot });
        let decoded = wire::decode(lone.frame.link, &lone.bytes, lone.frame.wire_bytes, &core.config.wire);
        let path = core.path_of(&lone.frame, &lone.bytes, &decoded);
        let packet = Packet::of(&lone.frame, &lone.bytes, &decoded, path);
        let segment = Segment::of(&lone.bytes, &decoded);
        let class = self.classify(&packet);
        let keyed = Keyed { packet: &packet, key: &lone.key, from_a: lone.from_a, hash: lone.hash };
        self.begin_flow(slot, &keyed, segment.as_ref(), class);
        let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
        self.core.note_ids(flow, &lone.key);
        let at_once = match &segment {
            Some(segment) if is_all && self.has_short_way => {
                self.core.deliver_lone(flow, data, &packet, lone.from_a, segment)
            }
            _ => None,
        };
        let fate = at_once.unwrap_or_else(|| {
            let fate = self.core.packet(flow, data, &packet, lone.from_a, segment.as_ref());
            self.core.holdings.settle_extra(&self.core.now, flow);
            fate
        });
        let core = &mut self.core;
        core.ledger.settle(fate);
        core.ledger.fates[Fate::Tracked as usize] -= std::mem::take(&mut core.undecided);
        core.now = before;
    }
}

impl<H: Deliver> Core<H> {
    /// Counts and delivers the only segment of a connection, if nothing is remarkable about it; `None`: nothing was done. What
    /// comes of it is what waiting for the beginning of its stream would come to in the end.
    fn deliver_lone(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        packet: &Packet<'_>,
        from_a: bool,
        segment: &Segment,
    ) -> Option<Fate> {
        const PLAIN: u8 = flag::ACK | flag::PSH;
        let direction = flow.direction(from_a);
        let bytes = packet.payload();
        let is_plain = segment.flags & !PLAIN == 0
            && !segment.signed
            && !packet.path.is_doubtful()
            && bytes.len() == segment.length as usize
            && packet.decoded.kind == Kind::Tcp
            && self.config.chunk_bytes == 0
            && self.is_uncut(direction)
            && flow.extra.is_none()
            && !H::OUTLETS;
        if !is_plain || self.config.checksum != ChecksumMode::Ignore && !self.is_plain_checksum(flow, direction, packet)
        {
            return None;
        }
        self.count(flow, direction as usize, packet, segment.flags);
        let me = &mut flow.halves[direction as usize];
        (me.base_seq, me.next) = (segment.seq, MIDSTREAM_START + bytes.len() as u64);
        me.flags |= half::KNOWN;
        if !bytes.is_empty() {
            self.deliver(flow, data, direction, 0, bytes, packet.frame.timestamp_ns);
        }
        Some(Fate::Tracked)
    }
}
