//! Collects frames from the rings and merges them by time into the batch.

use std::time::Duration;

use tidewire_wire::{CLOCK_STEP, Frame, Timestamp};

use super::{Worker, ring_cursor::RingCursor};
use crate::sys::wait;

/// Limit of frames of one ring that wait for earlier frames of others. Beyond it, order is given up rather than frames.
const WAITING_FRAMES_MAX: usize = 1 << 16;

impl Worker {
    /// Adds at most `most` frames to the batch; each ring gets the same share of a round, whatever the others have.
    pub(super) fn take_in(&mut self, each: usize, most: usize) {
        let before = self.batch.len();
        if let [cursor] = &mut self.cursors[..]
            && cursor.stale == 0
            && cursor.waiting.is_empty()
        {
            // One ring without old frames: neither merging nor filtering.
            cursor.collect(&mut self.batch, each, &mut self.troubles);
            cursor.taken += self.batch.len() - before;
        } else {
            self.collect(each);
            self.merge(Timestamp::from_nanos(wait::now_ns()), most);
        }
        let (index, count) = self.place;
        let first = self.frames;
        if self.batch.len() > before {
            self.clock.pass_silence(self.quiet_until());
        }
        for frame in self.batch.iter_mut().skip(before) {
            self.late += u64::from(frame.timestamp < self.latest);
            frame.clock = self.clock.advance(frame.timestamp, self.frames);
            if frame.timestamp <= frame.clock {
                self.latest = self.latest.max(frame.timestamp);
            }
            frame.number = self.frames * count + index + 1;
            self.frames += 1;
        }
        self.clock.settle(self.batch.get_mut(before..).unwrap_or_default(), first);
    }

    fn collect(&mut self, each: usize) {
        let room = if self.cursors.len() > 1 { WAITING_FRAMES_MAX } else { each };
        for cursor in &mut self.cursors {
            let most = each.min(room.saturating_sub(cursor.waiting.len()));
            cursor.collect(&mut self.fresh, most, &mut self.troubles);
            cursor.waiting.extend(self.fresh.drain(..));
        }
    }

    /// Moves at most `most` frames to the batch, the earliest first, up to the time until which every ring's frames are known.
    fn merge(&mut self, now: Timestamp, most: usize) {
        let before = self.batch.len();
        let horizon = if self.cursors.len() > 1 { self.horizon(now) } else { Timestamp::MAX };
        while self.batch.len() - before < most {
            let heads = self.cursors.iter_mut().filter(|cursor| !cursor.waiting.is_empty());
            let earliest = heads.min_by_key(|cursor| cursor.waiting.front().map(|frame| due(frame, now)));
            let Some(cursor) = earliest else { break };
            let is_full = cursor.waiting.len() >= WAITING_FRAMES_MAX;
            let Some(frame) = cursor.waiting.front() else { break };
            if due(frame, now) > horizon && !is_full {
                break;
            }
            let is_wanted = cursor.stale == 0 || self.stale_verdict.takes(&self.view, frame);
            let frame = cursor.waiting.pop_front().filter(|_| is_wanted);
            self.batch.extend(frame);
            cursor.stale = cursor.stale.saturating_sub(1);
            cursor.taken += 1;
            self.stale += u64::from(!is_wanted);
        }
    }

    /// The time until which all frames are known. A ring with frames is in order. Frames of an empty ring may be delayed, but
    /// nothing waits for them longer than the window.
    fn horizon(&self, now: Timestamp) -> Timestamp {
        if self.draining {
            return Timestamp::MAX;
        }
        let known = |cursor: &RingCursor| match cursor.waiting.back() {
            Some(last) if is_ahead(last, now) => now,
            Some(last) => last.timestamp,
            None => now.saturating_sub(Duration::from_nanos(cursor.ring.delay_ns().min(self.window_ns))),
        };
        self.cursors.iter().map(known).min().unwrap_or(Timestamp::MAX)
    }
}

/// Whether a frame's time lies too far in the future to be right: cards give such times until their clock is set.
fn is_ahead(frame: &Frame, now: Timestamp) -> bool {
    frame.timestamp > now.saturating_add(CLOCK_STEP)
}

/// The time at which it is a frame's turn. One that is ahead goes at once: those behind it in its ring would wait for decades.
fn due(frame: &Frame, now: Timestamp) -> Timestamp {
    if is_ahead(frame, now) { Timestamp::UNIX_EPOCH } else { frame.timestamp }
}
