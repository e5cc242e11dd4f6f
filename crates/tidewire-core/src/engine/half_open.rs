//! Connections of which only a SYN was seen. They become flows when a packet answers or continues them.

use super::{Engine, context::FlowContext};
use crate::{
    AnomalyKind, ChecksumMode, Deliver, EndReason, TcpState,
    flow::{Flow, HalfOpen, bits, checks, closing, half},
    packet::{Keyed, Packet},
    tcp::{Segment, has_right_checksum, has_wrong_checksum},
};

impl HalfOpen {
    /// Initialises a new flow from its SYN.
    pub(crate) fn begin(&self, flow: &mut Flow) {
        flow.flags |= bits::CLIENT_KNOWN | if self.client_is_a { bits::CLIENT_IS_A } else { 0 };
        flow.closing |= if self.is_reported { closing::UNFINISHED } else { 0 };
        flow.state = TcpState::SynSent;
        flow.id = self.id;
        flow.seen_clock_ns = self.seen_clock_ns;
        (flow.first_ns[0], flow.last_ns[0]) = (self.first_ns, self.last_ns);
        flow.add_packets(0, self.packets.into());
        let client = &mut flow.halves[0];
        client.set_path(self.path);
        client.payload_wire_bytes = self.payload_bytes;
        client.base_seq = self.isn.wrapping_add(1);
        client.flags = half::KNOWN | half::SYN;
        client.flags |= if self.signed { half::SIGNED } else { 0 };
        client.set_scale(self.scale);
        // A SYN's correct checksum says nothing about payload.
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
        if self.mptcp.is_some() {
            flow.slow_state().mptcp = self.mptcp;
        }
        if self.high_flags != 0 {
            flow.note_high_flags(0, self.high_flags);
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
            // A time ahead of the clock is an outlier.
            first_ns: packet.frame.timestamp_ns.min(self.context.now.clock_ns),
            last_ns: packet.frame.timestamp_ns.min(self.context.now.clock_ns),
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
            high_flags: segment.high_flags,
            good_checksum: self.context.config.checksum != ChecksumMode::Ignore && has_right_checksum(packet),
            signed: segment.signed,
            large_frames: segment.large_frames,
            mptcp: segment.mptcp,
            ..HalfOpen::default()
        };
        self.table.add_half_open(entry);
    }

    /// Counts a retransmitted SYN.
    pub(super) fn count_syn_retry(&mut self, slot: u32, packet: &Packet<'_>, segment: &Segment) {
        let clock_ns = self.context.now.clock_ns;
        let entry = self.table.half_open.get_mut(slot);
        entry.packets += 1;
        entry.high_flags |= segment.high_flags;
        let timestamp_ns = packet.frame.timestamp_ns.min(clock_ns);
        (entry.first_ns, entry.last_ns) = (entry.first_ns.min(timestamp_ns), entry.last_ns.max(timestamp_ns));
        entry.seen_clock_ns = clock_ns;
        entry.path = entry.path.and(packet.path);
        entry.ip_bytes += packet.ip_bytes;
        entry.frame_bytes += packet.frame_bytes;
    }

    /// Turns a half-open connection into a flow, as if its SYN had just arrived.
    pub(crate) fn promote(&mut self, slot: u32) -> u32 {
        let entry = self.table.remove_half_open(slot);
        self.make_room();
        let slot = self.table.add(entry.hash, entry.key);
        let (flow, data) = (self.table.flows.get_mut(slot), self.table.data.get_mut(slot));
        entry.begin(flow);
        // Its half-open timeout was checked; the timeout of flows begins with the packet that promotes it.
        flow.seen_clock_ns = self.context.now.clock_ns;
        self.context.apply(flow, entry.class);
        self.context.now.slot = slot;
        self.context.open(flow, data);
        if entry.payload_bytes > 0 {
            self.context.note_anomaly_at_start(flow, AnomalyKind::SynData);
        }
        slot
    }

    /// Ends a half-open connection: opens and closes it.
    pub(crate) fn end_half_open(&mut self, slot: u32, reason: EndReason) {
        // The connection never enters the flow table: a flood of SYNs costs only these lines.
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
    /// Whether the timeout of a connection with only a SYN is over.
    pub(crate) fn is_half_open_expired(&self, entry: &HalfOpen) -> bool {
        self.now.clock_ns > entry.seen_clock_ns.saturating_add(self.config.half_open_timeout_ns)
    }

    /// Whether a SYN's checksum prevents it from opening a connection.
    pub(super) fn refuses_syn(&self, packet: &Packet<'_>) -> bool {
        self.config.checksum == ChecksumMode::Verify && has_wrong_checksum(packet)
    }

    /// Whether a SYN must be answered before it replaces another, because its checksum is wrong. `is_right`: the
    /// other's checksum was right.
    pub(super) fn doubts_syn(&self, packet: &Packet<'_>, is_right: bool) -> bool {
        is_right && self.config.checksum == ChecksumMode::Auto && has_wrong_checksum(packet)
    }
}
