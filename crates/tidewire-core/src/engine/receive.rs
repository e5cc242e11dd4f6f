//! The effect of a packet on its flow: it is counted and reported, and its payload is passed to its protocol.

use super::delivery::Delivery;
use crate::{
    AnomalyKind, ChecksumMode, Direction, Fate, Gap, GapCause, Handler,
    connection::Connection,
    flow::{bits, half},
    packet::Packet,
    tcp::{Events, Payload, Segment, Verdict, is_merged},
    wire::Kind,
};

impl Connection<'_> {
    /// Counts a packet of the direction `at`.
    #[inline(always)]
    pub(crate) fn count(&mut self, at: usize, packet: &Packet<'_>, segment: Option<&Segment>) {
        let mut timestamp_ns = packet.frame.timestamp.as_nanos();
        if !self.flow.is_next_time(timestamp_ns) {
            timestamp_ns = self.irregular_time(timestamp_ns);
        }
        self.flow.count_frames(at, packet.frame_bytes, packet.ip_bytes);
        (self.shared.now.time_ns, self.shared.now.before_ns) = (timestamp_ns, self.flow.last_ns[at]);
        let half = &mut self.flow.halves[at];
        let is_first = half.packets() == 0;
        half.payload_wire_bytes += u64::from(packet.decoded.payload_bytes);
        half.tcp_flags |= segment.map_or(0, |segment| segment.flags);
        self.flow.add_packets(at, 1);
        (self.flow.first_ns[at], self.flow.last_ns[at]) = match is_first {
            true => (timestamp_ns, timestamp_ns),
            false => (self.flow.first_ns[at].min(timestamp_ns), self.flow.last_ns[at].max(timestamp_ns)),
        };
        self.flow.seen_clock_ns = self.shared.now.clock_ns;
        if let Some(segment) = segment.filter(|segment| segment.high_flags != 0) {
            self.flow.note_high_flags(at, segment.high_flags);
        }
        if is_first {
            self.flow.halves[at].set_path(packet.path);
            if self.flow.halves[at ^ 1].packets() != 0 {
                self.flow.flags |= bits::CONFIRMED;
            }
        }
    }
}

impl<H: Handler> Delivery<'_, H> {
    /// Processes a packet of a flow: counts it, and passes its payload to its protocol.
    #[inline(always)]
    pub(crate) fn packet(
        &mut self,
        connection: &mut Connection<'_>,
        packet: &Packet<'_>,
        from_a: bool,
        segment: Option<&Segment>,
    ) -> Fate {
        let direction = connection.flow.direction(from_a);
        connection.count(direction as usize, packet, segment);
        if packet.frames > 1 {
            connection.flow.slow_state().more_frames[direction as usize] += u64::from(packet.frames - 1);
        }
        let is_cut = packet.decoded.kind == Kind::HeaderCut;
        let verdict = match connection.shared.config.checksum {
            ChecksumMode::Ignore => Verdict::Unverified,
            _ if is_cut => Verdict::Unverified,
            _ => connection.verify(direction, packet, segment),
        };
        if H::PACKETS {
            self.show(connection, packet.shown(direction, verdict.shown()));
        }
        if connection.shared.config.flush_timeout_ns != 0 && connection.flow.slow_state.is_some() {
            self.flush_due(connection);
        }
        if is_cut {
            return self.header_cut(connection, packet, direction);
        }
        if verdict == Verdict::LeftOut {
            self.leave_out(connection, direction, packet, segment);
            return Fate::BadChecksum;
        }
        if connection.shared.config.ttl_min > packet.decoded.ttl {
            connection.note_anomaly(AnomalyKind::LowTtl);
            return Fate::Ignored;
        }
        let is_refused = connection.note_path(direction, packet);
        self.payload(connection, packet, direction, segment, [verdict == Verdict::Unconfirmed, is_refused])
    }

    /// A packet whose transport header is truncated by the snap length. A datagram's payload is a gap at its place; the
    /// position of a segment's payload is unknown.
    #[cold]
    fn header_cut(&mut self, connection: &mut Connection<'_>, packet: &Packet<'_>, direction: Direction) -> Fate {
        if !packet.is_cut_segment() {
            let half = &mut connection.flow.halves[direction as usize];
            let (start, bytes) = (half.next, u64::from(packet.decoded.payload_bytes));
            half.next += bytes;
            self.gap(connection, Gap { direction, offset: start, bytes, cause: GapCause::Snapped });
        }
        Fate::HeaderCut
    }

    /// A packet whose checksum is wrong. A datagram's payload is a gap at its place; a segment's may be retransmitted.
    #[cold]
    fn leave_out(
        &mut self,
        connection: &mut Connection<'_>,
        direction: Direction,
        packet: &Packet<'_>,
        segment: Option<&Segment>,
    ) {
        if let Some(segment) = segment {
            return connection.note_left_out(direction, segment);
        }
        let half = &mut connection.flow.halves[direction as usize];
        let (start, bytes) = (half.next, u64::from(packet.decoded.payload_bytes));
        half.next += bytes;
        self.gap(connection, Gap { direction, offset: start, bytes, cause: GapCause::BadChecksum });
    }

    #[inline(always)]
    fn payload(
        &mut self,
        connection: &mut Connection<'_>,
        packet: &Packet<'_>,
        direction: Direction,
        segment: Option<&Segment>,
        [is_unconfirmed, is_refused]: [bool; 2],
    ) -> Fate {
        let timestamp_ns = connection.shared.now.time_ns;
        let mut payload = Payload { is_refused, timestamp_ns, ..Payload::of(packet, GapCause::Snapped) };
        if is_unconfirmed {
            (payload.is_unconfirmed, payload.is_merged) = (true, is_merged(connection.flow, direction, packet));
        }
        let is_shed = packet.decoded.payload_bytes > 0 && connection.is_shed(direction);
        if is_shed {
            connection.count_shed(direction, u64::from(packet.decoded.payload_bytes));
            payload.bytes = &[];
            payload.cause = GapCause::Shed;
            payload.has_fate = false;
        }
        if connection.flow.slow_state.as_ref().is_some_and(|slow_state| slow_state.mptcp.is_some())
            && let Some(segment) = segment
            && !is_refused
        {
            connection.note_signals(packet, direction, segment);
        }
        let fate = match segment {
            Some(segment) => connection.process(self, direction, segment, payload),
            None => self.datagram(connection, direction, packet.decoded.payload_bytes, payload),
        };
        if is_shed { Fate::Shed } else { fate }
    }

    /// Payload of a protocol without order: each packet's payload follows the previous one's.
    fn datagram(
        &mut self,
        connection: &mut Connection<'_>,
        direction: Direction,
        stated: u32,
        payload: Payload<'_>,
    ) -> Fate {
        let half = &mut connection.flow.halves[direction as usize];
        let start = half.next;
        half.next += u64::from(stated);
        if stated == 0 {
            return Fate::Tracked;
        }
        self.deliver(connection, direction, start, payload.bytes, payload.timestamp_ns);
        let missing = u64::from(stated) - payload.bytes.len() as u64;
        if missing != 0 {
            let offset = start + payload.bytes.len() as u64;
            self.gap(connection, Gap { direction, offset, bytes: missing, cause: payload.cause });
        }
        if connection.flow.halves[direction as usize].has(half::CUT) {
            return connection.fate_of_cut(direction, start);
        }
        Fate::Tracked
    }
}
