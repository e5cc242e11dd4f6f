//! Which lanes identify events of a group: as set, or those that have few values.

use smallvec::SmallVec;

use super::settings::Identity;
use crate::lanes::{Plan, Values};

/// Distinct values of a lane that identify; with more it varies. Eight scanners at once are eight folds.
const DISTINCT_MAX: usize = 8;
/// After so many events, or so much time, lanes are judged again.
const EPOCH_EVENTS: u32 = 16_384;
const EPOCH_NS: u64 = 60_000_000_000;
/// Values that differ from event to event by their nature.
const VARYING: [&str; 4] = ["time_ns", "stream", "offset", "excerpt"];

/// A set of lanes, numbers and blobs, each by its place among its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mask {
    pub ints: u128,
    pub blobs: u128,
}

impl Mask {
    /// The lanes for which `is_in` holds.
    fn of(plan: &Plan, is_in: impl Fn(&str) -> bool) -> Self {
        let (mut mask, mut int, mut blob) = (Self::default(), 1_u128, 1_u128);
        for lane in &plan.lanes {
            let (set, bit) = if lane.is_blob() { (&mut mask.blobs, &mut blob) } else { (&mut mask.ints, &mut int) };
            *set |= if is_in(&lane.name) { *bit } else { 0 };
            *bit <<= 1;
        }
        mask
    }
}

/// Places of the bits that are set.
pub(super) fn places(mut bits: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (place < 128).then_some(place)
    })
}

/// Values of a lane that were seen in this epoch.
#[derive(Clone, Debug, Default)]
struct Seen {
    last: Option<u64>,
    values: SmallVec<[u64; DISTINCT_MAX]>,
}

impl Seen {
    /// Notes a value; whether there are too many now.
    fn note(&mut self, value: u64) -> bool {
        if self.last == Some(value) {
            return false;
        }
        self.last = Some(value);
        if self.values.contains(&value) {
            return false;
        }
        if self.values.len() == DISTINCT_MAX {
            return true;
        }
        self.values.push(value);
        false
    }
}

/// Identity of events of a group, and how it is found.
#[derive(Debug)]
pub(super) struct Profile {
    /// The lanes that identify.
    pub mask: Mask,
    /// The lanes that may come to identify or cease to; nothing where it was set.
    candidates: Mask,
    /// Candidates that are still counted in this epoch.
    counted: Mask,
    ints: Vec<Seen>,
    blobs: Vec<Seen>,
    events: u32,
    epoch_ns: u64,
}

impl Profile {
    pub(super) fn new(plan: &Plan, identity: &Identity, now_ns: u64) -> Self {
        let is_among = |names: &[String], name: &str| names.iter().any(|of| of == name);
        let is_free = |name: &str| !VARYING.contains(&name);
        let (mask, candidates) = match identity {
            Identity::Found => (Mask::of(plan, is_free), Mask::of(plan, is_free)),
            Identity::Members(names) => (Mask::of(plan, |name| is_among(names, name)), Mask::default()),
            Identity::AllBut(names) => {
                (Mask::of(plan, |name| is_free(name) && !is_among(names, name)), Mask::default())
            }
        };
        let seen = |are_blobs: bool| {
            vec![Seen::default(); plan.lanes.iter().filter(|lane| lane.is_blob() == are_blobs).count()]
        };
        Self {
            mask,
            candidates,
            counted: candidates,
            ints: seen(false),
            blobs: seen(true),
            events: 0,
            epoch_ns: now_ns,
        }
    }

    /// Bytes that it takes in memory.
    pub(super) fn charged_bytes(&self) -> usize {
        size_of::<Self>() + (self.ints.len() + self.blobs.len()) * size_of::<Seen>()
    }

    /// As it was before a restart.
    pub(super) fn restore(&mut self, mask: Mask) {
        if self.candidates != Mask::default() {
            self.mask.ints = mask.ints & self.candidates.ints;
            self.mask.blobs = mask.blobs & self.candidates.blobs;
        }
    }

    /// Looks at an event's values before they are hashed; `hash` is of a blob.
    pub(super) fn note(&mut self, now_ns: u64, values: &Values<'_>, hash: impl Fn(&[u8]) -> u64) {
        if self.candidates == Mask::default() {
            return;
        }
        for place in places(self.counted.ints) {
            if self.ints[place].note(values.ints[place]) {
                self.counted.ints &= !(1 << place);
                self.mask.ints &= !(1 << place);
            }
        }
        for place in places(self.counted.blobs) {
            if self.blobs[place].note(hash(values.blobs[place])) {
                self.counted.blobs &= !(1 << place);
                self.mask.blobs &= !(1 << place);
            }
        }
        self.events += 1;
        if self.events >= EPOCH_EVENTS || now_ns.saturating_sub(self.epoch_ns) >= EPOCH_NS {
            // Lanes that are still counted had few values for a whole epoch.
            self.mask = self.counted;
            self.counted = self.candidates;
            self.ints.iter_mut().chain(&mut self.blobs).for_each(|seen| *seen = Seen::default());
            (self.events, self.epoch_ns) = (0, now_ns);
        }
    }
}
