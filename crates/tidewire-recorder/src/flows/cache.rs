//! Packets come in trains, and most of the rest belongs to flows of a moment ago: those are found without the table's keyed hash.

use tidewire::prefetch::prefetch;

use super::key::Keyed;

/// Bits of the number of sets. At first 64 KiB: the part of a cache that a core has to itself holds them. At most 2 MiB: what is fetched before
/// it is needed may come from farther, and is cheaper than the table's keyed hash and its keys all the same.
const SET_BITS_MIN: u32 = 12;
const SET_BITS_MAX: u32 = 17;
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
pub(super) struct Cache {
    sets: Vec<[Entry; WAYS]>,
    bits: u32,
}

impl Cache {
    pub fn new() -> Self {
        Self::of(SET_BITS_MIN)
    }

    fn of(bits: u32) -> Self {
        Self { sets: vec![[Entry { hash: 0, slot: u32::MAX }; WAYS]; 1 << bits], bits }
    }

    /// Makes room for so many flows, where there is too little: places are noted again with the next packets.
    #[inline]
    pub fn make_room(&mut self, flows: usize) {
        if flows > self.sets.len() && self.bits < SET_BITS_MAX {
            *self = Self::of((flows.next_power_of_two().ilog2() + 1).min(SET_BITS_MAX));
        }
    }

    #[inline]
    fn place(&self, keyed: &Keyed) -> (usize, u32) {
        ((keyed.mixed >> (u64::BITS - self.bits)) as usize, (keyed.mixed >> 15) as u32)
    }

    /// Fetches what [`find`](Self::find) will look at.
    #[inline]
    pub fn prefetch(&self, keyed: &Keyed) {
        if let Some(set) = self.sets.get(self.place(keyed).0) {
            prefetch(set);
        }
    }

    /// Where the flow may be: what has that place now is to be compared.
    #[inline]
    pub fn find(&self, keyed: &Keyed) -> Option<u32> {
        let (place, hash) = self.place(keyed);
        let set = self.sets.get(place)?;
        set.iter().find(|entry| entry.hash == hash).map(|entry| entry.slot)
    }

    /// Notes where a flow is, in place of the one of its set that was noted first.
    pub fn set(&mut self, keyed: &Keyed, slot: u32) {
        let (place, hash) = self.place(keyed);
        if let Some([newest, oldest]) = self.sets.get_mut(place) {
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
        let mut cache = Cache::new();
        let place = |number: u64| cache.place(&keyed(number)).0;
        let same: Vec<u64> = (0..100_000).filter(|&number| place(number) == place(1)).take(3).collect();
        for (slot, &number) in same.iter().enumerate() {
            cache.set(&keyed(number), slot as u32);
        }
        let found: Vec<_> = same.iter().map(|&number| cache.find(&keyed(number))).collect();
        assert_eq!(found, [None, Some(1), Some(2)], "the first that was noted made room");
        cache.set(&keyed(same[2]), 7);
        assert_eq!((cache.find(&keyed(same[2])), cache.find(&keyed(same[1]))), (Some(7), Some(1)));
    }

    #[test]
    fn most_of_many_flows_are_found() {
        let mut cache = Cache::new();
        let keyed = |number: u64| Keyed::new(Key([number, 0, 0, 0, 0, 0]), true);
        for (flows, least) in [(1000, 970), (20_000, 19_400), (100_000, 94_000), (1_000_000, 200_000)] {
            cache.make_room(flows);
            (0..flows).for_each(|flow| cache.set(&keyed(flow as u64), flow as u32));
            let is_found = |flow: &usize| cache.find(&keyed(*flow as u64)) == Some(*flow as u32);
            let found = (0..flows).filter(is_found).count();
            assert!(found >= least && cache.sets.len() * size_of::<[Entry; WAYS]>() <= 2 << 20, "{found} of {flows}");
        }
    }
}
