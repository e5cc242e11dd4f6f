//! The effect of a packet on its flow: it is counted and reported, and its payload is passed to its protocol.

use super::context::FlowContext;
use crate::{
    AnomalyKind, ChecksumMode, Deliver, Direction, Fate, GapCause, Stream, StreamPacket,
    flow::{Flow, bits, half},
    packet::Packet,
    tcp::{Payload, Segment, Verdict, is_merged},
    wire::Kind,
};

impl<H: Deliver> FlowContext<H> {
    /// Counts a packet of the direction `at`.
    #[inline(always)]
    pub(crate) fn count(&mut self, flow: &mut Flow, at: usize, packet: &Packet<'_>, segment: Option<&Segment>) {
        let mut timestamp_ns = packet.frame.timestamp_ns;
        if !flow.is_next_time(timestamp_ns) {
            timestamp_ns = self.irregular_time(flow, timestamp_ns);
        }
        flow.count_frames(at, packet.frame_bytes, packet.ip_bytes);
        (self.now.time_ns, self.now.before_ns) = (timestamp_ns, flow.last_ns[at]);
        let half = &mut flow.halves[at];
        let is_first = half.packets() == 0;
        half.payload_wire_bytes += u64::from(packet.decoded.payload_bytes);
        half.tcp_flags |= segment.map_or(0, |segment| segment.flags);
        flow.add_packets(at, 1);
        (flow.first_ns[at], flow.last_ns[at]) = match is_first {
            true => (timestamp_ns, timestamp_ns),
            false => (flow.first_ns[at].min(timestamp_ns), flow.last_ns[at].max(timestamp_ns)),
        };
        flow.seen_clock_ns = self.now.clock_ns;
        if let Some(segment) = segment.filter(|segment| segment.high_flags != 0) {
            flow.note_high_flags(at, segment.high_flags);
        }
        if is_first {
            flow.halves[at].set_path(packet.path);
            if flow.halves[at ^ 1].packets() != 0 {
                flow.flags |= bits::CONFIRMED;
            }
        }
    }

    /// Processes a packet of a flow: counts it, and passes its payload to its protocol.
    #[inline(always)]
    pub(crate) fn packet(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        packet: &Packet<'_>,
        from_a: bool,
        segment: Option<&Segment>,
    ) -> Fate {
        let direction = flow.direction(from_a);
        self.count(flow, direction as usize, packet, segment);
        if packet.frames > 1 {
            flow.slow_state().more_frames[direction as usize] += u64::from(packet.frames - 1);
        }
        let is_cut = packet.decoded.kind == Kind::HeaderCut;
        let verdict = match self.config.checksum {
            ChecksumMode::Ignore => Verdict::Unverified,
            _ if is_cut => Verdict::Unverified,
            _ => self.verify(flow, direction, packet, segment),
        };
        if H::PACKETS {
            self.show(flow, data, packet.shown(direction, verdict.shown()));
        }
        if self.config.flush_timeout_ns != 0 && flow.slow_state.is_some() {
            self.flush_due(flow, data);
        }
        if is_cut {
            return self.header_cut(flow, data, packet, direction);
        }
        if verdict == Verdict::LeftOut {
            self.leave_out(flow, data, direction, packet, segment);
            return Fate::BadChecksum;
        }
        if self.config.ttl_min > packet.decoded.ttl {
            self.note_anomaly(flow, AnomalyKind::LowTtl);
            return Fate::Ignored;
        }
        let is_refused = self.note_path(flow, direction, packet);
        self.payload(flow, data, packet, direction, segment, [verdict == Verdict::Unconfirmed, is_refused])
    }

    /// A packet whose transport header is truncated by the snap length. A datagram's payload is a gap at its place; the
    /// position of a segment's payload is unknown.
    #[cold]
    fn header_cut(&mut self, flow: &mut Flow, data: &mut H::Data, packet: &Packet<'_>, direction: Direction) -> Fate {
        if !packet.is_cut_segment() {
            let half = &mut flow.halves[direction as usize];
            let (start, bytes) = (half.next, u64::from(packet.decoded.payload_bytes));
            half.next += bytes;
            self.gap(flow, data, direction, start, bytes, GapCause::Snapped);
        }
        Fate::HeaderCut
    }

    /// A packet whose checksum is wrong. A datagram's payload is a gap at its place; a segment's may be retransmitted.
    #[cold]
    fn leave_out(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        packet: &Packet<'_>,
        segment: Option<&Segment>,
    ) {
        if let Some(segment) = segment {
            return self.note_left_out(flow, direction, segment);
        }
        let half = &mut flow.halves[direction as usize];
        let (start, bytes) = (half.next, u64::from(packet.decoded.payload_bytes));
        half.next += bytes;
        self.gap(flow, data, direction, start, bytes, GapCause::BadChecksum);
    }

    #[inline(always)]
    fn payload(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        packet: &Packet<'_>,
        direction: Direction,
        segment: Option<&Segment>,
        [is_unconfirmed, is_refused]: [bool; 2],
    ) -> Fate {
        let timestamp_ns = self.now.time_ns;
        let mut payload = Payload { is_refused, timestamp_ns, ..Payload::of(packet, GapCause::Snapped) };
        if is_unconfirmed {
            (payload.is_unconfirmed, payload.is_merged) = (true, is_merged(flow, direction, packet));
        }
        let is_shed = packet.decoded.payload_bytes > 0 && self.is_shed(flow, direction);
        if is_shed {
            self.count_shed(flow, direction, u64::from(packet.decoded.payload_bytes));
            payload.bytes = &[];
            payload.cause = GapCause::Shed;
            payload.has_fate = false;
        }
        let fate = match segment {
            Some(segment) => self.tcp(flow, data, direction, segment, payload),
            None => self.datagram(flow, data, direction, packet.decoded.payload_bytes, payload),
        };
        if is_shed { Fate::Shed } else { fate }
    }

    /// Payload of a protocol without order: each packet's payload follows the previous one's.
    fn datagram(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        stated: u32,
        payload: Payload<'_>,
    ) -> Fate {
        let half = &mut flow.halves[direction as usize];
        let start = half.next;
        half.next += u64::from(stated);
        if stated == 0 {
            return Fate::Tracked;
        }
        self.deliver(flow, data, direction, start, payload.bytes, payload.timestamp_ns);
        let missing = u64::from(stated) - payload.bytes.len() as u64;
        if missing != 0 {
            self.gap(flow, data, direction, start + payload.bytes.len() as u64, missing, payload.cause);
        }
        if flow.halves[direction as usize].has(half::CUT) {
            return self.fate_of_cut(flow, direction, start);
        }
        Fate::Tracked
    }

    /// Reports a packet to a handler that wants packets.
    pub(crate) fn show(&mut self, flow: &mut Flow, data: &mut H::Data, shown: StreamPacket<'_>) {
        if H::SUBSCRIBERS {
            return self.show_each(flow, data, shown);
        }
        self.handler.packet(&mut Stream { flow, data, config: &self.config }, shown);
    }
}
