//! Connections of which only a SYN was seen. They become flows when a packet answers or continues them.

use super::{Engine, delivery::Delivery};
use crate::{
    AnomalyKind, ChecksumMode, EndReason, Handler, TcpState,
    connection::{Connection, Shared},
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

impl<H: Handler> Engine<H> {
    pub(super) fn half_open(&mut self, keyed: &Keyed<'_>, segment: &Segment) {
        let Keyed { packet, key, from_a, hash } = *keyed;
        if self.table.half_open.live() >= self.shared.config.half_open_max
            && let Some(oldest) = self.table.oldest_half_open()
        {
            self.shared.ledger.evicted_half_open += 1;
            self.end_half_open(oldest, EndReason::Evicted);
        }
        let class = self.classify(packet);
        let entry = HalfOpen {
            key: *key,
            hash: hash as u32,
            isn: segment.seq,
            id: packet.frame.number,
            // A time ahead of the clock is an outlier.
            first_ns: packet.frame.timestamp.as_nanos().min(self.shared.now.clock_ns),
            last_ns: packet.frame.timestamp.as_nanos().min(self.shared.now.clock_ns),
            seen_clock_ns: self.shared.now.clock_ns,
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
            good_checksum: self.shared.config.checksum != ChecksumMode::Ignore && has_right_checksum(packet),
            signed: segment.signed,
            large_frames: segment.large_frames,
            mptcp: segment.mptcp,
            ..HalfOpen::default()
        };
        self.table.add_half_open(entry);
    }

    /// Counts a retransmitted SYN.
    pub(super) fn count_syn_retry(&mut self, slot: u32, packet: &Packet<'_>, segment: &Segment) {
        let clock_ns = self.shared.now.clock_ns;
        let entry = self.table.half_open.get_mut(slot);
        entry.packets += 1;
        entry.high_flags |= segment.high_flags;
        let timestamp_ns = packet.frame.timestamp.as_nanos().min(clock_ns);
        (entry.first_ns, entry.last_ns) = (entry.first_ns.min(timestamp_ns), entry.last_ns.max(timestamp_ns));
        entry.seen_clock_ns = clock_ns;
        entry.path = entry.path.and(packet.path);
        entry.ip_bytes += packet.ip_bytes;
        entry.frame_bytes += packet.frame_bytes;
    }

    /// Ends a half-open connection: opens and closes it.
    pub(crate) fn end_half_open(&mut self, slot: u32, reason: EndReason) {
        // The connection never enters the flow table: a flood of SYNs costs only these lines.
        let entry = self.table.remove_half_open(slot);
        let (mut flow, mut data) = (Flow { key: entry.key, ..Flow::default() }, H::Data::default());
        entry.begin(&mut flow);
        let mut connection = Connection { flow: &mut flow, shared: &mut self.shared };
        let mut delivery = Delivery { outputs: &mut self.outputs, data: &mut data };
        delivery.begin_half_open(&mut connection, &entry);
        delivery.report_end(&mut connection, reason);
    }
}

impl<H: Handler> Delivery<'_, H> {
    /// Reports the stream of a connection of which only a SYN was seen.
    pub(super) fn begin_half_open(&mut self, connection: &mut Connection<'_>, entry: &HalfOpen) {
        self.apply(connection, entry.class);
        self.open(connection);
        if entry.payload_bytes > 0 {
            connection.note_anomaly_at_start(AnomalyKind::SynData);
        }
    }
}

impl Shared {
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
