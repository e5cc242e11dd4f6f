//! A SYN on an existing flow: whether a new connection opens under its key.

use super::Engine;
use crate::{
    AnomalyKind, Deliver, Direction, EndReason, Fate, TcpState,
    flow::{Flow, Half, checks, half},
    packet::Keyed,
    tcp::{Segment, flag},
};

impl Flow {
    /// Whether the other side of a closed connection accepts a SYN, as far as the capture shows before it answers:
    /// after a reset, or where it is not seen; and where it was the server, which listens, its FIN was acknowledged and
    /// the SYN's number lies beyond this side's FIN, or its timestamp is newer (RFC 9293 section 3.10.7.4, RFC 6191,
    /// Linux: `tcp_timewait_state_process`, which looks for a listener).
    #[inline]
    fn answers_syn(&self, direction: Direction, segment: &Segment) -> bool {
        let (me, peer) = (&self.halves[direction as usize], &self.halves[direction.opposite() as usize]);
        if self.state != TcpState::Closed || peer.packets() == 0 || self.is_reported() {
            return true;
        }
        // A FIN occupies one sequence number.
        let end = |half: &Half| half.next_seq().wrapping_add(1);
        let is_acknowledged = |of: &Half, by: &Half| by.has(half::ACKED) && by.ack.wrapping_sub(end(of)) as i32 >= 0;
        let age = match segment.timestamp {
            Some(value) if me.has(half::TIMESTAMP) && me.ts_recent != 0 => me.ts_recent.wrapping_sub(value) as i32,
            _ => 0,
        };
        let is_beyond = segment.seq.wrapping_sub(end(me)) as i32 > 0;
        direction == Direction::ClientToServer
            && is_acknowledged(me, peer)
            && is_acknowledged(peer, me)
            && age <= 0
            && (is_beyond || age < 0)
    }

    /// Whether a refused SYN is retried with its number, as Windows sends it three times: the same attempt, unless the
    /// other side had sent anything before it refused, or the sender more than the SYN.
    #[inline]
    fn is_retry(&mut self, direction: Direction, segment: &Segment) -> bool {
        let me = &self.halves[direction as usize];
        let has_begun = me.next > self.bias(direction) || me.has(half::FIN_SEEN);
        let peer = &mut self.halves[direction.opposite() as usize];
        if self.state != TcpState::Reset
            || has_begun
            || peer.payload_wire_bytes > 0
            || peer.has(half::SYN | half::FIN_SEEN | half::QUEUED)
        {
            return false;
        }
        // What was known of the other side came from the refusal.
        peer.flags &= !(half::KNOWN | half::ACKED | half::HELD | half::TIMESTAMP);
        let me = &mut self.halves[direction as usize];
        me.flags &= !(half::ACKED | half::TIMESTAMP);
        me.set_scale(segment.scale.unwrap_or(0));
        if let Some(value) = segment.timestamp {
            me.ts_recent = value;
            me.flags |= half::TIMESTAMP;
        }
        self.state = TcpState::SynSent;
        true
    }
}

impl<H: Deliver> Engine<H> {
    /// A SYN, or a packet that follows a held one, on an existing flow: whether a new connection opens.
    #[cold]
    pub(super) fn reopen(&mut self, keyed: &Keyed<'_>, slot: u32, segment: &Segment) -> Option<Fate> {
        let Keyed { packet, from_a, .. } = *keyed;
        let flow = self.table.flows.get(slot);
        let direction = flow.direction(from_a);
        let me = &flow.halves[direction as usize];
        let is_syn = segment.flags & (flag::SYN | flag::ACK | flag::RST | flag::FIN) == flag::SYN;
        if !segment.has(flag::SYN) || self.context.refuses_syn(packet) {
            return None;
        }
        if segment.has(flag::ACK) {
            return self.answered(keyed, slot, segment);
        }
        if !is_syn {
            return None;
        }
        let is_same = me.has(half::SYN) && me.base_seq == segment.seq.wrapping_add(1);
        if is_same && !flow.is_reported() && self.table.flows.get_mut(slot).is_retry(direction, segment) {
            return None;
        }
        let flow = self.table.flows.get(slot);
        let me = &flow.halves[direction as usize];
        let is_new = match me.flags & (half::KNOWN | half::SYN) {
            0 => false,
            half::KNOWN => !flow.may_begin_at(direction, segment.seq.wrapping_add(1)),
            _ => !is_same,
        };
        let unanswered = flow.state == TcpState::SynSent && flow.halves[direction.opposite() as usize].packets() == 0;
        let deviates = !flow.is_over() && packet.path.deviates(me.path());
        let has_doubtful_checksum = self.context.doubts_syn(packet, me.checked(checks::GOOD_SYN));
        let is_doubtful = has_doubtful_checksum || deviates;
        let ended = unanswered || flow.is_over() && flow.answers_syn(direction, segment);
        // Behind both FINs it may belong to the old connection and be late; after a refusal it is another attempt.
        let is_late = flow.state == TcpState::Closed && me.flags & (half::KNOWN | half::SYN) == half::KNOWN;
        let begins = is_new || flow.is_over() && !is_late;
        if ended && begins && !is_doubtful {
            let reason = flow.reason_over().unwrap_or(EndReason::Reused);
            self.end(slot, reason);
            return Some(self.transport_new(keyed));
        }
        if !is_new && (flow.state != TcpState::Closed || is_late) {
            return None;
        }
        if deviates {
            self.context.note_path(self.table.flows.get_mut(slot), direction, packet);
        }
        if has_doubtful_checksum {
            self.context.note_anomaly_once(self.table.flows.get_mut(slot), AnomalyKind::BadChecksum);
        }
        self.hold_syn(keyed, slot, direction, segment);
        Some(Fate::Tracked)
    }
}
