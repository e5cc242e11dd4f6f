//! SYN and SYN-ACK: new connections, retransmissions, simultaneous open, and unexpected SYNs.

use super::{Events, Payload, Segment, tcp_flag};
use crate::{
    AnomalyKind, Direction, Fate, Mptcp, TcpState,
    connection::Connection,
    flow::{Flow, MIDSTREAM_START, bits, checks, half},
};

impl Flow {
    /// Records what the ACK of a repeated SYN says, and its timestamp (Linux: `tcp_ack`, `tcp_replace_ts_recent`): the first copy had no
    /// ACK, because both sides open the connection.
    #[inline]
    fn note_answer(&mut self, direction: Direction, segment: &Segment) {
        let is_first = !self.halves[direction as usize].has(half::ACKED);
        if is_first && !self.answers_nothing(direction, segment) && !self.is_stale(direction, segment) {
            let me = &mut self.halves[direction as usize];
            me.ack = segment.ack;
            me.edge = segment.ack.wrapping_add(u32::from(segment.window));
            me.flags |= half::ACKED;
            let is_older = |value| me.ts_recent != 0 && (me.ts_recent.wrapping_sub(value) as i32) > 0;
            if let Some(value) = segment.timestamp.filter(|value| me.has(half::TIMESTAMP) && !is_older(*value)) {
                me.ts_recent = value;
            }
        }
    }

    /// Records the option of Multipath TCP of a SYN or of its answer.
    #[inline]
    fn note_mptcp(&mut self, segment: &Segment) {
        let known = self.slow_state.as_ref().and_then(|slow_state| slow_state.mptcp);
        if known.is_none() && segment.mptcp.is_none() {
            return;
        }
        let is_answer = segment.has(tcp_flag::ACK);
        self.slow_state().mptcp = if is_answer { Mptcp::answered(known, segment.mptcp) } else { segment.mptcp };
    }

    /// Sets where a direction begins. Returns false if the direction has begun and this cannot be its beginning.
    #[inline]
    fn begin_at(&mut self, direction: Direction, first_byte: u32) -> bool {
        let at = direction as usize;
        let me = &mut self.halves[at];
        if !me.has(half::KNOWN) {
            (me.base_seq, me.next) = (first_byte, 0);
            me.flags |= half::KNOWN | half::SYN;
            return true;
        }
        // Packets came before their SYN, which must lie at or before what waits.
        let offset = me.offset_of(first_byte);
        if !me.has(half::HELD) && self.may_begin_at(direction, first_byte) {
            self.slow_state().bias[at] = offset as u64;
            self.halves[at].flags |= half::SYN;
            return true;
        }
        let me = &mut self.halves[at];
        if !me.has(half::HELD) || offset < 0 {
            return false;
        }
        let first = self.slow_state.as_ref().and_then(|slow_state| slow_state.first_known(at));
        if first.is_some_and(|first| first < offset as u64) {
            return false;
        }
        me.next = offset as u64;
        me.flags = me.flags & !half::HELD | half::SYN;
        let slow_state = self.slow_state();
        slow_state.bias[at] = offset as u64;
        if slow_state.fin_at[at] < offset as u64 {
            // A FIN from before the beginning does not belong to this connection.
            slow_state.fin_at[at] = u64::MAX;
            self.halves[at].flags &= !half::FIN_SEEN;
        }
        true
    }
}

impl Connection<'_> {
    /// Processes a segment with SYN. Whether it opens a new connection under the same key was decided before.
    pub(crate) fn synchronize(
        &mut self,
        events: &mut impl Events,
        direction: Direction,
        segment: &Segment,
        payload: Payload<'_>,
    ) -> Fate {
        let at = direction as usize;
        let first_byte = segment.seq.wrapping_add(1);
        if self.flow.halves[at].has(half::SYN) {
            let first = self.flow.halves[at].base_seq.wrapping_add(self.flow.bias(direction) as u32);
            if first != first_byte {
                self.note_anomaly(AnomalyKind::ChangedIsn);
                self.flow.note_other_answer(direction, segment);
                return Fate::Ignored;
            }
            if segment.has(tcp_flag::ACK) {
                self.flow.note_answer(direction, segment);
                if let Some(value) = segment.timestamp {
                    self.flow.note_answer_stamps(direction, Some(value));
                }
            }
            return self.payload_of_syn(events, direction, segment, payload);
        }
        if segment.has(tcp_flag::ACK) && self.flow.answers_nothing(direction, segment) {
            self.note_anomaly(AnomalyKind::InvalidAck);
            return Fate::Ignored;
        }
        if !self.flow.begin_at(direction, first_byte) {
            self.note_anomaly(AnomalyKind::BlindSyn);
            return Fate::Ignored;
        }
        let me = &mut self.flow.halves[at];
        if let Some(value) = segment.timestamp {
            me.ts_recent = value;
            me.flags |= half::TIMESTAMP;
        }
        me.set_scale(segment.scale.unwrap_or(0));
        if segment.signed {
            me.flags |= half::SIGNED;
        }
        if segment.large_frames {
            me.note_check(checks::LARGE_FRAMES);
        }
        if segment.has(tcp_flag::ACK) {
            me.ack = segment.ack;
            me.edge = segment.ack.wrapping_add(u32::from(segment.window));
            me.flags |= half::ACKED;
        }
        let peer = &mut self.flow.halves[direction.opposite() as usize];
        if segment.has(tcp_flag::ACK) && segment.scale.is_none() {
            // Windows are scaled only if both SYNs have the option (RFC 7323 section 2.2).
            peer.set_scale(0);
        }
        if segment.has(tcp_flag::ACK) && !peer.has(half::KNOWN) {
            peer.base_seq = segment.ack;
            peer.next = MIDSTREAM_START;
            peer.flags |= half::KNOWN | half::HELD;
        }
        self.flow.note_mptcp(segment);
        self.syn_state(direction, segment);
        // It may acknowledge data on the other side's SYN.
        if self.flow.halves[direction.opposite() as usize].has(half::QUEUED) {
            self.advance(events, direction.opposite(), payload.timestamp_ns);
        }
        self.payload_of_syn(events, direction, segment, payload)
    }

    fn syn_state(&mut self, direction: Direction, segment: &Segment) {
        self.flow.flags |= bits::CLIENT_KNOWN;
        let both = self.flow.halves[0].has(half::SYN) && self.flow.halves[1].has(half::SYN);
        self.flow.state = match self.flow.state {
            TcpState::SynSent | TcpState::Midstream if segment.has(tcp_flag::ACK) || both => {
                if !segment.has(tcp_flag::ACK) && direction == Direction::ServerToClient {
                    self.note_anomaly(AnomalyKind::SimultaneousOpen);
                }
                let peer_acked = self.flow.halves[direction.opposite() as usize].has(half::ACKED);
                if both && peer_acked { TcpState::Established } else { TcpState::SynReceived }
            }
            TcpState::Midstream => TcpState::SynSent,
            other => other,
        };
    }

    fn payload_of_syn(
        &mut self,
        events: &mut impl Events,
        direction: Direction,
        segment: &Segment,
        payload: Payload<'_>,
    ) -> Fate {
        if segment.length == 0 {
            self.advance(events, direction, payload.timestamp_ns);
            return Fate::Tracked;
        }
        self.note_anomaly(AnomalyKind::SynData);
        let moved = Segment { seq: segment.seq.wrapping_add(1), flags: segment.flags & !tcp_flag::SYN, ..*segment };
        // A host accepts it only if both sides agreed on that before (RFC 7413): the acknowledgment decides.
        self.place(events, direction, &moved, payload, true)
    }
}
