//! Packets come in trains, and most of the rest belongs to flows of a moment ago: those are found without the table's keyed hash.

use tidewire::prefetch::prefetch;

use super::key::Keyed;

/// 64 KiB: the part of a cache that a core has to itself holds them.
const SETS: usize = 4096;
/// Flows that share a set: of 1,000 flows, one in 50 finds no place in sets of two, and one in nine without.
const WAYS: usize = 2;

/// Where the flow was whose key has these bits in its hash.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    slot: u32,
}

/// Places of flows that were looked up last. Who makes keys that collide makes lookups in the table, no more.
#[derive(Debug)]
pub(super) struct Cache(Vec<[Entry; WAYS]>);

impl Cache {
    pub fn new() -> Self {
        Self(vec![[Entry { hash: 0, slot: u32::MAX }; WAYS]; SETS])
    }

    #[inline]
    fn place(keyed: &Keyed) -> (usize, u32) {
        ((keyed.mixed >> 52) as usize % SETS, (keyed.mixed >> 20) as u32)
    }

    /// Fetches what [`find`](Self::find) will look at.
    #[inline]
    pub fn prefetch(&self, keyed: &Keyed) {
        if let Some(set) = self.0.get(Self::place(keyed).0) {
            prefetch(set);
        }
    }

    /// Where the flow may be: what has that place now is to be compared.
    #[inline]
    pub fn find(&self, keyed: &Keyed) -> Option<u32> {
        let (place, hash) = Self::place(keyed);
        let set = self.0.get(place)?;
        set.iter().find(|entry| entry.hash == hash).map(|entry| entry.slot)
    }

    /// Notes where a flow is, in place of the one of its set that was noted first.
    pub fn set(&mut self, keyed: &Keyed, slot: u32) {
        let (place, hash) = Self::place(keyed);
        if let Some([newest, oldest]) = self.0.get_mut(place) {
            if newest.hash != hash {
                *oldest = *newest;
            }
            *newest = Entry { hash, slot };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::Key;

    #[test]
    fn two_flows_of_a_set_are_both_found() {
        // Keys that differ by what the hash leaves in its place: found by trying.
        let keyed = |number: u64| Keyed::new(Key([number, 0, 0, 0, 0, 0]), true);
        let place = |number: u64| Cache::place(&keyed(number)).0;
        let same: Vec<u64> = (0..100_000).filter(|&number| place(number) == place(1)).take(3).collect();
        let mut cache = Cache::new();
        for (slot, &number) in same.iter().enumerate() {
            cache.set(&keyed(number), slot as u32);
        }
        let found: Vec<_> = same.iter().map(|&number| cache.find(&keyed(number))).collect();
        assert_eq!(found, [None, Some(1), Some(2)], "the first that was noted made room");
        cache.set(&keyed(same[2]), 7);
        assert_eq!((cache.find(&keyed(same[2])), cache.find(&keyed(same[1]))), (Some(7), Some(1)));
    }
}
