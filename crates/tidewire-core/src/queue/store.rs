//! Pieces of one kind (confirmed or unconfirmed), stored under a policy.

use super::{
    segment::{Segment, slice_of},
    tree::{LEFT, NIL, RIGHT, Tree},
};
use crate::TcpPolicy;

/// The kernel joins an out-of-order segment to the piece that ends where it starts, until that piece has 17 fragments
/// of memory. This store bounds bytes instead, so that moving a piece is never slow.
pub(crate) const COALESCED_BYTES_MAX: u64 = 64 << 10;

/// A segment to be stored; its bytes are still borrowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival<'a> {
    pub start: u64,
    pub end: u64,
    /// From `start` on; may be fewer than `end - start`.
    pub bytes: &'a [u8],
    /// See `Incoming::is_wrong`.
    pub is_wrong: bool,
}

impl<'a> Arrival<'a> {
    /// The bytes of this arrival in a range inside it.
    fn slice(&self, start: u64, end: u64) -> &'a [u8] {
        slice_of(self.bytes, self.start, start, end)
    }

    fn part(&self, start: u64, end: u64) -> Segment {
        Segment::new(start, end, self.slice(start, end), self.is_wrong)
    }

    pub fn whole(&self) -> Segment {
        self.part(self.start, self.end)
    }
}

/// How a range lies among the runs of stored bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Survey {
    /// It begins in a run, or right behind one.
    touches: bool,
    /// Other runs that it reaches.
    joined: u32,
}

/// The pieces and their policy's decisions.
#[derive(Debug, Default)]
pub(crate) struct Store {
    pub tree: Tree,
    data_charge: u64,
    /// Runs of bytes without a hole.
    pub runs: u32,
    /// The farthest end of what was taken from the front.
    front_reach: u64,
}

impl Store {
    pub fn charge(&self) -> u64 {
        self.data_charge + self.tree.node_charge()
    }

    pub fn is_empty(&self) -> bool {
        self.tree.root() == NIL
    }

    pub fn first_start(&self) -> Option<u64> {
        let first = self.tree.first();
        (first != NIL).then(|| self.tree.segment(first).start)
    }

    /// Surveys `[start, end)`: calls `gap` with the parts that are not stored, and `bytes` with the parts that are and
    /// would be delivered.
    pub fn survey(
        &self,
        start: u64,
        end: u64,
        mut gap: impl FnMut(u64, u64),
        mut bytes: impl FnMut(u64, &[u8]),
    ) -> Survey {
        let mut survey = Survey::default();
        let reach = self.tree.reach();
        // The usual cases: beyond all, or before all.
        if start >= reach || self.first_start().is_some_and(|first| end < first) {
            survey.touches = reach > 0 && start == reach;
            gap(start, end);
            return survey;
        }
        // In the order of their starts, each piece contributes what those before it do not.
        let mut at = start;
        let mut node = self.tree.first_beyond(start.saturating_sub(1));
        while node != NIL && at < end {
            let segment = self.tree.segment(node);
            if segment.start > end {
                break;
            }
            survey.touches |= segment.start <= start;
            if segment.start > at {
                gap(at, segment.start);
                at = segment.start;
                survey.joined += 1;
            }
            if segment.end() > at {
                let to = segment.end().min(end);
                if at < to {
                    bytes(at, slice_of(segment.bytes(), segment.start, at, to));
                }
                at = segment.end();
            }
            node = self.tree.next(node);
        }
        if at < end {
            gap(at, end);
        }
        survey
    }

    /// Calls `each` with the parts of `[start, end)` that are not stored.
    pub fn gaps(&self, start: u64, end: u64, each: impl FnMut(u64, u64)) {
        self.survey(start, end, each, |_, _| ());
    }

    /// Calls `each` with the bytes of `[start, end)` that would be delivered, in order, with their offsets.
    pub fn winners(&self, start: u64, end: u64, each: impl FnMut(u64, &[u8])) {
        self.survey(start, end, |_, _| (), each);
    }

    /// Stores what a policy leaves of `arrival`; `survey` is the result for its range. Returns whether any of it was
    /// stored.
    pub fn insert(&mut self, policy: TcpPolicy, arrival: &Arrival<'_>, survey: Survey) -> bool {
        if self.is_empty() {
            self.runs = 1;
            self.link(arrival.whole(), NIL, LEFT);
            return true;
        }
        self.runs = (self.runs + 1).saturating_sub(u32::from(survey.touches) + survey.joined);
        let stored = match policy {
            TcpPolicy::Linux => self.insert_linux(arrival),
            // Where only the last byte counts, it is written into the old piece, which then need not be split.
            _ => self.insert_by(|new, old| policy.new_wins(new, old), policy == TcpPolicy::Last, arrival),
        };
        self.tree.shrink();
        stored
    }

    pub fn link(&mut self, segment: Segment, parent: u32, side: usize) -> u32 {
        self.data_charge += segment.data_charge();
        self.tree.link(segment, parent, side)
    }

    pub fn place(&mut self, segment: Segment) {
        let (parent, side) = self.tree.place(segment.start);
        self.link(segment, parent, side);
    }

    fn unlink(&mut self, node: u32) -> Segment {
        let segment = self.tree.unlink(node);
        self.data_charge -= segment.data_charge();
        segment
    }

    /// Stores a piece where nothing is stored.
    pub fn keep(&mut self, piece: &Segment) {
        let bytes = piece.bytes();
        let arrival = Arrival { start: piece.start, end: piece.end(), bytes, is_wrong: piece.is_wrong() };
        let survey = self.survey(arrival.start, arrival.end, |_, _| (), |_, _| ());
        self.insert(TcpPolicy::First, &arrival, survey);
    }

    /// Compares old and new piece by piece, as the models of Novak and Sturges do: pieces never overlap.
    ///
    /// `new_wins` is called with both ranges. `written_into`: a new piece inside an old one is written into it instead of
    /// splitting it. A piece with a wrong checksum loses against one without, whatever `new_wins` returns. Runs of bytes
    /// are not counted. Returns whether any of the bytes were stored.
    pub fn insert_by(
        &mut self,
        new_wins: impl Fn((u64, u64), (u64, u64)) -> bool,
        written_into: bool,
        arrival: &Arrival<'_>,
    ) -> bool {
        let (start, end) = (arrival.start, arrival.end);
        let mut stored = false;
        // The part of the new bytes that is not yet decided begins here.
        let mut at = start;
        let mut node = self.tree.first_beyond(start);
        while node != NIL {
            let (old_start, old_end) = (self.tree.segment(node).start, self.tree.segment(node).end());
            if old_start >= end {
                break;
            }
            let next = self.tree.next(node);
            let is_outranked = self.tree.segment(node).is_wrong() && !arrival.is_wrong;
            if !is_outranked && !new_wins((start, end), (old_start, old_end)) {
                if at < old_start {
                    self.place(arrival.part(at, old_start));
                    stored = true;
                }
                at = old_end;
            } else if old_start < start && old_end > end && written_into {
                self.overwrite(node, arrival);
                return true;
            } else if old_start < start {
                let rest = (old_end > end).then(|| self.tree.segment(node).part(end, old_end));
                self.tree.reshape(node, old_start, (start - old_start) as u32);
                let segment = self.tree.segment_mut(node);
                let kept = (segment.length as usize).saturating_add(segment.head());
                segment.data.truncate(kept);
                if let Some(rest) = rest {
                    self.place(rest);
                }
            } else if old_end > end {
                self.tree.reshape(node, end, (old_end - end) as u32);
                let segment = self.tree.segment_mut(node);
                let skipped = ((end - old_start) as usize).min(segment.bytes().len());
                segment.skip(skipped);
            } else {
                self.unlink(node);
            }
            node = next;
        }
        if at < end {
            self.place(arrival.part(at, end));
            stored = true;
        }
        stored
    }

    fn overwrite(&mut self, node: u32, arrival: &Arrival<'_>) {
        let segment = self.tree.segment_mut(node);
        let from = (arrival.start - segment.start) as usize + segment.head();
        if let Some(old) = segment.data.get_mut(from..) {
            let count = arrival.bytes.len().min(old.len());
            old[..count].copy_from_slice(&arrival.bytes[..count]);
        }
    }

    /// Drops the bytes and keeps their places.
    pub fn forget_bytes(&mut self) {
        let mut node = self.tree.first();
        while node != NIL {
            self.tree.segment_mut(node).forget_bytes();
            node = self.tree.next(node);
        }
        self.data_charge = 0;
    }

    /// Follows Linux's `tcp_data_queue_ofo` decision by decision. Pieces may overlap; the one that starts first is
    /// delivered first.
    fn insert_linux(&mut self, arrival: &Arrival<'_>) -> bool {
        let last = self.tree.last();
        if self.coalesce(last, arrival) {
            return true;
        }
        let mut place = (last, RIGHT);
        if arrival.start < self.tree.segment(last).end() {
            place = (NIL, LEFT);
            let mut at = self.tree.root();
            while at != NIL {
                let (start, end) = (self.tree.segment(at).start, self.tree.segment(at).end());
                let mut side = RIGHT;
                if arrival.start < start {
                    side = LEFT;
                } else if arrival.start < end {
                    if arrival.end <= end {
                        return false;
                    }
                    if arrival.start == start {
                        self.replace(at, arrival);
                        self.remove_covered(at, arrival.end);
                        return true;
                    }
                } else if self.coalesce(at, arrival) {
                    return true;
                }
                place = (at, side);
                at = self.tree.child(at, side);
            }
        }
        let node = self.link(arrival.whole(), place.0, place.1);
        self.remove_covered(node, arrival.end);
        true
    }

    fn replace(&mut self, node: u32, arrival: &Arrival<'_>) {
        let segment = arrival.whole();
        self.data_charge += segment.data_charge();
        let old = self.tree.replace(node, segment);
        self.data_charge -= old.data_charge();
    }

    /// Removes the pieces behind `node` that end at or before `end`, up to the first that does not.
    fn remove_covered(&mut self, node: u32, end: u64) {
        loop {
            // (Removing a node does not change the index of another.)
            let next = self.tree.next(node);
            if next == NIL || self.tree.segment(next).end() > end {
                return;
            }
            self.unlink(next);
        }
    }

    /// Joins `arrival` to a piece that ends where it starts.
    pub fn coalesce(&mut self, node: u32, arrival: &Arrival<'_>) -> bool {
        let segment = self.tree.segment(node);
        if segment.end() != arrival.start || segment.is_wrong() != arrival.is_wrong {
            return false;
        }
        let (start, length) = (segment.start, arrival.end - segment.start);
        let is_whole = segment.bytes().len() == segment.length as usize;
        let is_counted = segment.bytes().is_empty() && arrival.bytes.is_empty();
        if length > COALESCED_BYTES_MAX || !(is_whole || is_counted) {
            return false;
        }
        self.data_charge -= segment.data_charge();
        let segment = self.tree.segment_mut(node);
        let (held, more) = (segment.data.len(), arrival.bytes.len());
        if segment.data.capacity() - held < more {
            // By eighths at least: the allocation is what is charged, and what is copied for it is bounded.
            segment.data.reserve_exact(more.max(held / 8));
        }
        segment.data.extend_from_slice(arrival.bytes);
        self.data_charge += segment.data_charge();
        self.tree.reshape(node, start, length as u32);
        true
    }

    /// The first piece that reaches beyond `expected`; those before it are removed, because nothing asks for them
    /// again.
    pub fn front(&mut self, expected: u64) -> Option<u32> {
        loop {
            let first = self.tree.first();
            if first == NIL {
                return None;
            }
            if self.tree.segment(first).end() > expected {
                return Some(first);
            }
            self.remove_front(first);
        }
    }

    /// Removes the first piece. Nodes may move.
    pub fn remove_front(&mut self, first: u32) -> Segment {
        let segment = self.unlink(first);
        self.front_reach = self.front_reach.max(segment.end());
        match self.first_start() {
            None => self.runs = 0,
            Some(start) if start > self.front_reach => self.runs -= 1,
            Some(_) => {}
        }
        self.tree.shrink();
        segment
    }

    /// Removes the piece that starts last.
    pub fn drop_last(&mut self) {
        let last = self.tree.last();
        if last == NIL {
            return;
        }
        let segment = self.unlink(last);
        if self.is_empty() {
            self.runs = 0;
        } else if self.tree.reach() < segment.start {
            self.runs -= 1;
        }
        self.tree.shrink();
    }
}
