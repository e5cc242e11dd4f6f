use std::collections::VecDeque;

use super::accounting::Accounting;
use crate::{
    Anomaly, AnomalyKind, Chunk, Config, Deliver, Direction, EndReason, Gap, GapCause, History, Ledger, Mode, Shunt,
    Stream, TcpPolicy,
    capture_losses::CaptureLosses,
    flow::{Flow, Key, bits, half},
    packet::Now,
    path::Paths,
    subscriber::Subscribers,
    tcp::delivery_log::DeliveryLog,
};

/// Everything but the flow table: what processing of one flow needs.
pub(crate) struct FlowContext<H: Deliver> {
    pub config: Config,
    pub handler: H,
    pub ledger: Ledger,
    /// The memory account of flows.
    pub accounting: Accounting,
    pub history: Option<Box<dyn History>>,
    /// Keeps packets of cut directions from the engine.
    pub shunt: Option<Box<dyn Shunt>>,
    /// The memory level last published to the shunt.
    pub level_permille: u32,
    /// Whether the settings rule out the fast path.
    pub slow_path: bool,
    /// Delivered segments, for comparison with retransmissions.
    pub delivery_log: DeliveryLog,
    pub now: Now,
    /// When the capture lost packets by its own account.
    pub losses: CaptureLosses,
    /// Pending chunks with the clock at which they are flushed, earliest first: (clock, slot, flow id).
    pub flushes: VecDeque<(u64, u32, u64)>,
    pub paths: Paths,
    /// Packets that were counted as tracked and whose fate is not decided: see `crate::tcp::Doubted`.
    pub undecided: u64,
    /// Scratch for the comparison of retransmitted bytes.
    pub scratch: Vec<u8>,
    /// The applications behind the handler, if there are several.
    pub subscribers: Subscribers,
}

impl<H: Deliver> FlowContext<H> {
    /// Notes an anomaly at the current packet.
    #[cold]
    pub(crate) fn note_anomaly(&mut self, flow: &mut Flow, kind: AnomalyKind) {
        self.ledger.anomalies[kind as usize] += 1;
        let (limit, packet) = (self.config.list_max as usize, self.now.number);
        let slow_state = flow.slow_state();
        let listed = slow_state.anomalies.len();
        if listed + 1 < limit {
            slow_state.list_anomaly(Anomaly { kind, packet });
        } else if listed < limit {
            slow_state.list_anomaly(Anomaly { kind: AnomalyKind::ListFull, packet });
            self.ledger.anomalies[AnomalyKind::ListFull as usize] += u64::from(kind != AnomalyKind::ListFull);
        }
    }

    /// Notes an anomaly once for each stream.
    #[cold]
    pub(crate) fn note_anomaly_once(&mut self, flow: &mut Flow, kind: AnomalyKind) {
        if !flow.slow_state.as_ref().is_some_and(|slow_state| slow_state.has_anomaly(kind)) {
            self.note_anomaly(flow, kind);
        }
    }

    /// Notes an anomaly of the stream's first packet, when the packet was not yet part of a stream.
    #[cold]
    pub(crate) fn note_anomaly_at_start(&mut self, flow: &mut Flow, kind: AnomalyKind) {
        let number = std::mem::replace(&mut self.now.number, flow.id);
        self.note_anomaly_once(flow, kind);
        self.now.number = number;
    }

    /// Compares a packet's VLAN and tunnel ids with those of its direction.
    #[inline(always)]
    pub(crate) fn note_ids(&mut self, flow: &mut Flow, packet: &Key) {
        if !flow.key.has_ids_of(packet) && flow.key.note_ids_of(packet) {
            self.note_anomaly_once(flow, AnomalyKind::EncapsulationChange);
        }
    }

    /// Reports a new stream to the handler.
    pub(crate) fn open(&mut self, flow: &mut Flow, data: &mut H::Data) {
        flow.flags |= bits::OPENED;
        self.ledger.streams_opened += 1;
        let open = self.ledger.streams_opened - self.ledger.streams_closed;
        self.ledger.streams_open_max = self.ledger.streams_open_max.max(open);
        if H::SUBSCRIBERS {
            self.join(flow);
        }
        if self.shunt.is_some() {
            self.begin_shunted(flow);
        }
        if H::SUBSCRIBERS {
            return self.open_each(flow, data);
        }
        self.handler.open(&mut Stream { flow, data, config: &self.config });
    }

    /// Reports the end of a stream to the handler.
    pub(crate) fn close(&mut self, flow: &mut Flow, data: &mut H::Data, reason: EndReason) {
        self.ledger.streams_closed += 1;
        if H::SUBSCRIBERS {
            return self.close_each(flow, data, reason);
        }
        self.handler.close(&mut Stream { flow, data, config: &self.config }, reason);
    }

    /// Shows a stream that goes on to the handler.
    pub(crate) fn visit(&mut self, flow: &mut Flow, data: &mut H::Data, clock_ns: u64) {
        self.handler.visit(&mut Stream { flow, data, config: &self.config }, clock_ns);
    }

    /// The overlap policy of a direction, by its receiver.
    pub(crate) fn tcp_policy(&self, flow: &Flow, direction: Direction) -> TcpPolicy {
        if self.config.targets.is_empty() {
            return self.config.tcp_policy;
        }
        let receiver_is_a = flow.has(bits::CLIENT_IS_A) == (direction == Direction::ServerToClient);
        let receiver = flow.key.endpoint(receiver_is_a).address;
        self.config.targets.find(receiver).map_or(self.config.tcp_policy, |found| found.0)
    }

    /// The cutoff of a direction, in bytes.
    #[inline]
    pub(crate) fn cutoff(&self, flow: &Flow, direction: Direction) -> u64 {
        let at = direction as usize;
        if self.config.mode == Mode::Track {
            return 0;
        }
        match &flow.slow_state {
            Some(slow_state) if flow.halves[at].has(half::OWN_CUTOFF) => slow_state.cutoff[at],
            _ => self.config.cutoff.0[at],
        }
    }

    /// Whether no cutoff can apply to a direction.
    #[inline(always)]
    pub(crate) fn is_uncut(&self, direction: Direction) -> bool {
        self.config.cutoff.0[direction as usize] == u64::MAX && self.config.mode != Mode::Track
    }

    /// Delivers bytes that continue the direction at stream offset `start`, up to the cutoff.
    #[inline(always)]
    pub(crate) fn deliver(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        start: u64,
        bytes: &[u8],
        timestamp_ns: u64,
    ) {
        let mut bytes = bytes;
        if flow.halves[direction as usize].has(half::SLOW) || !self.is_uncut(direction) {
            bytes = self.cut(flow, direction, start, bytes);
        }
        if bytes.is_empty() {
            return;
        }
        self.ledger.delivered_bytes += bytes.len() as u64;
        if H::SUBSCRIBERS {
            return self.deliver_each(flow, data, direction, start, bytes, timestamp_ns);
        }
        self.deliver_within_cutoff(flow, data, direction, start, bytes, timestamp_ns);
    }

    /// Delivers bytes within the cutoff, or adds them to the chunk.
    #[inline(always)]
    pub(crate) fn deliver_within_cutoff(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        start: u64,
        bytes: &[u8],
        timestamp_ns: u64,
    ) {
        flow.delivered[direction as usize] += bytes.len() as u64;
        if self.config.chunk_bytes == 0 {
            let is_datagram = flow.state == crate::TcpState::Stateless;
            let chunk = Chunk { direction, offset: start, bytes, repeated_bytes: 0, timestamp_ns, is_datagram };
            let chunks = &mut flow.halves[direction as usize].chunks;
            *chunks = chunks.saturating_add(1);
            self.handler.data(&mut Stream { flow, data, config: &self.config }, chunk);
        } else {
            self.append_to_chunk(flow, data, direction, start, bytes, timestamp_ns);
        }
    }

    #[cold]
    pub(crate) fn cut<'b>(&mut self, flow: &mut Flow, direction: Direction, start: u64, bytes: &'b [u8]) -> &'b [u8] {
        let limit = self.cutoff(flow, direction);
        let room = limit.saturating_sub(start);
        if (bytes.len() as u64) < room {
            return bytes;
        }
        if start + bytes.len() as u64 >= limit && limit != u64::MAX {
            flow.halves[direction as usize].flags |= half::CUT;
        }
        &bytes[..room.min(bytes.len() as u64) as usize]
    }

    /// Reports missing bytes. Those beyond the cutoff are counted, and reported with the cutoff when the stream ends.
    pub(crate) fn gap(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        offset: u64,
        bytes: u64,
        cause: GapCause,
    ) {
        if bytes == 0 {
            return;
        }
        let slow_state = flow.slow_state();
        slow_state.missing_bytes[direction as usize] += bytes;
        if cause.is_of_packets() {
            slow_state.stated_missing_bytes[direction as usize] += bytes;
        }
        self.gap_within(flow, data, Gap { direction, offset, bytes, cause });
    }

    /// Reports the part of a gap that lies before the cutoff.
    pub(crate) fn gap_within(&mut self, flow: &mut Flow, data: &mut H::Data, gap: Gap) {
        let Gap { direction, offset, mut bytes, cause } = gap;
        if self.config.mode != Mode::Track {
            let room = self.cutoff(flow, direction).saturating_sub(offset);
            if bytes > room {
                flow.halves[direction as usize].flags |= half::CUT;
                bytes = room;
            }
        }
        self.report_gap(flow, data, Gap { direction, offset, bytes, cause });
    }

    /// Reports a gap; ignores empty ones.
    pub(crate) fn report_gap(&mut self, flow: &mut Flow, data: &mut H::Data, gap: Gap) {
        if gap.bytes == 0 {
            return;
        }
        self.ledger.gap_bytes += self.subscribers.once(gap.bytes);
        if H::SUBSCRIBERS && !self.subscribers.is_selected {
            return self.each(flow, data, |context, flow, data| context.gap_within(flow, data, gap));
        }
        self.flush(flow, data, gap.direction);
        // The overlap to be repeated ends at the gap.
        self.drop_chunk(flow, gap.direction);
        let limit = self.config.list_max as usize;
        let slow_state = flow.slow_state();
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
            self.note_anomaly_once(flow, AnomalyKind::ListFull);
        }
        if self.config.mode != Mode::Track {
            self.handler.gap(&mut Stream { flow, data, config: &self.config }, gap);
        }
    }

    /// Reports what a cutoff withheld, when the stream ends.
    pub(crate) fn report_cutoff(&mut self, flow: &mut Flow, data: &mut H::Data, direction: Direction) {
        const CUT: u16 = half::CUT | half::OWN_CUTOFF | half::SHUNTED;
        let is_cut = flow.halves[direction as usize].has(CUT) || self.subscribers.is_selected;
        if self.config.mode == Mode::Track || !is_cut {
            return;
        }
        let limit = self.cutoff(flow, direction);
        let reached = flow.halves[direction as usize].next.saturating_sub(flow.bias(direction));
        if H::SUBSCRIBERS && !self.subscribers.is_selected {
            self.ledger.gap_bytes += reached.saturating_sub(limit);
            return self.each(flow, data, |context, flow, data| context.report_cutoff(flow, data, direction));
        }
        if reached > limit {
            self.report_gap(
                flow,
                data,
                Gap { direction, offset: limit, bytes: reached - limit, cause: GapCause::Cutoff },
            );
        }
    }
}
