//! TCP: what a segment changes in its connection, as a receiving host would see it (RFC 9293, RFC 5961, RFC 7323).

mod accept;
mod handshake;
pub(crate) mod history;
mod holes;
mod order;
pub mod queue;
mod reset;
mod segment;

pub(crate) use segment::{Segment, flag};

use crate::{
    AnomalyKind, Direction, Fate, GapCause, Handler, TcpState,
    engine::core::Core,
    flow::{Flow, bits, half},
};

/// A segment's place and bytes: what the short way and the long way both need.
#[derive(Clone, Copy)]
pub(crate) struct Payload<'a> {
    /// Captured bytes; fewer than `Segment::length` where the packet was snapped.
    pub bytes: &'a [u8],
    pub timestamp_ns: u64,
    /// See `Frame::origin`, at the payload's first byte; 0 where it cannot be read again.
    pub origin: u64,
    /// Why bytes that the segment states are not among `bytes`.
    pub cause: GapCause,
}

impl<H: Handler> Core<H> {
    /// Takes in a segment of a flow. Counters of packets and bytes were raised before.
    #[inline(always)]
    pub(crate) fn tcp(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        segment: &Segment,
        payload: Payload<'_>,
    ) -> Fate {
        if self.is_plain(flow, direction, segment, &payload) {
            return self.plain(flow, data, direction, segment, payload);
        }
        self.tcp_long(flow, data, direction, segment, payload)
    }

    /// Whether a segment is the next one of an established connection with nothing remarkable about it.
    #[inline(always)]
    fn is_plain(&self, flow: &Flow, direction: Direction, segment: &Segment, payload: &Payload<'_>) -> bool {
        const UNUSUAL: u8 = flag::SYN | flag::RST | flag::FIN | flag::URG;
        let (me, peer) = (&flow.halves[direction as usize], &flow.halves[direction.opposite() as usize]);
        let length = segment.length;
        flow.state == TcpState::Established
            && segment.flags & (UNUSUAL | flag::ACK) == flag::ACK
            && me.flags & (half::SLOW | half::KNOWN | half::ACKED) == half::KNOWN | half::ACKED
            && peer.flags & (half::KNOWN | half::ACKED | half::SLOW) == half::KNOWN | half::ACKED
            && segment.seq == me.next_seq()
            && payload.bytes.len() == length as usize
            // Acknowledges nothing that was not seen, and nothing older than what was acknowledged before.
            && peer.next_seq().wrapping_sub(segment.ack) as i32 >= 0
            && segment.ack.wrapping_sub(me.ack) as i32 >= 0
            && peer.edge.wrapping_sub(segment.seq.wrapping_add(length)) as i32 >= 0
            && (me.flags & half::TIMESTAMP == 0
                || segment.timestamp.is_none_or(|value| value.wrapping_sub(me.ts_recent) as i32 >= 0))
            && !self.takes_long_way()
    }

    /// Settings that need every byte to pass the queue.
    #[inline(always)]
    fn takes_long_way(&self) -> bool {
        self.long_way
    }

    #[inline(always)]
    fn plain(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        segment: &Segment,
        payload: Payload<'_>,
    ) -> Fate {
        let me = &mut flow.halves[direction as usize];
        me.ack = segment.ack;
        let edge = segment.ack.wrapping_add(u32::from(segment.window) << (me.scale & 15));
        if edge.wrapping_sub(me.edge) as i32 > 0 {
            me.edge = edge;
        }
        if let Some(value) = segment.timestamp {
            me.ts_recent = value;
            me.flags |= half::TIMESTAMP;
        }
        if segment.length != 0 {
            let start = me.next;
            me.next += u64::from(segment.length);
            self.remember(flow, direction, start, payload.bytes, payload.origin);
            let start = start - flow.bias(direction);
            self.deliver(flow, data, direction, start, payload.bytes, payload.timestamp_ns);
            if flow.halves[direction as usize].has(half::CUT) {
                return self.fate_of_cut(flow, direction, start);
            }
        }
        Fate::Tracked
    }

    /// The fate of a packet of a cut-off direction whose payload began at stream offset `start`.
    #[cold]
    pub(crate) fn fate_of_cut(&self, flow: &Flow, direction: Direction, start: u64) -> Fate {
        if flow.has(bits::DISCARDED) {
            Fate::Discarded
        } else if start >= self.cutoff(flow, direction) {
            Fate::BeyondCutoff
        } else {
            Fate::Tracked
        }
    }

    /// Everything that is not plain.
    #[inline(never)]
    fn tcp_long(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        direction: Direction,
        segment: &Segment,
        payload: Payload<'_>,
    ) -> Fate {
        const SYN_FIN: u8 = flag::SYN | flag::FIN;
        const SYN_RST: u8 = flag::SYN | flag::RST;
        let bare = segment.flags & (flag::SYN | flag::FIN | flag::RST | flag::ACK) == 0;
        if segment.flags & SYN_FIN == SYN_FIN || segment.flags & SYN_RST == SYN_RST || bare {
            self.odd(flow, AnomalyKind::InvalidFlags);
            if !bare || !Self::never_acknowledges(flow, direction) {
                return Fate::Ignored;
            }
        }
        if segment.has(flag::RST) {
            return self.reset(flow, data, direction, segment);
        }
        if segment.has(flag::SYN) {
            return self.synchronize(flow, data, direction, segment, payload);
        }
        if flow.state == TcpState::Reset {
            self.odd_once(flow, AnomalyKind::AfterReset);
        }
        self.learn_base(flow, direction, segment);
        let ack = self.acknowledge(flow, direction, segment);
        let fate = if segment.length == 0 && !segment.has(flag::FIN) {
            Fate::Tracked
        } else {
            self.accept(flow, data, direction, segment, payload, ack)
        };
        // An acknowledgment may settle what waits in the other direction.
        if flow.halves[direction.opposite() as usize].has(half::QUEUED) {
            self.advance(flow, data, direction.opposite(), payload.timestamp_ns);
        }
        fate
    }

    /// What a direction counts from, when its SYN was not seen: its first packet's number, or what the other side
    /// acknowledged.
    fn learn_base(&mut self, flow: &mut Flow, direction: Direction, segment: &Segment) {
        let me = &mut flow.halves[direction as usize];
        if !me.has(half::KNOWN) {
            me.base_seq = segment.seq;
            me.next = crate::flow::MIDSTREAM_START;
            me.flags |= half::KNOWN | half::HELD;
        }
        let peer = &mut flow.halves[direction.opposite() as usize];
        if !peer.has(half::KNOWN) && segment.has(flag::ACK) {
            peer.base_seq = segment.ack;
            peer.next = crate::flow::MIDSTREAM_START;
            peer.flags |= half::KNOWN | half::HELD;
        }
        match flow.state {
            TcpState::SynSent if direction == Direction::ServerToClient => flow.state = TcpState::Established,
            TcpState::SynSent | TcpState::SynReceived if segment.length > 0 || segment.has(flag::ACK) => {
                flow.state = TcpState::Established;
            }
            _ => {}
        }
    }
}
