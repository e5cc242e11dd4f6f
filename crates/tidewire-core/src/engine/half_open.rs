//! Connections of which only a SYN was seen: they are no flows until a packet answers or continues it.

use super::{Engine, context::FlowContext};
use crate::{
    AnomalyKind, ChecksumMode, Deliver, EndReason, TcpState,
    flow::{Flow, HalfOpen, bits, checks, half},
    packet::{Keyed, Packet},
    tcp::{Segment, has_right_checksum, has_wrong_checksum},
};

impl HalfOpen {
    /// Gives a fresh flow what was noted of its SYN.
    pub(crate) fn begin(&self, flow: &mut Flow) {
        flow.flags |= bits::CLIENT_KNOWN | if self.client_is_a { bits::CLIENT_IS_A } else { 0 };
        flow.state = TcpState::SynSent;
        flow.id = self.id;
        flow.seen_clock_ns = self.seen_clock_ns;
        (flow.first_ns[0], flow.last_ns[0]) = (self.first_ns, self.last_ns);
        let client = &mut flow.halves[0];
        client.add_packets(self.packets.into());
        client.set_path(self.path);
        client.payload_wire_bytes = self.payload_bytes;
        client.base_seq = self.isn.wrapping_add(1);
        client.flags = half::KNOWN | half::SYN;
        client.flags |= if self.signed { half::SIGNED } else { 0 };
        client.set_scale(self.scale);
        // A right checksum of a SYN says nothing about payload.
        for (is_so, bit) in [(self.good_checksum, checks::GOOD_SYN), (self.large_frames, checks::LARGE_FRAMES)] {
            if is_so {
                client.note_check(bit);
            }
        }
        client.tcp_flags = self.tcp_flags;
        if let Some(value) = self.timestamp {
            client.ts_recent = value;
            client.flags |= half::TIMESTAMP;
        }
        flow.count_frames(0, self.frame_bytes, self.ip_bytes);
    }
}

impl<H: Deliver> Engine<H> {
    pub(super) fn half_open(&mut self, keyed: &Keyed<'_>, segment: &Segment) {
        let Keyed { packet, key, from_a, hash } = *keyed;
        if self.table.half_open.live() >= self.context.config.half_open_max
            && let Some(oldest) = self.table.oldest_half_open()
        {
            self.context.ledger.evicted_half_open += 1;
            self.end_half_open(oldest, EndReason::Evicted);
        }
        let class = self.classify(packet);
        let entry = HalfOpen {
            key: *key,
            hash: hash as u32,
            isn: segment.seq,
            id: packet.frame.number,
            first_ns: packet.frame.timestamp_ns,
            last_ns: packet.frame.timestamp_ns,
            seen_clock_ns: self.context.now.clock_ns,
            ip_bytes: packet.ip_bytes,
            frame_bytes: packet.frame_bytes,
            packets: 1,
            timestamp: segment.timestamp,
            class,
            path: packet.path,
            client_is_a: from_a,
            scale: segment.scale.unwrap_or(0),
            tcp_flags: segment.flags,
            good_checksum: self.context.config.checksum != ChecksumMode::Ignore && has_right_checksum(packet),
            signed: segment.signed,
            large_frames: segment.large_frames,
            ..HalfOpen::default()
        };
        self.table.add_half_open(entry);
    }

    /// A SYN came again.
    pub(super) fn count_syn_retry(&mut self, slot: u32, packet: &Packet<'_>) {
        let clock_ns = self.context.now.clock_ns;
        let entry = self.table.half_open.get_mut(slot);
        entry.packets += 1;
        entry.last_ns = packet.frame.timestamp_ns;
        entry.seen_clock_ns = clock_ns;
        entry.path = entry.path.and(packet.path);
        entry.ip_bytes += packet.ip_bytes;
        entry.frame_bytes += packet.frame_bytes;
    }

    /// A half-open connection becomes a flow, as if its SYN had just come.
    pub(crate) fn promote(&mut self, slot: u32) -> u32 {
        let entry = self.table.remove_half_open(slot);
        self.make_room();
        let slot = self.table.add(entry.hash, entry.key);
        let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
        entry.begin(flow);
        // Its own timeout was looked at; that of flows begins with the packet that made it one.
        flow.seen_clock_ns = self.context.now.clock_ns;
        self.context.apply(flow, entry.class);
        self.context.now.slot = slot;
        self.context.open(flow, data);
        if entry.payload_bytes > 0 {
            self.context.note_anomaly_at_start(flow, AnomalyKind::SynData);
        }
        slot
    }

    /// Ends a half-open connection: opened and closed at once.
    pub(crate) fn end_half_open(&mut self, slot: u32, reason: EndReason) {
        // Never a flow of the table: a flood of SYNs costs no more of it than its few lines here.
        let entry = self.table.remove_half_open(slot);
        let (mut flow, mut data) = (Flow { key: entry.key, ..Flow::default() }, H::Data::default());
        entry.begin(&mut flow);
        self.context.apply(&mut flow, entry.class);
        self.context.open(&mut flow, &mut data);
        if entry.payload_bytes > 0 {
            self.context.note_anomaly_at_start(&mut flow, AnomalyKind::SynData);
        }
        self.context.close(&mut flow, &mut data, reason);
    }
}

impl<H: Deliver> FlowContext<H> {
    /// Whether the timeout of a connection passed of which only a SYN was seen.
    pub(crate) fn is_half_open_expired(&self, entry: &HalfOpen) -> bool {
        self.now.clock_ns > entry.seen_clock_ns.saturating_add(self.config.half_open_timeout_ns)
    }

    /// Whether a SYN begins nothing for its checksum.
    pub(super) fn refuses_syn(&self, packet: &Packet<'_>) -> bool {
        self.config.checksum == ChecksumMode::Verify && has_wrong_checksum(packet)
    }

    /// Whether a SYN takes no other's place until it is answered: it has a wrong checksum. `is_right`: the other's was
    /// right.
    pub(super) fn doubts_syn(&self, packet: &Packet<'_>, is_right: bool) -> bool {
        is_right && self.config.checksum == ChecksumMode::Auto && has_wrong_checksum(packet)
    }
}
