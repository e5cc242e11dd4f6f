//! Selective acknowledgments (RFC 2018): bytes behind a hole that the receiver has.
//!
//! A block confirms bytes as the acknowledgment number does. It also shows that a hole inside of it is one of the capture
//! alone. A block at or before the acknowledgment number reports a duplicate (RFC 2883), which confirms nothing new.

use super::Segment;
use crate::{
    Direction,
    connection::Connection,
    flow::{Flow, half},
};

impl Connection<'_> {
    /// Processes the SACK blocks of a segment whose acknowledgment is possible.
    #[inline(always)]
    pub(super) fn note_sacks(&mut self, direction: Direction, segment: &Segment) {
        if segment.sacks[0].0 != segment.sacks[0].1 {
            let other = direction.opposite();
            let before = self.flow.reserved(other);
            self.flow.note_sack_blocks(direction, segment);
            if self.flow.halves[other as usize].has(half::QUEUED) {
                self.settle_queue(other, before);
            }
        }
    }
}

impl Flow {
    /// Confirms what the blocks cover. A block must lie beyond the acknowledgment, and inside the window that its sender
    /// offered before; it confirms only what was seen.
    #[cold]
    fn note_sack_blocks(&mut self, direction: Direction, segment: &Segment) {
        let other = direction.opposite();
        let (me, peer) = (&self.halves[direction as usize], self.halves[other as usize]);
        if !peer.has(half::KNOWN) || peer.has(half::SHUNTED) || !me.has(half::ACKED) {
            return;
        }
        let (acked, edge) = (peer.offset_of(segment.ack), peer.offset_of(me.edge));
        for (left, right) in segment.sacks {
            let (left, right) = (peer.offset_of(left), peer.offset_of(right));
            if left >= right || left <= acked || right > edge || left < 0 {
                continue;
            }
            let slow_state = self.slow_state();
            let queue = &mut slow_state.queue[other as usize];
            queue.confirm((left as u64).max(peer.next), right as u64);
            let known = &mut slow_state.sacked[other as usize];
            if right as u64 > known.1 || left as u64 <= known.0 && right as u64 == known.1 {
                *known = (left as u64, right as u64);
            }
        }
    }

    /// Whether the receiver has all of `[start, end)`, as its last SACK blocks show.
    pub(super) fn is_sacked(&self, direction: Direction, start: u64, end: u64) -> bool {
        let sacked = self.slow_state.as_ref().map_or((0, 0), |slow_state| slow_state.sacked[direction as usize]);
        sacked.0 <= start && end <= sacked.1
    }

    /// Internal offset of the first byte of the block that reaches farthest.
    pub(super) fn sacked_start(&self, direction: Direction) -> u64 {
        self.slow_state.as_ref().map_or(0, |slow_state| slow_state.sacked[direction as usize].0)
    }

    /// Internal offset behind the last byte that a SACK block covered.
    pub(super) fn sacked_end(&self, direction: Direction) -> u64 {
        self.slow_state.as_ref().map_or(0, |slow_state| slow_state.sacked[direction as usize].1)
    }
}
