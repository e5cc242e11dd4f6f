//! TCP: the effect of a segment on its connection, as in a receiving host (RFC 9293, RFC 5961, RFC 7323).
//!
//! The fast path takes the next expected segment or a bare acknowledgment; every other segment takes the slow path:
//!
//! | file | what |
//! |---|---|
//! | `handshake.rs` | SYN and SYN-ACK: where a direction begins, simultaneous open, data on a SYN, changed numbers |
//! | `reset.rs` | which resets a host obeys (RFC 5961 section 3) |
//! | `accept.rs` | whether a host accepts a segment: acknowledgment, PAWS, window. If not, its bytes are *unconfirmed* |
//! | `reassemble.rs` | puts payload in its place: repeated, next, or queued |
//! | `urgent.rs` | which byte an urgent pointer removes from the stream |
//! | `fin.rs` | where a direction ends, and which FINs a host accepts |
//! | `drain.rs`, `limits.rs` | delivers contiguous bytes, up to where they are accepted |
//! | `holes.rs` | how long to wait for a hole, bounds, and what is reported when the wait ends |
//! | `arrivals.rs` | streams joined midway: begins both directions in the order of arrival |
//! | `complete.rs` | empties a direction's queue when memory is needed or the stream ends |
//! | `events.rs` | the trait that receives bytes, gaps and ends |
//! | `answers.rs` | SYN-ACKs with different sequence numbers: the client's acknowledgment decides |
//! | `fast_path.rs` | the next segment, or a plain acknowledgment, of an unremarkable connection |
//! | `sack.rs` | selective acknowledgments: bytes behind a hole that the receiver has |
//! | `unseen.rs` | directions that the capture lacks, in whole or at their beginning |
//! | `segment.rs`, `payload.rs`, `reserve.rs` | a segment, its payload, and the memory that a queue reserves |
//! | `history.rs` | compares retransmissions with delivered bytes, which `delivery_log.rs` remembers |
//! | `checksum.rs` | which wrong checksums are artefacts of the capture |

mod accept;
mod answers;
mod arrivals;
mod checksum;
mod complete;
mod drain;
mod events;
mod fast_path;
mod fin;
mod handshake;
mod history;
mod holes;
mod limits;
mod payload;
mod reassemble;
mod reserve;
mod reset;
mod sack;
mod segment;
mod unseen;
mod urgent;

pub(crate) use checksum::{Verdict, has_right_checksum, has_wrong_checksum, held_checksum, is_merged};
pub(crate) use events::Events;
pub(crate) use payload::Payload;
pub(crate) use segment::Segment;
pub(crate) use tidewire_wire::tcp_flag;

use accept::Ack;

use crate::{
    AnomalyKind, Direction, Fate, TcpState,
    connection::Connection,
    flow::{Flow, half},
};

impl Flow {
    /// Whether a server that has answered a SYN keeps waiting for the handshake's last segment: after one of the
    /// client's that lies outside the window or does not acknowledge the answer (Linux: `tcp_check_req`), and as long
    /// as the server sends nothing but refusals of such segments.
    #[inline]
    fn waits_on(&self, direction: Direction, segment: &Segment) -> bool {
        const ANSWERED: u16 = half::SYN | half::ACKED;
        let (me, peer) = (&self.halves[direction as usize], &self.halves[direction.opposite() as usize]);
        let is_empty = segment.length == 0 && !segment.has(tcp_flag::FIN);
        if direction == Direction::ServerToClient {
            let is_refusal = is_empty && me.has(half::ACKED) && segment.ack == me.ack && segment.seq == me.next_seq();
            return is_refusal || self.ends_no_crossing(direction, segment);
        }
        if peer.flags & ANSWERED != ANSWERED {
            // SYNs crossed: the server has yet to answer the client's.
            return is_empty && me.flags & ANSWERED == ANSWERED && peer.has(half::SYN);
        }
        // An acknowledgment of what the server never sent is refused (RFC 9293 section 3.10.7.4).
        let acknowledged = peer.offset_of(segment.ack);
        let is_sent = acknowledged <= self.sent(direction.opposite());
        if !me.has(half::SYN) {
            return segment.has(tcp_flag::ACK) && !is_sent;
        }
        let (start, first, edge) = (me.offset_of(segment.seq), me.offset_of(peer.ack), me.offset_of(peer.edge));
        let end = start + i64::from(segment.length) + i64::from(segment.has(tcp_flag::FIN));
        let is_inside = start == first || end > first && start < edge || start == edge && end == edge;
        let is_answer = acknowledged >= self.bias(direction.opposite()) as i64 && is_sent;
        !is_inside || !segment.has(tcp_flag::ACK) || !is_answer
    }

    /// Whether a client that answered a SYN which crossed its own drops a segment of the server for its place, its age or
    /// its acknowledgment, and keeps waiting (RFC 9293 section 3.10.7.4).
    #[inline]
    fn ends_no_crossing(&self, direction: Direction, segment: &Segment) -> bool {
        const ANSWERED: u16 = half::SYN | half::ACKED;
        let client = direction.opposite();
        let (me, peer) = (&self.halves[direction as usize], &self.halves[client as usize]);
        let has_crossed = me.flags & ANSWERED == half::SYN && peer.flags & ANSWERED == ANSWERED;
        let acknowledged = peer.offset_of(segment.ack);
        // Linux takes one that does not acknowledge the SYN either (`tcp_ack`: not before what is unacknowledged).
        let is_answer = acknowledged >= self.bias(client) as i64 - 1 && acknowledged <= self.sent(client);
        has_crossed && (self.is_outside(direction, segment) || !segment.has(tcp_flag::ACK) || !is_answer)
    }

    /// Whether a client whose handshake is not over drops a segment without SYN, RST and payload: any where its SYN was
    /// not answered (RFC 9293 section 3.10.7.3, "fifth"), or see `ends_no_crossing`. One that acknowledges more than the
    /// SYN shows that the capture lost packets.
    #[inline]
    fn answers_no_syn(&self, direction: Direction, segment: &Segment) -> bool {
        if direction == Direction::ClientToServer || segment.length > 0 || segment.has(tcp_flag::FIN) {
            return false;
        }
        if self.state == TcpState::SynReceived {
            return self.ends_no_crossing(direction, segment);
        }
        let client = &self.halves[direction.opposite() as usize];
        let ahead = client.offset_of(segment.ack) - client.next as i64;
        self.state == TcpState::SynSent && !(1..=i64::from(u16::MAX)).contains(&ahead)
    }

    /// Whether a host would drop a signed segment: signatures are agreed on in the SYNs, and neither had one.
    #[inline]
    fn expects_no_signature(&self) -> bool {
        let seen = self.halves[0].flags | self.halves[1].flags;
        seen & (half::SYN | half::SIGNED) == half::SYN
    }

    /// Whether a host would drop a segment without signature: both SYNs had one.
    #[inline]
    fn expects_signatures(&self) -> bool {
        const SIGNED: u16 = half::SYN | half::SIGNED;
        self.halves.iter().all(|half| half.flags & SIGNED == SIGNED)
    }

    /// Sets the base of a direction whose SYN was not seen: its first packet's number, or what the other side
    /// acknowledged.
    #[inline]
    fn learn_base(&mut self, direction: Direction, segment: &Segment) {
        let me = &mut self.halves[direction as usize];
        if !me.has(half::KNOWN) {
            me.base_seq = segment.seq;
            me.next = crate::flow::MIDSTREAM_START;
            me.flags |= half::KNOWN | half::HELD;
        }
        let peer = &mut self.halves[direction.opposite() as usize];
        if !peer.has(half::KNOWN) && segment.has(tcp_flag::ACK) {
            peer.base_seq = segment.ack;
            peer.next = crate::flow::MIDSTREAM_START;
            peer.flags |= half::KNOWN | half::HELD;
        }
        let waits_on = self.state == TcpState::SynReceived && self.waits_on(direction, segment);
        match self.state {
            TcpState::SynSent if direction == Direction::ServerToClient => self.state = TcpState::Established,
            TcpState::SynReceived if waits_on || self.is_undecided() => {}
            TcpState::SynSent | TcpState::SynReceived if segment.length > 0 || segment.has(tcp_flag::ACK) => {
                self.state = TcpState::Established;
            }
            _ => {}
        }
    }
}

impl Connection<'_> {
    /// Processes a segment of a flow. Packets and bytes were counted before.
    #[inline(never)]
    pub(crate) fn process(
        &mut self,
        events: &mut impl Events,
        direction: Direction,
        segment: &Segment,
        payload: Payload<'_>,
    ) -> Fate {
        const SYN_FIN: u8 = tcp_flag::SYN | tcp_flag::FIN;
        const SYN_RST: u8 = tcp_flag::SYN | tcp_flag::RST;
        let bare = segment.flags & (tcp_flag::SYN | tcp_flag::FIN | tcp_flag::RST | tcp_flag::ACK) == 0;
        if segment.flags & SYN_FIN == SYN_FIN || segment.flags & SYN_RST == SYN_RST || bare {
            self.note_anomaly(AnomalyKind::InvalidFlags);
            let is_heard = if bare {
                self.flow.never_acknowledges(direction)
            } else {
                // In an open connection hosts check RST first (RFC 9293 section 3.10.7.4).
                segment.has(tcp_flag::RST)
                    && self.flow.state != TcpState::SynSent
                    && self.flow.halves[direction as usize].has(half::KNOWN)
            };
            if !is_heard {
                return Fate::Ignored;
            }
        }
        if !segment.signed && self.flow.expects_signatures() {
            self.note_anomaly(AnomalyKind::UnexpectedSignature);
            return Fate::Ignored;
        }
        let is_signed = segment.unreadable || segment.signed && self.flow.expects_no_signature();
        if is_signed {
            self.note_anomaly(AnomalyKind::UnexpectedSignature);
        }
        let is_refused = is_signed || payload.is_refused;
        if is_refused
            && (segment.has(tcp_flag::RST | tcp_flag::SYN) || segment.length == 0 && !segment.has(tcp_flag::FIN))
        {
            return Fate::Ignored;
        }
        if segment.flags & (tcp_flag::FIN | tcp_flag::RST) != 0
            && self.flow.halves[direction as usize].has(half::SHUNTED)
        {
            events.ending(self, direction, segment);
        }
        if segment.has(tcp_flag::RST) {
            return self.reset(events, direction, segment);
        }
        if segment.has(tcp_flag::SYN) {
            return self.synchronize(events, direction, segment, payload);
        }
        if self.flow.state == TcpState::Reset {
            self.note_anomaly_once(AnomalyKind::AfterReset);
        }
        let ends_no_handshake =
            self.flow.answers_no_syn(direction, segment) || self.ends_no_handshake(direction, segment);
        if !ends_no_handshake {
            if self.flow.is_undecided() {
                self.choose_answer(direction, segment);
            }
            self.flow.learn_base(direction, segment);
        }
        let is_refused = is_refused || ends_no_handshake;
        let ack = if is_refused { Ack::Refused } else { self.acknowledge(direction, segment) };
        // Bytes that this acknowledgment confirms precede this segment's own.
        let other = direction.opposite();
        let confirms =
            self.flow.slow_state.as_ref().is_some_and(|slow_state| !slow_state.doubted[other as usize].is_empty());
        if confirms {
            if self.flow.halves[other as usize].has(half::DOUBTFUL_FIN) {
                self.settle_fin(other);
            }
            self.advance(events, other, payload.timestamp_ns);
        }
        let fate = if segment.length == 0 && !segment.has(tcp_flag::FIN) {
            self.name_probe(direction, segment);
            if segment.has(tcp_flag::URG) && !is_refused {
                self.point_at_urgent(direction, segment, ack);
            }
            Fate::Tracked
        } else {
            self.accept(events, direction, segment, payload, ack)
        };
        // An acknowledgment may settle what waits in the other direction, if that was not checked above. (The segment
        // itself affects that direction only if it ends the connection.)
        if confirms && !self.flow.is_over() {
            return fate;
        }
        if self.flow.halves[other as usize].has(half::DOUBTFUL_FIN) {
            self.settle_fin(other);
        }
        if self.flow.halves[other as usize].has(half::QUEUED | half::FIN_SEEN) {
            self.advance(events, other, payload.timestamp_ns);
        }
        fate
    }

    /// Names a probe: an empty segment with the number before the next one asks for an answer, to find out whether the
    /// other side is still there (RFC 9293 section 3.8.4) or whether its window is still closed (as Linux does).
    fn name_probe(&mut self, direction: Direction, segment: &Segment) {
        let (me, peer) = (&self.flow.halves[direction as usize], &self.flow.halves[direction.opposite() as usize]);
        if me.has(half::HELD | half::FIN_SEEN) || segment.seq != me.next_seq().wrapping_sub(1) {
            return;
        }
        if peer.has(half::ZERO_WINDOW) {
            self.note_anomaly(AnomalyKind::ZeroWindowProbe);
        } else {
            self.note_anomaly_once(AnomalyKind::KeepAlive);
        }
    }
}
