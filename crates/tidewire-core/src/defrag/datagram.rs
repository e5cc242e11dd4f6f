//! The bytes of a pending datagram, and the effect of the next fragment on it, as in a host.

use crate::{
    DefragPolicy, Rejection,
    queue::{
        segment::slice_of,
        store::{Arrival, Store},
        tree::{LEFT, NIL, RIGHT},
    },
};

/// A fragment's place and bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    pub offset: u32,
    /// Offset behind the last byte, as stated.
    pub end: u32,
    pub more: bool,
    /// Fewer bytes than stated if the fragment was truncated.
    pub data: &'a [u8],
}

/// The effect of a fragment on its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It was stored, or is a repetition.
    Held,
    /// The datagram is complete.
    Complete,
    /// Only this fragment is ignored.
    Dropped(Rejection),
    /// The datagram is discarded, and later fragments of it begin a new one (Linux).
    Killed(Rejection),
    /// The datagram is discarded, with all its later fragments.
    Poisoned(Rejection),
}

/// Which bytes of a datagram have arrived.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    pub store: Store,
    /// Linux: the farthest end of all fragments, or of the last one. Other policies: unused.
    reach: u32,
    /// The end that the last fragment states.
    end: Option<u32>,
    has_first: bool,
    /// Bytes that arrived, of those before `end` once that is known.
    covered: u32,
    /// Number of fragments that overlapped earlier ones.
    pub overlaps: u32,
    /// Bytes that arrived in two versions.
    pub conflict_bytes: u64,
}

impl Assembly {
    /// Stores a fragment. `rejected`: the datagram can no longer be delivered, only its ranges matter (Linux).
    pub fn insert(&mut self, policy: DefragPolicy, part: &Part<'_>, rejected: bool) -> Effect {
        match policy {
            DefragPolicy::Linux => self.insert_linux(part, rejected),
            _ => self.insert_by_policy(policy, part),
        }
    }

    /// Length of the whole payload, once it is complete.
    pub fn length(&self) -> u32 {
        self.end.unwrap_or(0)
    }

    /// Appends the payload to `out`.
    pub fn copy_to(&self, out: &mut Vec<u8>) {
        let end = u64::from(self.length());
        self.store.winners(0, end, |_, bytes| out.extend_from_slice(bytes));
    }

    fn note_overlap(&mut self, arrival: &Arrival<'_>) {
        self.overlaps += 1;
        let mut differing = 0;
        self.store.winners(arrival.start, arrival.end, |at, old| {
            let new = slice_of(arrival.bytes, arrival.start, at, at + old.len() as u64);
            if old != new {
                differing += old.iter().zip(new).filter(|(old, new)| old != new).count() as u64;
            }
        });
        self.conflict_bytes += differing;
    }

    /// Follows the kernel step by step (`net/ipv4/ip_fragment.c`, `net/ipv6/reassembly.c`, `net/ipv4/inet_fragment.c`).
    fn insert_linux(&mut self, part: &Part<'_>, rejected: bool) -> Effect {
        let (offset, mut end) = (part.offset, part.end);
        if part.more {
            // Only IPv4 fragments have lengths here that are not multiples of eight.
            end &= !7;
            if end > self.reach {
                if self.end.is_some() {
                    return Effect::Killed(Rejection::BeyondEnd);
                }
                self.reach = end;
            }
        } else {
            if end < self.reach || self.end.is_some_and(|known| known != end) {
                return Effect::Killed(Rejection::InconsistentEnd);
            }
            self.end = Some(end);
            self.reach = end;
        }
        if end <= offset {
            return Effect::Killed(Rejection::Tiny);
        }
        let length = (end - offset) as usize;
        let bytes = if rejected { &[] } else { part.data.get(..length).unwrap_or(part.data) };
        let arrival = Arrival { start: offset.into(), end: end.into(), bytes, is_wrong: false };
        if let Some(effect) = self.join_run(&arrival) {
            return effect;
        }
        self.covered += end - offset;
        self.has_first |= offset == 0;
        if self.has_first && self.end == Some(self.covered) { Effect::Complete } else { Effect::Held }
    }

    /// Stores a fragment among the runs, or returns its effect: a fragment inside one run is a repetition, any other
    /// overlap ends the datagram. Only what follows the farthest fragment joins its run.
    fn join_run(&mut self, arrival: &Arrival<'_>) -> Option<Effect> {
        let last = self.store.tree.last();
        if last == NIL {
            self.store.link(arrival.whole(), NIL, LEFT);
            return None;
        }
        let reach = self.store.tree.segment(last).end();
        if arrival.end > reach && arrival.start >= reach {
            if !self.store.coalesce(last, arrival) {
                self.store.link(arrival.whole(), last, RIGHT);
            }
            return None;
        }
        let node = self.store.tree.first_beyond(arrival.start);
        let met = self.store.tree.segment(node);
        if met.start >= arrival.end {
            self.store.place(arrival.whole());
            return None;
        }
        let is_inside = met.start <= arrival.start && arrival.end <= met.end();
        self.note_overlap(arrival);
        Some(if is_inside { Effect::Held } else { Effect::Killed(Rejection::Overlap) })
    }

    fn insert_by_policy(&mut self, policy: DefragPolicy, part: &Part<'_>) -> Effect {
        let strict = policy == DefragPolicy::Rfc5722;
        if !part.more {
            if self.end.is_some_and(|known| known != part.end) {
                return Effect::Poisoned(Rejection::InconsistentEnd);
            }
            if self.end.is_none() {
                if strict && self.store.tree.reach() > part.end.into() {
                    return Effect::Poisoned(Rejection::InconsistentEnd);
                }
                // Bytes beyond it do not count.
                self.covered = part.end;
                let covered = &mut self.covered;
                self.store.gaps(0, part.end.into(), |from, to| *covered -= (to - from) as u32);
                self.end = Some(part.end);
            }
        }
        let end = self.end.unwrap_or(u32::MAX);
        if strict && part.end > end {
            return Effect::Poisoned(Rejection::BeyondEnd);
        }
        let arrival = Arrival { start: part.offset.into(), end: part.end.into(), bytes: part.data, is_wrong: false };
        let (mut missing, mut fresh) = (0, 0);
        self.store.gaps(arrival.start, arrival.end, |from, to| {
            missing += to - from;
            fresh += to.min(end.into()).saturating_sub(from);
        });
        if missing < arrival.end - arrival.start {
            self.note_overlap(&arrival);
            if strict {
                return self.overlap_of_strict(&arrival, missing);
            }
        }
        self.covered += fresh as u32;
        let wins = |new, old| policy.new_wins(new, old);
        self.store.insert_by(wins, policy == DefragPolicy::Last, &arrival);
        if self.end == Some(self.covered) { Effect::Complete } else { Effect::Held }
    }

    /// RFC 5722 as amended by erratum 3089: exact repetitions are ignored, every other overlap ends the datagram.
    fn overlap_of_strict(&self, arrival: &Arrival<'_>, missing: u64) -> Effect {
        let met = self.store.tree.segment(self.store.tree.first_beyond(arrival.start));
        if (met.start, met.end()) == (arrival.start, arrival.end) {
            return Effect::Held;
        }
        let is_inside = missing == 0 && met.start <= arrival.start && arrival.end <= met.end();
        Effect::Poisoned(if is_inside { Rejection::Teardrop } else { Rejection::Overlap })
    }
}
