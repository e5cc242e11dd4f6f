//! A bounded table by keyed hash: buckets of eight; who has shown least leaves a full one.

use std::hash::{BuildHasher as _, Hash, RandomState};

/// Entries of a bucket.
const WAYS: usize = 8;

/// Digest that is compared before an entry is touched. A bucket's heads are on two cache lines.
#[derive(Clone, Copy, Default)]
struct Head {
    /// A part of the key's hash, never 0; 0: empty.
    tag: u32,
    /// Evidence of the entry.
    weight: u32,
    /// Second of its last change.
    last_s: u32,
}

/// Entries by key.
pub(super) struct Table<K, V> {
    heads: Vec<Head>,
    entries: Vec<Option<Box<(K, V)>>>,
    hasher: RandomState,
    bucket_mask: usize,
}

/// An entry that left for another.
pub(super) type Left<K, V> = Option<Box<(K, V)>>;

impl<K: Hash + Eq, V> Table<K, V> {
    /// A table of at least so many entries, rounded up to a power of two.
    pub(super) fn new(entries: usize) -> Self {
        let buckets = entries.div_ceil(WAYS).next_power_of_two();
        let mut table = Self {
            heads: vec![Head::default(); buckets * WAYS],
            entries: Vec::new(),
            hasher: RandomState::new(),
            bucket_mask: buckets - 1,
        };
        table.entries.resize_with(buckets * WAYS, || None);
        table
    }

    /// The place of a key's entry, which is made if it is not there; and the entry that left for it. Entries that did not
    /// change since `expired_s` leave first, then those of the least weight, then the oldest.
    pub(super) fn place(&mut self, key: K, expired_s: u32, make: impl FnOnce() -> V) -> (usize, Left<K, V>) {
        let hash = self.hasher.hash_one(&key);
        let (bucket, tag) = (hash as usize & self.bucket_mask, (hash >> 32) as u32 | 1);
        let first = bucket * WAYS;
        let mut victim = (first, (u8::MAX, u32::MAX, u32::MAX));
        for place in first..first + WAYS {
            let head = self.heads[place];
            if head.tag == tag && self.entries[place].as_ref().is_some_and(|entry| entry.0 == key) {
                return (place, None);
            }
            let rank = match head.tag {
                0 => (0, 0, 0),
                _ if head.last_s < expired_s => (1, 0, head.last_s),
                _ => (2, head.weight, head.last_s),
            };
            if rank < victim.1 {
                victim = (place, rank);
            }
        }
        let place = victim.0;
        let left = self.entries[place].replace(Box::new((key, make())));
        self.heads[place] = Head { tag, weight: 0, last_s: 0 };
        (place, left)
    }

    /// An entry that is there.
    pub(super) fn get(&mut self, place: usize) -> Option<&mut (K, V)> {
        self.entries[place].as_deref_mut()
    }

    /// Notes what an entry has shown, and when.
    pub(super) fn weigh(&mut self, place: usize, weight: u32, last_s: u32) {
        let head = &mut self.heads[place];
        (head.weight, head.last_s) = (weight, head.last_s.max(last_s));
    }

    /// Removes an entry.
    pub(super) fn remove(&mut self, place: usize) -> Left<K, V> {
        self.heads[place] = Head::default();
        self.entries[place].take()
    }

    /// Removes every entry.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = Box<(K, V)>> {
        self.heads.fill(Head::default());
        self.entries.iter_mut().filter_map(Option::take)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_keys_does_not_displace_who_has_shown_more() {
        let mut table: Table<u32, u32> = Table::new(256);
        for key in 0..8 {
            let (place, left) = table.place(key, 0, || key);
            assert!(left.is_none());
            table.weigh(place, 2, 100);
        }
        for key in 1000..100_000 {
            let (place, _) = table.place(key, 0, || key);
            table.weigh(place, 1, 200);
        }
        for key in 0..8 {
            let (place, left) = table.place(key, 0, || u32::MAX);
            assert!(left.is_none());
            assert_eq!(table.get(place).unwrap().1, key);
        }
        assert_eq!(table.drain().count(), 256);
    }

    #[test]
    fn what_is_expired_leaves_first() {
        let mut table: Table<u32, ()> = Table::new(1);
        for key in 0..WAYS as u32 {
            let (place, _) = table.place(key, 0, || ());
            table.weigh(place, if key == 5 { 1000 } else { 1 }, if key == 5 { 10 } else { 50 });
        }
        let (_, left) = table.place(99, 20, || ());
        assert_eq!(left.unwrap().0, 5);
    }
}
