//! Directions that the capture lacks, in whole or at their beginning: what their receiver acknowledges was sent.

use crate::{
    Direction,
    flow::{Flow, Half, MIDSTREAM_START, SYN_BEFORE_MAX, half},
};

/// An acknowledgment that stands alone adds at most so much: more than arrives between two of them. A forged one is
/// contradicted by the next.
const ALONE_BYTES_MAX: u64 = 1 << 20;

impl Half {
    /// Of a direction without packets: the last number that its receiver acknowledged, counted from `base_seq`.
    fn last_acknowledged(&self) -> u64 {
        u64::from(self.ts_recent) << 32 | u64::from(self.edge)
    }

    /// The place of a number of such a direction, nearest to the last: it may lie more than 2^31 behind the first.
    pub(super) fn unseen_offset(&self, ack: u32) -> i64 {
        let last = self.last_acknowledged();
        last as i64 + i64::from(ack.wrapping_sub(self.seq_of(last)) as i32)
    }
}

impl Flow {
    /// Records an acknowledgment of a direction without packets. Its side sent nothing, so the fields of what it
    /// acknowledged are free: `edge` and `ts_recent` hold the last number, counted from `base_seq`, and `ack` by how much
    /// it exceeds what an earlier one reached.
    #[inline(always)]
    pub(super) fn note_unseen(&mut self, direction: Direction, ack: u32) {
        let unseen = &mut self.halves[direction.opposite() as usize];
        if unseen.packets() != 0 || !unseen.has(half::KNOWN) {
            return;
        }
        let last = unseen.last_acknowledged();
        let Ok(now) = u64::try_from(unseen.unseen_offset(ack)) else { return };
        let agreed = last.saturating_sub(unseen.ack.into()).max(now.min(last));
        (unseen.edge, unseen.ts_recent) = (now as u32, (now >> 32) as u32);
        unseen.ack = now.saturating_sub(agreed).min(u32::MAX.into()) as u32;
    }

    /// Bytes that are known to be missing of a direction without payload, the beginning of which was not captured. The
    /// FIN is left out, where one may have been acknowledged.
    pub(super) fn unseen_bytes(&self, direction: Direction) -> Option<u64> {
        const UNSEEN: u16 = half::KNOWN | half::HELD;
        let (me, peer) = (&self.halves[direction as usize], &self.halves[direction.opposite() as usize]);
        let is_shunted = (me.flags | peer.flags) & half::SHUNTED != 0;
        if me.flags & (UNSEEN | half::QUEUED) != UNSEEN || !peer.has(half::ACKED) || is_shunted {
            return None;
        }
        let has_ended = peer.has(half::FIN | half::FIN_SEEN);
        let bytes = if me.packets() == 0 {
            let (last, alone) = (me.last_acknowledged(), u64::from(me.ack));
            let bytes = if alone <= ALONE_BYTES_MAX { last } else { last - alone };
            bytes.saturating_sub(u64::from(has_ended || alone == 1))
        } else {
            // One beyond may be a FIN.
            self.acknowledged(direction).saturating_sub(MIDSTREAM_START + 1)
        };
        (bytes > 0).then_some(bytes)
    }

    /// Whether a direction whose first captured byte is at `first` began at the number that the other side acknowledged
    /// first, in a connection whose beginning was captured.
    pub(super) fn began_before(&self, direction: Direction, first: u64) -> bool {
        let peer = &self.halves[direction.opposite() as usize];
        let missing = first.saturating_sub(MIDSTREAM_START);
        peer.flags & (half::SYN | half::ACKED) == half::SYN | half::ACKED
            && (1..=SYN_BEFORE_MAX as u64).contains(&missing)
            && self.acknowledged(direction) >= first
    }
}
