//! Packets that were seen a moment ago.

use super::{COPY_NS_MAX, Fingerprint, REMEMBERED_PACKETS, REPEAT_NS_MAX};
use crate::{DuplicateRule, prefetch::prefetch};

/// Entries of a bucket: their digests fill a cache line.
const WAYS: usize = 8;
const BUCKETS: usize = REMEMBERED_PACKETS / WAYS;
/// Places at which one packet is distinguished: a container's interface, bridges, bonds and VLANs above a card.
const PLACES: usize = 8;
/// Directions whose identifications are remembered.
const PAIRS: usize = 1 << 12;

/// A packet that was delivered, and how often it was seen where.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Entry {
    /// Timestamp of the packet that was delivered last.
    time_ns: u64,
    places: [u32; PLACES],
    counts: [u8; PLACES],
    /// Places in use.
    used: u8,
    /// The greatest of the counts: so many packets were delivered.
    most: u8,
    /// Whether a mirror's second copy of the packet that was delivered last has not come yet.
    awaits_copy: bool,
    checksum: u16,
    is_unfinished: bool,
}

impl Entry {
    const NONE: Self = Self {
        time_ns: 0,
        places: [0; PLACES],
        counts: [0; PLACES],
        used: 0,
        most: 0,
        awaits_copy: false,
        checksum: 0,
        is_unfinished: false,
    };

    fn begin(&mut self, seen: &Fingerprint, time_ns: u64) {
        self.time_ns = time_ns;
        self.places[0] = seen.place;
        self.counts = [0; PLACES];
        self.counts[0] = 1;
        (self.used, self.most, self.awaits_copy) = (1, 1, true);
        (self.checksum, self.is_unfinished) = (seen.checksum, seen.is_unfinished);
    }

    /// Whether a packet that was seen before is a copy.
    fn is_repeated(&mut self, rule: DuplicateRule, seen: &Fingerprint, time_ns: u64, is_identified: bool) -> bool {
        let used = usize::from(self.used).min(PLACES);
        let Some(place) = self.places[..used].iter().position(|place| *place == seen.place) else {
            if !seen.agrees(self.checksum, self.is_unfinished) {
                // The bytes that are not compared differ.
                self.begin(seen, time_ns);
                return false;
            }
            // Broadcasts are flooded to more ports than there is room for.
            if used < PLACES {
                (self.places[used], self.counts[used]) = (seen.place, 1);
                self.used += 1;
            }
            return true;
        };
        if self.counts[place] == u8::MAX {
            // Only differences count.
            self.counts.iter_mut().for_each(|count| *count = count.saturating_sub(128));
            self.most -= 128;
        }
        let count = self.counts[place] + 1;
        if count <= self.most {
            self.counts[place] = count;
            return true;
        }
        let is_near = time_ns.abs_diff(self.time_ns) <= REPEAT_NS_MAX && seen.checksum == self.checksum;
        if is_near && is_identified && rule != DuplicateRule::Places {
            return true;
        }
        (self.counts[place], self.most) = (count, count);
        // Of packets that nothing distinguishes, a mirror shows each twice.
        if is_near && rule == DuplicateRule::Doubled && self.awaits_copy {
            self.awaits_copy = false;
            return true;
        }
        (self.time_ns, self.awaits_copy) = (time_ns, true);
        (self.checksum, self.is_unfinished) = (seen.checksum, seen.is_unfinished);
        false
    }
}

/// The last identification of a direction.
#[derive(Clone, Copy, Default)]
struct Pair {
    pair: u32,
    id: u16,
    /// The content that had it.
    content: u32,
    /// Whether another packet had the same: identifications of this sender say nothing.
    is_constant: bool,
}

/// Decides which packets are copies. See [`DuplicateRule`] for the rules.
///
/// Identical packets may all be genuine (duplicate acknowledgments have no identification in IPv6), and each of them may be
/// seen at several places. So packets are counted by place, and a packet is delivered when its place has seen more of them than
/// were delivered: in total as many as the place that saw the most.
pub(crate) struct DuplicateTable {
    rule: DuplicateRule,
    /// Digests by bucket; 0: no entry.
    contents: Vec<[u64; WAYS]>,
    entries: Vec<[Entry; WAYS]>,
    /// The entry of each bucket that is replaced next.
    next: Vec<u8>,
    pairs: Vec<Pair>,
}

impl DuplicateTable {
    /// A table for a rule; `None` if every packet is kept.
    pub(crate) fn new(rule: DuplicateRule) -> Option<Box<Self>> {
        if rule == DuplicateRule::Keep {
            return None;
        }
        let pairs = if rule == DuplicateRule::Places { 0 } else { PAIRS };
        Some(Box::new(Self {
            rule,
            contents: vec![[0; WAYS]; BUCKETS],
            entries: vec![[Entry::NONE; WAYS]; BUCKETS],
            next: vec![0; BUCKETS],
            pairs: vec![Pair::default(); pairs],
        }))
    }

    fn bucket(seen: &Fingerprint) -> usize {
        (seen.content >> 32) as usize % BUCKETS
    }

    /// Prefetches what [`is_copy`](Self::is_copy) reads.
    #[inline]
    pub(crate) fn prefetch(&self, seen: &Fingerprint) {
        if let Some(contents) = self.contents.get(Self::bucket(seen)) {
            prefetch(contents);
        }
    }

    /// Whether a packet is a copy of one that was delivered; remembers it.
    pub(crate) fn is_copy(&mut self, seen: &Fingerprint, time_ns: u64) -> bool {
        let is_identified = self.note_id(seen);
        let bucket = Self::bucket(seen);
        let (Some(contents), Some(entries), Some(next)) =
            (self.contents.get_mut(bucket), self.entries.get_mut(bucket), self.next.get_mut(bucket))
        else {
            return false;
        };
        let known = contents.iter().position(|content| *content == seen.content);
        let way = known.unwrap_or(usize::from(*next)) % WAYS;
        let entry = &mut entries[way];
        if known.is_some() && time_ns.abs_diff(entry.time_ns) <= COPY_NS_MAX {
            return entry.is_repeated(self.rule, seen, time_ns, is_identified);
        }
        if known.is_none() {
            contents[way] = seen.content;
            *next = (*next + 1) % WAYS as u8;
        }
        entry.begin(seen, time_ns);
        false
    }

    /// Notes the identification. Whether it identifies the packet: there is one, and the sender's differ.
    fn note_id(&mut self, seen: &Fingerprint) -> bool {
        if seen.id == 0 || self.pairs.is_empty() {
            return false;
        }
        let last = &mut self.pairs[seen.pair as usize % PAIRS];
        let content = seen.content as u32;
        let is_same = last.pair == seen.pair;
        let is_constant = is_same && last.id == seen.id && (last.is_constant || last.content != content);
        *last = Pair { pair: seen.pair, id: seen.id, content, is_constant };
        !is_constant
    }
}
