//! A SYN on an existing flow: whether a new connection opens under its key.

use super::Engine;
use crate::{
    AnomalyKind, ChecksumMode, Direction, EndReason, Handler, TcpState,
    flow::{Flow, Half, HalfOpen, HeldSyn, KeptPacket, checks, half},
    packet::Keyed,
    tcp::{Segment, has_right_checksum, held_checksum, tcp_flag},
};

/// Copies of one SYN that are held, at most: hosts send about seven (`tcp_syn_retries`). Further copies count in the
/// old connection.
const COPIES_MAX: u32 = 16;

/// The next step for a packet of an existing flow that opens, or may open, another connection.
pub(super) enum Reopening {
    /// It is a SYN, and held in the flow.
    Held,
    /// The flow ended, and the packet is the first of another one.
    Ended,
    /// The flow ended, and the packet belongs to the one in this slot.
    Promoted(u32),
}

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
        // All that was known of the other side came from the refusal.
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

impl<H: Handler> Engine<H> {
    /// A SYN, or a packet that follows a held one, on an existing flow: whether a new connection opens. `None`: it does not.
    #[cold]
    pub(super) fn reopen(&mut self, keyed: &Keyed<'_>, slot: u32, segment: &Segment) -> Option<Reopening> {
        let Keyed { packet, from_a, .. } = *keyed;
        let direction = self.table.flows.get(slot).direction(from_a);
        let is_syn = segment.flags & (tcp_flag::SYN | tcp_flag::ACK | tcp_flag::RST | tcp_flag::FIN) == tcp_flag::SYN;
        if segment.mptcp.is_some() {
            self.note_tokens(keyed);
        }
        let flow = self.table.flows.get(slot);
        let me = &flow.halves[direction as usize];
        if !segment.has(tcp_flag::SYN) || self.shared.refuses_syn(packet) {
            return None;
        }
        if segment.has(tcp_flag::ACK) {
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
        let has_doubtful_checksum = self.shared.doubts_syn(packet, me.checked(checks::GOOD_SYN));
        let is_doubtful = has_doubtful_checksum || deviates;
        let ended = unanswered || flow.is_over() && flow.answers_syn(direction, segment);
        // Behind both FINs it may belong to the old connection and be late; after a refusal it is another attempt.
        let is_late = flow.state == TcpState::Closed && me.flags & (half::KNOWN | half::SYN) == half::KNOWN;
        let begins = is_new || flow.is_over() && !is_late;
        if ended && begins && !is_doubtful {
            let reason = flow.reason_over().unwrap_or(EndReason::Reused);
            self.end(slot, reason);
            return Some(Reopening::Ended);
        }
        if !is_new && (flow.state != TcpState::Closed || is_late) {
            return None;
        }
        if deviates {
            self.connection(slot).0.note_path(direction, packet);
        }
        if has_doubtful_checksum {
            self.connection(slot).0.note_anomaly_once(AnomalyKind::BadChecksum);
        }
        self.hold_syn(keyed, slot, direction, segment);
        Some(Reopening::Held)
    }

    /// Holds a SYN with a new number in an open connection until the other side answers.
    fn hold_syn(&mut self, keyed: &Keyed<'_>, slot: u32, direction: Direction, segment: &Segment) {
        let Keyed { packet, key, .. } = *keyed;
        // Classifies the connection that the SYN may open, by its first packet.
        let class = self.classify(packet);
        let fresh = HeldSyn {
            key: *key,
            class,
            number: packet.frame.number,
            timestamp_ns: packet.frame.timestamp.as_nanos(),
            isn: segment.seq,
            scale: segment.scale.unwrap_or(0),
            timestamp: segment.timestamp,
            large_frames: segment.large_frames,
            mptcp: segment.mptcp,
            good_checksum: self.shared.config.checksum != ChecksumMode::Ignore && has_right_checksum(packet),
            signed: segment.signed,
            from_client: direction == Direction::ClientToServer,
            path: packet.path,
            packets: 0,
            payload_bytes: 0,
            ip_bytes: 0,
            frame_bytes: 0,
            kept: Vec::new(),
        };
        let (mut connection, mut delivery) = self.connection(slot);
        // Behind both FINs it is expected, unless it opens nothing.
        if connection.flow.state != TcpState::Closed {
            connection.note_anomaly(AnomalyKind::BlindSyn);
        }
        connection.flow.seen_clock_ns = connection.shared.now.clock_ns;
        let mut pending = match connection.take_held_syn() {
            Some(pending) if pending.isn == segment.seq && pending.from_client == fresh.from_client => pending,
            Some(other) => {
                delivery.count_held_syn(&mut connection, &other);
                Box::new(fresh)
            }
            None => Box::new(fresh),
        };
        let checksum = held_checksum(connection.shared.config.checksum, packet);
        if pending.packets >= COPIES_MAX {
            connection.flow.add_packets(direction as usize, 1);
            connection.flow.halves[direction as usize].payload_wire_bytes += u64::from(segment.length);
            connection.flow.count_frames(direction as usize, packet.frame_bytes, packet.ip_bytes);
            if H::PACKETS {
                delivery.show(&mut connection, packet.shown(direction, checksum));
            }
        } else {
            pending.packets += 1;
            pending.payload_bytes += u64::from(segment.length);
            pending.ip_bytes += packet.ip_bytes;
            pending.frame_bytes += packet.frame_bytes;
            if H::PACKETS {
                pending.kept.push(KeptPacket::of(packet.shown(direction, checksum)));
            }
        }
        connection.charge_held_syn(pending);
        connection.settle_slow_state();
        if self.shared.accounting.budget.is_over() {
            self.reclaim_memory();
        }
    }

    /// A SYN-ACK that answers a held SYN: the old connection is over, the new one began with that SYN.
    fn answered(&mut self, keyed: &Keyed<'_>, slot: u32, segment: &Segment) -> Option<Reopening> {
        let flow = self.table.flows.get_mut(slot);
        let from_client = flow.direction(keyed.from_a) == Direction::ClientToServer;
        let pending = flow.slow_state.as_ref()?.held_syn.as_ref()?;
        if pending.from_client == from_client || segment.ack != pending.isn.wrapping_add(1) {
            return None;
        }
        let (mut connection, _) = self.connection(slot);
        let pending = connection.take_held_syn()?;
        let reason = connection.flow.reason_over().unwrap_or(EndReason::Reused);
        self.end(slot, reason);
        let entry = HalfOpen {
            hash: keyed.hash as u32,
            seen_clock_ns: self.shared.now.clock_ns,
            ..pending.half_open(!keyed.from_a)
        };
        let half_open = self.table.add_half_open(entry);
        if H::PACKETS {
            return Some(Reopening::Promoted(self.promote_held_syn(half_open, &pending)));
        }
        Some(Reopening::Ended)
    }
}
