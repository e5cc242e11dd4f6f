//! The fast path: the next segment, or a plain acknowledgment, of an unremarkable connection.
//!
//! It accepts the next expected segment or a bare acknowledgment: only the ACK flag (PSH and ECN do not matter), an
//! acknowledgment of data that was seen and not older than the last, inside the window, with a timestamp that is not
//! older. It advances one number and delivers bytes that are still in the reader's buffer. Every other segment takes
//! the slow path, which gives the same result where both apply (`tests/engine/fast_path.rs` compares them).

use super::{Events, tcp_flag};
use crate::{
    Fate, TcpState,
    connection::Connection,
    flow::{closing, half},
    packet::Packet,
    wire::Kind,
};

/// NOP NOP timestamps of 10 bytes: the layout of nearly every stack (RFC 7323 appendix A).
const ALIGNED_TIMESTAMPS: u32 = 0x0101_080a;

impl Connection<'_> {
    /// Counts and processes a segment, if it is plain; `None`: nothing was done.
    #[inline(always)]
    pub(crate) fn fast_path<E: Events>(&mut self, events: &mut E, packet: Packet<'_>, from_a: bool) -> Option<Fate> {
        const UNUSUAL: u8 = tcp_flag::SYN | tcp_flag::RST | tcp_flag::FIN | tcp_flag::URG | tcp_flag::ACK;
        /// A cutoff does not matter here: bytes before it are delivered the same way.
        const WAITS: u16 = half::HELD | half::QUEUED | half::FIN | half::FIN_SEEN;
        const READY: u16 = half::KNOWN | half::ACKED;
        const ENDED: u16 = READY | half::FIN;
        /// RFC 7323 section 2.3; also the value used for an unknown scale.
        const SCALE_MAX: u8 = 14;
        let Packet { frame, bytes, decoded, path, .. } = packet;
        if decoded.kind != Kind::Tcp {
            return None;
        }
        let header = bytes.get(decoded.transport_at as usize..)?;
        let fixed: &[u8; 20] = header.first_chunk()?;
        let word = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
        let (seq, ack, length) = (word(4), word(8), decoded.payload_bytes);
        let direction = self.flow.direction(from_a);
        let at = direction as usize;
        let (me, peer) = (&self.flow.halves[at], &self.flow.halves[at ^ 1]);
        // Without a timestamp, the last one: nothing is older then, and nothing changes.
        // The lowest bit is the flag AE; the others are reserved.
        let (timestamp, is_stamped) = match fixed[12] & !1 {
            0x50 => (me.ts_recent, false),
            0x80 => {
                let [a, b, c, d, rest @ ..]: &[u8; 8] = header.get(20..)?.first_chunk()?;
                if u32::from_be_bytes([*a, *b, *c, *d]) != ALIGNED_TIMESTAMPS {
                    return None;
                }
                (u32::from_be_bytes(*rest), true)
            }
            _ => return None,
        };
        let window = u32::from(u16::from_be_bytes([fixed[14], fixed[15]]));
        // (A value 2^31 ahead is not older, as on the slow path.)
        let is_older = me.flags & half::TIMESTAMP != 0 && me.ts_recent.wrapping_sub(timestamp) as i32 > 0;
        // A FIN occupies a sequence number.
        let sent = peer.next_seq().wrapping_add(u32::from(peer.has(half::FIN)));
        let is_plain = matches!(
            self.flow.state,
            TcpState::Established | TcpState::Midstream | TcpState::HalfClosed | TcpState::Closed
        ) && fixed[13] & UNUSUAL == tcp_flag::ACK
            && seq == me.next_seq()
            && path == me.path()
            // A window that closes is noted on the slow path.
            && window != 0
            // Behind a FIN the next number is another one.
            && me.flags & (half::ZERO_WINDOW | half::FIN | half::SIGNED | READY) == READY
            && match peer.flags & (half::QUEUED | half::DOUBTFUL_FIN | half::FIN | READY) {
                READY => true,
                // A host that has sent its FIN ignores acknowledgments in segments outside the window (`acknowledge`).
                ENDED => {
                    !is_older
                        && seq.wrapping_add(length).wrapping_sub(peer.ack) as i32 >= 0
                        && peer.edge.wrapping_sub(seq) as i32 >= 0
                }
                _ => false,
            }
            // Acknowledges nothing unseen, and nothing older than the last acknowledgment.
            && sent.wrapping_sub(ack) as i32 >= 0
            && ack.wrapping_sub(me.ack) as i32 >= 0
            && if length == 0 {
                // Contradicts an earlier ACK of unsent data.
                seq.wrapping_sub(peer.ack) as i32 >= 0
            } else {
                me.flags & WAITS == 0
                    && decoded.payload_captured_bytes == length
                    && peer.edge.wrapping_sub(seq.wrapping_add(length)) as i32 >= 0
                    && !is_older
            }
            && self.flow.is_next_time(frame.timestamp.as_nanos());
        if !is_plain {
            return None;
        }
        let checksum = self.plain_checksum(direction, &packet)?;
        let timestamp_ns = frame.timestamp.as_nanos();
        self.flow.count_frames(at, u64::from(frame.wire_bytes), u64::from(decoded.ip_bytes));
        self.flow.last_ns[at] = timestamp_ns;
        self.flow.seen_clock_ns = self.shared.now.clock_ns;
        // Not the first packet: this side has acknowledged before.
        self.flow.add_packets(at, 1);
        let me = &mut self.flow.halves[at];
        me.payload_wire_bytes += u64::from(length);
        me.tcp_flags |= fixed[13];
        if fixed[12] & 1 != 0 {
            self.flow.closing |= closing::AE << at;
        }
        if E::PACKETS {
            events.accept(self, packet.shown(direction, checksum));
        }
        if let Some(slow_state) = &mut self.flow.slow_state {
            slow_state.unheard[at ^ 1] = 0;
            slow_state.skip[at].1 = 0;
            // As on the slow path (`reset_silence`).
            if length == 0 {
                Self::note_empty_answer(slow_state, at ^ 1, ack == self.flow.halves[at].ack, self.shared.now.clock_ns);
            }
            // Its own number contradicts acknowledgments of data that it never sent.
            if length == 0 && self.flow.halves[at].flags & WAITS == 0 {
                slow_state.skip[at ^ 1].1 = 0;
            }
        }
        let me = &mut self.flow.halves[at];
        me.ack = ack;
        let edge = ack.wrapping_add(window << me.scale().min(SCALE_MAX));
        if edge.wrapping_sub(me.edge) as i32 > 0 {
            me.edge = edge;
        }
        if me.flags & half::TIMESTAMP != 0 {
            if !is_older {
                me.ts_recent = timestamp;
            }
        } else if is_stamped && !me.has(half::SYN) {
            me.ts_recent = timestamp;
            me.flags |= half::TIMESTAMP;
        }
        if length == 0 {
            return Some(Fate::Tracked);
        }
        let start = me.next;
        me.next += u64::from(length);
        let from = decoded.payload_at as usize;
        let payload = bytes.get(from..from + length as usize).unwrap_or_default();
        let origin = if frame.origin == 0 { 0 } else { frame.origin + from as u64 };
        self.remember(direction, start, payload, origin);
        let start = start - self.flow.bias(direction);
        events.deliver(self, direction, start, payload, timestamp_ns);
        if self.flow.halves[at].has(half::CUT) {
            events.cut(self);
            return Some(self.fate_of_cut(direction, start));
        }
        Some(Fate::Tracked)
    }
}
