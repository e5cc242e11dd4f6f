//! Resets: which of them a host accepts (RFC 5961 section 3.2, as Linux implements it).

use super::{Events, Segment, tcp_flag};
use crate::{
    AnomalyKind, Direction, Fate, TcpState,
    connection::Connection,
    flow::{Flow, half},
};

impl Flow {
    /// The anomaly of a reset that a host ignores; `None`: a host accepts it.
    #[inline]
    fn judge(&self, direction: Direction, segment: &Segment) -> Option<AnomalyKind> {
        let me = &self.halves[direction as usize];
        let peer = &self.halves[direction.opposite() as usize];
        if self.state == TcpState::SynSent && direction == Direction::ServerToClient {
            // SYN-SENT: only if it acknowledges the SYN (RFC 9293 section 3.10.7.3).
            let acknowledges = segment.has(tcp_flag::ACK) && {
                let offset = peer.offset_of(segment.ack);
                (0..=peer.payload_wire_bytes as i64).contains(&offset)
            };
            return (!acknowledges).then_some(AnomalyKind::InvalidReset);
        }
        if peer.has(half::ACKED) && segment.seq == peer.ack {
            return None;
        }
        if !me.has(half::KNOWN) {
            // Nothing of this side was ever seen: only the receiver knows.
            return peer.has(half::ACKED).then_some(AnomalyKind::BlindReset);
        }
        if segment.seq == me.next_seq() || me.packets() <= 1 && !me.has(half::SYN) {
            return None;
        }
        // After a FIN the next number is one further.
        if me.has(half::FIN | half::FIN_SEEN) && segment.seq == me.next_seq().wrapping_add(1) {
            return None;
        }
        let end = self
            .slow_state
            .as_ref()
            .map_or(me.next, |slow_state| slow_state.queue[direction as usize].end().max(me.next));
        if segment.seq == me.seq_of(end) {
            return None;
        }
        let offset = me.offset_of(segment.seq);
        let edge = if peer.has(half::ACKED) { me.offset_of(peer.edge) } else { i64::MAX };
        let is_inside = offset >= me.next as i64 && offset <= edge;
        Some(if is_inside { AnomalyKind::BlindReset } else { AnomalyKind::InvalidReset })
    }
}

impl Connection<'_> {
    /// Processes a segment with RST.
    pub(crate) fn reset(&mut self, events: &mut impl Events, direction: Direction, segment: &Segment) -> Fate {
        if segment.length > 0 {
            self.note_anomaly_once(AnomalyKind::ResetData);
        }
        if self.flow.is_over() {
            return Fate::Tracked;
        }
        match self.flow.judge(direction, segment) {
            None => {
                self.flow.state = TcpState::Reset;
                let timestamp_ns = self.flow.last_ns[direction as usize];
                for direction in Direction::BOTH {
                    self.advance(events, direction, timestamp_ns);
                }
                Fate::Tracked
            }
            Some(kind) => {
                self.note_anomaly(kind);
                Fate::Ignored
            }
        }
    }
}
