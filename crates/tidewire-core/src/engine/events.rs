//! The events of a stream, as its handler or each of several applications gets them.

use super::delivery::Delivery;
use crate::{
    AnomalyKind, Chunk, Direction, EndReason, Gap, GapCause, Handler, Mode, StreamPacket, TcpState, Timestamp,
    connection::Connection,
    flow::{bits, half},
    tcp::{Events, Segment},
};

impl<H: Handler> Events for Delivery<'_, H> {
    const PACKETS: bool = H::PACKETS;

    #[inline(always)]
    fn accept(&mut self, connection: &mut Connection<'_>, packet: StreamPacket<'_>) {
        self.show(connection, packet);
    }

    /// Delivers bytes up to the cutoff.
    #[inline(always)]
    fn deliver(
        &mut self,
        connection: &mut Connection<'_>,
        direction: Direction,
        offset: u64,
        bytes: &[u8],
        timestamp_ns: u64,
    ) {
        let mut bytes = bytes;
        let is_slow = connection.flow.halves[direction as usize].has(half::SLOW);
        if is_slow && connection.shared.multipath.is_used && connection.is_part() {
            return connection.contribute(direction, bytes, timestamp_ns);
        }
        if is_slow || !connection.is_uncut(direction) {
            bytes = connection.cut(direction, offset, bytes);
        }
        if bytes.is_empty() {
            return;
        }
        connection.shared.ledger.delivered_bytes += bytes.len() as u64;
        if H::APPLICATIONS {
            return self.deliver_each(connection, direction, offset, bytes, timestamp_ns);
        }
        self.deliver_within_cutoff(connection, direction, offset, bytes, timestamp_ns);
    }

    /// Reports missing bytes. Those beyond the cutoff are counted, and reported with the cutoff when the stream ends.
    fn gap(&mut self, connection: &mut Connection<'_>, gap: Gap) {
        if gap.bytes == 0 {
            return;
        }
        if connection.is_part() {
            return connection.contribute_gap(gap);
        }
        let slow_state = connection.flow.slow_state();
        slow_state.missing_bytes[gap.direction as usize] += gap.bytes;
        if gap.cause.is_of_packets() {
            slow_state.stated_missing_bytes[gap.direction as usize] += gap.bytes;
        }
        self.gap_within(connection, gap);
    }

    /// If the cutoff was raised after the bytes arrived, they are reported at once, because others may follow them.
    fn pass(&mut self, connection: &mut Connection<'_>, direction: Direction, offset: u64, end: u64) {
        if connection.is_part() {
            let bytes = end.saturating_sub(offset);
            return connection.contribute_gap(Gap { direction, offset, bytes, cause: GapCause::Cutoff });
        }
        let limit = connection.cutoff(direction);
        if end > limit {
            connection.flow.halves[direction as usize].flags |= half::CUT;
        }
        let bytes = end.min(limit).saturating_sub(offset);
        self.report_gap(connection, Gap { direction, offset, bytes, cause: GapCause::Cutoff });
    }

    fn cut(&mut self, connection: &mut Connection<'_>) {
        if self.outputs.shunt.is_some() {
            self.offer(connection);
        }
    }

    fn ending(&mut self, connection: &mut Connection<'_>, direction: Direction, segment: &Segment) {
        if connection.flow.halves[direction as usize].has(half::SHUNTED) {
            self.catch_up(connection, direction, segment);
        }
    }

    /// The pending chunk need not wait for its size or time.
    fn end(&mut self, connection: &mut Connection<'_>, direction: Direction) {
        self.flush(connection, direction);
    }

    fn close(&mut self, connection: &mut Connection<'_>, direction: Direction) {
        self.report_cutoff(connection, direction);
        self.flush(connection, direction);
        self.drop_chunk(connection, direction);
    }
}

impl<H: Handler> Delivery<'_, H> {
    /// Reports a new stream to the handler.
    pub(crate) fn open(&mut self, connection: &mut Connection<'_>) {
        connection.flow.flags |= bits::OPENED;
        let ledger = &mut connection.shared.ledger;
        ledger.streams_opened += 1;
        let open = ledger.streams_opened - ledger.streams_closed;
        ledger.streams_open_max = ledger.streams_open_max.max(open);
        if H::APPLICATIONS {
            self.join(connection);
        }
        if self.outputs.shunt.is_some() {
            self.begin_shunted(connection);
        }
        if H::APPLICATIONS {
            return self.open_each(connection);
        }
        self.outputs.handler.open(&mut connection.stream(self.data));
    }

    /// Reports the end of a stream to the handler.
    pub(crate) fn report_end(&mut self, connection: &mut Connection<'_>, reason: EndReason) {
        connection.shared.ledger.streams_closed += 1;
        if H::APPLICATIONS {
            return self.close_each(connection, reason);
        }
        self.outputs.handler.close(&mut connection.stream(self.data), reason);
    }

    /// Shows a stream that continues to the handler.
    pub(crate) fn visit(&mut self, connection: &mut Connection<'_>, clock_ns: u64) {
        let clock = Timestamp::from_nanos(clock_ns);
        if H::APPLICATIONS {
            return self.each(connection, |delivery, connection| {
                delivery.outputs.handler.visit(&mut connection.stream(delivery.data), clock);
            });
        }
        self.outputs.handler.visit(&mut connection.stream(self.data), clock);
    }

    /// Reports a packet to a handler that wants packets.
    pub(crate) fn show(&mut self, connection: &mut Connection<'_>, packet: StreamPacket<'_>) {
        if H::APPLICATIONS {
            return self.show_each(connection, packet);
        }
        self.outputs.handler.packet(&mut connection.stream(self.data), packet);
    }

    /// Delivers bytes within the cutoff, or adds them to the chunk.
    #[inline(always)]
    pub(super) fn deliver_within_cutoff(
        &mut self,
        connection: &mut Connection<'_>,
        direction: Direction,
        start: u64,
        bytes: &[u8],
        timestamp_ns: u64,
    ) {
        let flow = &mut *connection.flow;
        flow.delivered[direction as usize] += bytes.len() as u64;
        if connection.shared.config.chunk_bytes == 0 {
            let is_datagram = flow.state == TcpState::Stateless;
            let timestamp = Timestamp::from_nanos(timestamp_ns);
            let chunk = Chunk { direction, offset: start, bytes, repeated_bytes: 0, timestamp, is_datagram };
            let chunks = &mut flow.halves[direction as usize].chunks;
            *chunks = chunks.saturating_add(1);
            self.outputs.handler.data(&mut connection.stream(self.data), chunk);
        } else {
            self.append_to_chunk(connection, direction, start, bytes, timestamp_ns);
        }
    }

    /// Reports the part of a gap that lies before the cutoff.
    pub(super) fn gap_within(&mut self, connection: &mut Connection<'_>, gap: Gap) {
        let mut gap = gap;
        if connection.shared.config.mode != Mode::Track {
            let room = connection.cutoff(gap.direction).saturating_sub(gap.offset);
            if gap.bytes > room {
                connection.flow.halves[gap.direction as usize].flags |= half::CUT;
                gap.bytes = room;
            }
        }
        self.report_gap(connection, gap);
    }

    /// Reports a gap; ignores empty ones.
    fn report_gap(&mut self, connection: &mut Connection<'_>, gap: Gap) {
        if gap.bytes == 0 {
            return;
        }
        connection.shared.ledger.gap_bytes += self.outputs.subscribers.once(gap.bytes);
        if H::APPLICATIONS && !self.outputs.subscribers.is_selected {
            return self.each(connection, |delivery, connection| delivery.gap_within(connection, gap));
        }
        self.flush(connection, gap.direction);
        // The overlap to be repeated ends at the gap.
        self.drop_chunk(connection, gap.direction);
        let limit = connection.shared.config.list_max as usize;
        let slow_state = connection.flow.slow_state();
        let gaps = &mut slow_state.gaps;
        let continues = |last: &Gap| {
            last.direction == gap.direction && last.cause == gap.cause && last.offset + last.bytes == gap.offset
        };
        if gaps.last().is_some_and(continues) {
            if let Some(last) = gaps.last_mut() {
                last.bytes += gap.bytes;
            }
        } else if gaps.len() < limit {
            gaps.push(gap, &mut slow_state.bytes);
        } else {
            connection.note_anomaly_once(AnomalyKind::ListFull);
        }
        if connection.shared.config.mode != Mode::Track {
            self.outputs.handler.gap(&mut connection.stream(self.data), gap);
        }
    }

    /// Reports bytes that a cutoff withheld, when the stream ends.
    fn report_cutoff(&mut self, connection: &mut Connection<'_>, direction: Direction) {
        const CUT: u16 = half::CUT | half::OWN_CUTOFF | half::SHUNTED;
        let is_cut = connection.flow.halves[direction as usize].has(CUT) || self.outputs.subscribers.is_selected;
        if connection.shared.config.mode == Mode::Track || !is_cut || connection.is_part() {
            return;
        }
        let limit = connection.cutoff(direction);
        let reached = connection.flow.reached(direction);
        if H::APPLICATIONS && !self.outputs.subscribers.is_selected {
            connection.shared.ledger.gap_bytes += reached.saturating_sub(limit);
            return self.each(connection, |delivery, connection| delivery.report_cutoff(connection, direction));
        }
        let bytes = reached.saturating_sub(limit);
        self.report_gap(connection, Gap { direction, offset: limit, bytes, cause: GapCause::Cutoff });
    }

    /// Delivers bytes to each application, up to its cutoff.
    fn deliver_each(
        &mut self,
        connection: &mut Connection<'_>,
        direction: Direction,
        start: u64,
        bytes: &[u8],
        timestamp_ns: u64,
    ) {
        self.each(connection, |delivery, connection| {
            let bytes = connection.cut(direction, start, bytes);
            if !bytes.is_empty() {
                delivery.deliver_within_cutoff(connection, direction, start, bytes, timestamp_ns);
            }
        });
    }
}
