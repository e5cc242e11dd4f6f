//! SYN-ACKs with different sequence numbers: the client's acknowledgment decides which of them opened the connection
//! (RFC 9293 sections 3.10.7.3 and 3.10.7.4). Until then each of them is possible, and data of the server waits.

use super::{Segment, tcp_flag};
use crate::{
    Direction, TcpState,
    connection::Connection,
    flow::{Answer, Flow, SCALE_UNKNOWN, half},
};

/// SYN-ACKs with different numbers that stay possible, beside the one in use: a server that forgot its answer, behind
/// a forged one or two. Further ones are ignored.
const OTHER_ANSWERS_MAX: usize = 4;
/// The farthest that the server's data may lie behind its SYN-ACK while the client has not acknowledged it: many times
/// a first window.
const DATA_BEHIND_MAX: u32 = 1 << 20;

impl Flow {
    /// Whether SYN-ACKs with different numbers wait for the client's decision.
    #[inline]
    pub(super) fn is_undecided(&self) -> bool {
        self.state == TcpState::SynReceived
            && self.slow_state.as_ref().is_some_and(|slow_state| !slow_state.other_answers.is_empty())
    }

    /// The number behind the SYN-ACK in use.
    fn answer_in_use(&self) -> u32 {
        let server = &self.halves[Direction::ServerToClient as usize];
        server.base_seq.wrapping_add(self.bias(Direction::ServerToClient) as u32)
    }

    /// Records a SYN-ACK with another number, as long as the connection is not open.
    pub(super) fn note_other_answer(&mut self, direction: Direction, segment: &Segment) {
        let server = &self.halves[direction as usize];
        let is_possible = direction == Direction::ServerToClient
            && self.state == TcpState::SynReceived
            && segment.has(tcp_flag::ACK)
            && !server.has(half::FIN)
            && server.next == self.bias(direction)
            && !self.answers_nothing(direction, segment);
        if !is_possible {
            return;
        }
        let slow_state = self.slow_state();
        let others = &mut slow_state.other_answers;
        let is_known = others.iter().any(|other| other.first_byte == segment.seq.wrapping_add(1));
        if !is_known && others.len() < OTHER_ANSWERS_MAX {
            let first_byte = segment.seq.wrapping_add(1);
            let answer = Answer { first_byte, timestamp: segment.timestamp, scale: segment.scale };
            others.push(answer, &mut slow_state.bytes);
        }
    }

    /// Index of the other SYN-ACK that a number lies closest behind, by at most `distance`; `Err`: it lies behind the
    /// one in use, or behind none.
    fn closest_answer(&self, number: u32, distance: u32) -> Result<usize, bool> {
        let others = self.slow_state.as_ref().map_or(&[][..], |slow_state| &slow_state.other_answers);
        let in_use = number.wrapping_sub(self.answer_in_use());
        let behind = |at: usize| number.wrapping_sub(others[at].first_byte);
        match (0..others.len()).min_by_key(|&at| behind(at)).filter(|&at| behind(at) < in_use) {
            Some(at) if behind(at) <= distance => Ok(at),
            _ => Err(in_use <= distance),
        }
    }

    /// Ends the choice: the SYN-ACK in use opened the connection, and what waits behind it is accepted.
    pub(super) fn accept_answer(&mut self) {
        const AT: usize = Direction::ServerToClient as usize;
        let slow_state = self.slow_state();
        slow_state.other_answers.clear();
        // Bytes with wrong checksums still wait for their own acknowledgment.
        if slow_state.doubted[AT].is_empty() {
            slow_state.accepted[AT] = slow_state.accepted[AT].max(slow_state.queue[AT].end());
        }
    }

    /// Whether a SYN-ACK fails to acknowledge the other side's SYN, as it must (RFC 9293 section 3.10.7.3), where that
    /// was seen.
    #[inline]
    pub(super) fn answers_nothing(&self, direction: Direction, segment: &Segment) -> bool {
        let peer = &self.halves[direction.opposite() as usize];
        // With data on the SYN (RFC 7413) it may acknowledge the data, too.
        peer.has(half::SYN) && segment.ack != peer.base_seq && {
            let offset = peer.offset_of(segment.ack);
            offset < 0 || offset > peer.next.max(peer.payload_wire_bytes) as i64
        }
    }
}

impl Connection<'_> {
    /// Chooses among SYN-ACKs with different numbers by a segment that follows them.
    pub(super) fn choose_answer(&mut self, direction: Direction, segment: &Segment) {
        let is_empty = segment.length == 0 && !segment.has(tcp_flag::FIN);
        match direction {
            Direction::ClientToServer if segment.has(tcp_flag::ACK) => self.decide_answer(segment),
            Direction::ServerToClient if !is_empty => self.follow_answer(segment),
            _ => {}
        }
    }

    /// Decides by an acknowledgment of the client which SYN-ACK opened the connection. One of none of them decides
    /// nothing.
    fn decide_answer(&mut self, segment: &Segment) {
        let sent = self.flow.halves[Direction::ServerToClient as usize].payload_wire_bytes + 1;
        match self.flow.closest_answer(segment.ack, sent.min(u64::from(DATA_BEHIND_MAX)) as u32) {
            Ok(at) => self.use_answer(at),
            Err(false) => return,
            Err(true) => {}
        }
        self.flow.accept_answer();
    }

    /// Uses the SYN-ACK that the server's data follows, as long as nothing waits behind the one in use. Without any
    /// packet of the client nothing else decides.
    fn follow_answer(&mut self, segment: &Segment) {
        const AT: usize = Direction::ServerToClient as usize;
        let found = self.flow.closest_answer(segment.seq, DATA_BEHIND_MAX);
        if let Ok(at) = found
            && !self.flow.halves[AT].has(half::QUEUED | half::DOUBTFUL_FIN)
        {
            self.use_answer(at);
        }
        if found != Err(false) && self.flow.halves[Direction::ClientToServer as usize].packets() == 0 {
            self.flow.accept_answer();
        }
    }

    /// Replaces the SYN-ACK in use by another one, and drops what waited behind the former.
    fn use_answer(&mut self, at: usize) {
        const DIRECTION: Direction = Direction::ServerToClient;
        const AT: usize = DIRECTION as usize;
        let before = self.flow.reserved(DIRECTION);
        self.forget_doubted(DIRECTION);
        let me = &self.flow.halves[AT];
        let former = Answer {
            first_byte: self.flow.answer_in_use(),
            timestamp: me.has(half::TIMESTAMP).then_some(me.ts_recent),
            scale: Some(me.scale()),
        };
        let slow_state = self.flow.slow_state();
        let answer = std::mem::replace(&mut slow_state.other_answers[at], former);
        slow_state.queue[AT].clear();
        slow_state.lost_ranges[AT].forget_before(u64::MAX);
        (slow_state.fin_at[AT], slow_state.fin_from[AT], slow_state.fin_doubtful[AT]) = (u64::MAX, u64::MAX, u64::MAX);
        (slow_state.unconfirmed_end[AT], slow_state.claimed[AT], slow_state.unanswered[AT]) = (0, 0, None);
        slow_state.answer_stamps = None;
        let me = &mut self.flow.halves[AT];
        me.base_seq = answer.first_byte.wrapping_sub(me.next as u32);
        me.flags &= !(half::FIN_SEEN | half::DOUBTFUL_FIN | half::TIMESTAMP);
        if let Some(value) = answer.timestamp {
            me.ts_recent = value;
            me.flags |= half::TIMESTAMP;
        }
        me.set_scale(answer.scale.unwrap_or(0));
        let client = &mut self.flow.halves[Direction::ClientToServer as usize];
        // Windows are scaled only if both SYNs have the option (RFC 7323 section 2.2).
        match answer.scale {
            None => client.set_scale(0),
            // Its own was dropped with a SYN-ACK that had none.
            Some(_) if client.scale() == 0 => client.set_scale(SCALE_UNKNOWN),
            Some(_) => {}
        }
        self.settle_queue(DIRECTION, before);
    }
}
