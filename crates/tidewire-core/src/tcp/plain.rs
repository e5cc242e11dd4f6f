//! The short way: the next segment of an established connection with nothing remarkable about it. Everything that is
//! checked here is checked on the long way too, which gives the same answer.

use super::{Payload, flag};
use crate::{
    ChecksumMode, Fate, GapCause, Handler, TcpState,
    engine::{core::Core, transport::Packet},
    flow::{Flow, half},
};

/// NOP NOP timestamps of 10 bytes: how nearly every stack lays them out (RFC 7323 appendix A).
const ALIGNED_TIMESTAMPS: u32 = 0x0101_080a;

impl<H: Handler> Core<H> {
    /// Whether settings allow the short way at all.
    pub(crate) fn has_short_way(&self) -> bool {
        !H::PACKETS && !self.long_way && self.config.flush_timeout_ns == 0 && self.config.ttl_min == 0
    }

    /// Counts and takes in a segment, if it is plain; `None`: nothing was done.
    #[inline(always)]
    pub(crate) fn plain(
        &mut self,
        flow: &mut Flow,
        data: &mut H::Data,
        packet: &Packet<'_>,
        from_a: bool,
    ) -> Option<Fate> {
        const UNUSUAL: u8 = flag::SYN | flag::RST | flag::FIN | flag::URG | flag::ACK;
        const READY: u16 = half::KNOWN | half::ACKED;
        let header = packet.bytes.get(packet.decoded.transport_at as usize..)?;
        let fixed: &[u8; 20] = header.first_chunk()?;
        let word = |at: usize| u32::from_be_bytes([fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]]);
        let (seq, ack, length) = (word(4), word(8), packet.decoded.payload_bytes);
        let timestamp = match fixed[12] >> 4 {
            5 => None,
            8 => {
                let [a, b, c, d, rest @ ..]: &[u8; 8] = header.get(20..)?.first_chunk()?;
                if u32::from_be_bytes([*a, *b, *c, *d]) != ALIGNED_TIMESTAMPS {
                    return None;
                }
                Some(u32::from_be_bytes(*rest))
            }
            _ => return None,
        };
        let direction = flow.direction(from_a);
        let at = direction as usize;
        let (me, peer) = (&flow.halves[at], &flow.halves[at ^ 1]);
        let is_plain = flow.state == TcpState::Established
            && fixed[13] & UNUSUAL == flag::ACK
            && me.flags & (half::SLOW | READY) == READY
            && peer.flags & (half::SLOW | READY) == READY
            && seq == me.next_seq()
            // A window that closes is noted on the long way.
            && fixed[14] | fixed[15] != 0
            && packet.decoded.payload_captured_bytes == length
            // Acknowledges nothing that was not seen, and nothing older than what was acknowledged before.
            && peer.next_seq().wrapping_sub(ack) as i32 >= 0
            && ack.wrapping_sub(me.ack) as i32 >= 0
            && peer.edge.wrapping_sub(seq.wrapping_add(length)) as i32 >= 0
            && (me.flags & half::TIMESTAMP == 0
                || timestamp.is_none_or(|value| value.wrapping_sub(me.ts_recent) as i32 >= 0))
            && !self.is_expired(flow);
        if !is_plain {
            return None;
        }
        self.count(flow, at, packet, fixed[13]);
        if self.config.checksum != ChecksumMode::Ignore
            && let Some(fate) = self.check(flow, direction, packet)
        {
            return Some(fate);
        }
        let me = &mut flow.halves[at];
        me.ack = ack;
        let edge = ack.wrapping_add(u32::from(u16::from_be_bytes([fixed[14], fixed[15]])) << (me.scale & 15));
        if edge.wrapping_sub(me.edge) as i32 > 0 {
            me.edge = edge;
        }
        if let Some(value) = timestamp {
            me.ts_recent = value;
            me.flags |= half::TIMESTAMP;
        }
        if length == 0 {
            return Some(Fate::Tracked);
        }
        let start = me.next;
        me.next += u64::from(length);
        let payload = Payload::of(packet, GapCause::Snapped);
        self.remember(flow, direction, start, payload.bytes, payload.origin);
        let start = start - flow.bias(direction);
        self.deliver(flow, data, direction, start, payload.bytes, payload.timestamp_ns);
        if flow.halves[at].has(half::CUT) {
            return Some(self.fate_of_cut(flow, direction, start));
        }
        Some(Fate::Tracked)
    }
}
