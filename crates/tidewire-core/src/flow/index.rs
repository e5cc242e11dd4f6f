//! The hash index of the flow table: from a keyed hash to a slot number, one cache line for each look-up.

use crate::prefetch::prefetch;

/// Entries of a bucket: with a byte of tag and four bytes of slot each, they fill one line of 64 bytes.
const ENTRIES: usize = 12;
/// Buckets probed before an insertion is refused (and the index grows).
const PROBES_MAX: usize = 8;
/// The index doubles when it has more entries in a bucket than this, on average.
const FILL_MAX: usize = 8;

/// Not a slot.
pub(crate) const NO_SLOT: u32 = u32::MAX;

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Bucket {
    /// 0: free; else a byte of the hash with its top bit set.
    tags: [u8; 16],
    slots: [u32; ENTRIES],
}

// tags[12..16] are not entries: [12] counts entries whose home is this bucket and that are in a later one (saturating
// at 255).
const OVERFLOW: usize = 12;

const EMPTY: Bucket = Bucket { tags: [0; 16], slots: [NO_SLOT; ENTRIES] };

/// Maps hashes to slots. The caller compares the keys.
pub(crate) struct Index {
    buckets: Vec<Bucket>,
    entries: usize,
}

/// The tag is the top bits: the lower ones choose the bucket (of at most 2^24, enough for 200 million flows).
fn tag(hash: u32) -> u8 {
    (hash >> 24) as u8 | 0x80
}

/// Sets the top bit of each of the 8 bytes that equals `tag`; may also mark the byte above a match, never fewer.
#[inline(always)]
fn matches(word: u64, tag: u8) -> u64 {
    const LOW: u64 = 0x0101_0101_0101_0101;
    let difference = word ^ (LOW * u64::from(tag));
    difference.wrapping_sub(LOW) & !difference & (LOW << 7)
}

impl Bucket {
    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.tags[at..at + 8]);
        u64::from_le_bytes(bytes)
    }

    /// Bit i: entry i may match.
    #[inline(always)]
    fn candidates(&self, tag: u8) -> (u64, u64) {
        (matches(self.word(0), tag), matches(self.word(8), tag) & 0x8080_8080)
    }

    #[inline(always)]
    fn find(&self, tag: u8, mut is: impl FnMut(u32) -> bool) -> Option<(usize, u32)> {
        let (mut low, mut high) = self.candidates(tag);
        while low != 0 {
            let at = low.trailing_zeros() as usize / 8;
            if is(self.slots[at]) {
                return Some((at, self.slots[at]));
            }
            low &= low - 1;
        }
        while high != 0 {
            let at = 8 + high.trailing_zeros() as usize / 8;
            if is(self.slots[at]) {
                return Some((at, self.slots[at]));
            }
            high &= high - 1;
        }
        None
    }

    fn free(&self) -> Option<usize> {
        self.tags[..ENTRIES].iter().position(|tag| *tag == 0)
    }
}

impl Index {
    pub(crate) fn new() -> Self {
        Self { buckets: vec![EMPTY; 64], entries: 0 }
    }

    /// Memory allocated, bytes.
    pub(crate) fn bytes(&self) -> u64 {
        (self.buckets.capacity() * size_of::<Bucket>()) as u64
    }

    #[inline(always)]
    fn home(&self, hash: u32) -> usize {
        hash as usize & (self.buckets.len() - 1)
    }

    /// Prefetches the line that a look-up of `hash` begins with.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u32) {
        prefetch(&self.buckets[self.home(hash)]);
    }

    /// The first slot of the home bucket whose tag matches, without comparing keys: for prefetching.
    #[inline(always)]
    pub(crate) fn guess(&self, hash: u32) -> u32 {
        self.buckets[self.home(hash)].find(tag(hash), |_| true).map_or(NO_SLOT, |found| found.1)
    }

    /// The slot for which `is` holds.
    #[inline(always)]
    pub(crate) fn find(&self, hash: u32, mut is: impl FnMut(u32) -> bool) -> Option<u32> {
        let (tag, mut at) = (tag(hash), self.home(hash));
        for _ in 0..PROBES_MAX {
            let bucket = &self.buckets[at];
            if let Some((_, slot)) = bucket.find(tag, &mut is) {
                return Some(slot);
            }
            if bucket.tags[OVERFLOW] == 0 {
                return None;
            }
            at = (at + 1) & (self.buckets.len() - 1);
        }
        None
    }

    /// Adds an entry; `rehash` returns the hash of a slot that is in the index already, for when the index grows.
    pub(crate) fn insert(&mut self, hash: u32, slot: u32, rehash: impl Fn(u32) -> u32) {
        if self.entries >= self.buckets.len() * FILL_MAX {
            self.grow(&rehash);
        }
        while !self.place(hash, slot) {
            self.grow(&rehash);
        }
        self.entries += 1;
    }

    fn place(&mut self, hash: u32, slot: u32) -> bool {
        let mask = self.buckets.len() - 1;
        let home = self.home(hash);
        let Some(steps) = (0..PROBES_MAX).find(|step| self.buckets[(home + step) & mask].free().is_some()) else {
            return false;
        };
        for step in 0..steps {
            let overflow = &mut self.buckets[(home + step) & mask].tags[OVERFLOW];
            *overflow = overflow.saturating_add(1);
        }
        let bucket = &mut self.buckets[(home + steps) & mask];
        if let Some(at) = bucket.free() {
            bucket.tags[at] = tag(hash);
            bucket.slots[at] = slot;
        }
        true
    }

    /// Doubles the index until every entry has a place within the probe bound.
    fn grow(&mut self, rehash: &impl Fn(u32) -> u32) {
        let old = std::mem::take(&mut self.buckets);
        let mut size = old.len() * 2;
        loop {
            self.buckets = vec![EMPTY; size];
            let entries = old.iter().flat_map(|bucket| bucket.tags[..ENTRIES].iter().zip(bucket.slots));
            if entries.filter(|(tag, _)| **tag != 0).all(|(_, slot)| self.place(rehash(slot), slot)) {
                return;
            }
            size *= 2;
        }
    }

    /// Removes an entry.
    pub(crate) fn remove(&mut self, hash: u32, slot: u32) {
        let Some(steps) = self.with_entry(hash, slot, |bucket, at| {
            bucket.tags[at] = 0;
            bucket.slots[at] = NO_SLOT;
        }) else {
            return;
        };
        self.entries -= 1;
        let (mask, home) = (self.buckets.len() - 1, self.home(hash));
        for step in 0..steps {
            let overflow = &mut self.buckets[(home + step) & mask].tags[OVERFLOW];
            // A saturated count is not exact and cannot be decremented.
            if *overflow != u8::MAX {
                *overflow = overflow.saturating_sub(1);
            }
        }
    }

    fn with_entry(&mut self, hash: u32, slot: u32, act: impl FnOnce(&mut Bucket, usize)) -> Option<usize> {
        let (mask, home) = (self.buckets.len() - 1, self.home(hash));
        for step in 0..PROBES_MAX {
            let bucket = &mut self.buckets[(home + step) & mask];
            if let Some((at, _)) = bucket.find(tag(hash), |other| other == slot) {
                act(bucket, at);
                return Some(step);
            }
            if bucket.tags[OVERFLOW] == 0 {
                return None;
            }
        }
        None
    }
}
