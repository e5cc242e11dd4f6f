//! Delivery of bytes that are contiguous: those of a segment, and those that waited in the queue.

use super::Events;
use crate::{
    Direction, Gap, GapCause, Mode,
    connection::Connection,
    flow::{doubted::AcceptedRanges, half},
};

impl Connection<'_> {
    /// Delivers everything that is contiguous in the queue. Returns whether a hole follows. `last`: nothing more will
    /// be acknowledged.
    pub(crate) fn drain(
        &mut self,
        events: &mut impl Events,
        direction: Direction,
        timestamp_ns: u64,
        last: bool,
    ) -> bool {
        self.drain_until(events, direction, timestamp_ns, last, u64::MAX)
    }

    /// The same up to an internal offset.
    pub(crate) fn drain_until(
        &mut self,
        events: &mut impl Events,
        direction: Direction,
        timestamp_ns: u64,
        last: bool,
        until: u64,
    ) -> bool {
        let at = direction as usize;
        let (mut limit, mut unconfirmed_limit) = self.limits(direction);
        if last {
            limit = self.flow.fin_of(direction).map_or(u64::MAX, |fin| fin.max(0) as u64);
            unconfirmed_limit = unconfirmed_limit.max(self.flow.last_limit(direction).min(limit));
        }
        limit = limit.min(until);
        if self.flow.halves[at].has(half::HELD) {
            // The beginning of the stream depends on what is accepted, too.
            if let Some(slow_state) = &mut self.flow.slow_state {
                slow_state.queue[at].accept_unconfirmed(unconfirmed_limit);
            }
            return true;
        }
        let mut moved = false;
        let mut accepted = AcceptedRanges::new();
        // The next byte for which the limit at the end is known.
        let mut limited_at = self.flow.halves[at].next;
        loop {
            let next = self.flow.halves[at].next;
            let Some(slow_state) = self.flow.slow_state.as_mut() else { return false };
            let Some(piece) = slow_state.queue[at].take(next, limit, unconfirmed_limit) else {
                let is_known = !last || limited_at == next;
                let further = if is_known { 0 } else { self.flow.last_limit(direction).min(limit) };
                if further <= unconfirmed_limit {
                    break;
                }
                limited_at = next;
                unconfirmed_limit = further;
                continue;
            };
            moved = true;
            if piece.is_wrong {
                match accepted.last_mut() {
                    Some(last) if last.1 == next => last.1 += piece.length,
                    _ => accepted.push((next, next + piece.length)),
                }
            }
            slow_state.waiting_bytes[at] = slow_state.waiting_bytes[at].saturating_sub(piece.length);
            self.deliver_contiguous(events, direction, piece.bytes(), timestamp_ns, 0);
            let end = next + piece.length;
            let reached = self.flow.halves[at].next;
            if reached < end {
                self.flow.halves[at].next = end;
                self.skip_untracked(events, direction, reached, end);
            }
        }
        if moved {
            // A new hole starts to wait now.
            let slow_state = self.flow.slow_state();
            (slow_state.hole_segments[at], slow_state.hole_since_ns[at]) = (0, self.shared.now.clock_ns);
        }
        if self.flow.slow_state.as_ref().is_some_and(|slow_state| !slow_state.doubted[at].is_empty()) {
            self.settle_doubted(direction, &accepted);
        }
        let next = self.flow.halves[at].next;
        self.flow.slow_state().queue[at].first_start().is_some_and(|first| first > next)
    }

    /// Delivers bytes that continue the direction, without urgent bytes that are to be removed.
    pub(crate) fn deliver_contiguous(
        &mut self,
        events: &mut impl Events,
        direction: Direction,
        bytes: &[u8],
        timestamp_ns: u64,
        origin: u64,
    ) {
        let at = direction as usize;
        let mut bytes = bytes;
        while !bytes.is_empty() {
            let start = self.flow.halves[at].next;
            let end = start + bytes.len() as u64;
            let urgent = self
                .flow
                .slow_state
                .as_ref()
                .map(|slow_state| slow_state.urgent[at])
                .filter(|byte| (start..end).contains(byte));
            let length = urgent.map_or(bytes.len(), |byte| (byte - start) as usize);
            let offset = start - self.flow.bias(direction);
            self.flow.halves[at].next += length as u64;
            self.remember(direction, start, &bytes[..length], origin);
            events.deliver(self, direction, offset, &bytes[..length], timestamp_ns);
            bytes = &bytes[length..];
            if urgent.is_some() {
                self.flow.halves[at].next += 1;
                let offset = offset + length as u64;
                events.gap(self, Gap { direction, offset, bytes: 1, cause: GapCause::Urgent });
                bytes = &bytes[1..];
            }
        }
    }

    /// Passes bytes without delivering them: in track mode, or beyond the cutoff.
    fn skip_untracked(&mut self, events: &mut impl Events, direction: Direction, start: u64, end: u64) {
        if self.shared.config.mode == Mode::Track {
            return;
        }
        let bias = self.flow.bias(direction);
        events.pass(self, direction, start.saturating_sub(bias), end.saturating_sub(bias));
    }
}
