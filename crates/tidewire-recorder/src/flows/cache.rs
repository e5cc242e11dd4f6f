//! Packets come in trains, and most of the rest belongs to flows of a moment ago: those are found without the table's keyed hash.

use super::key::Keyed;

/// 64 KiB: the part of a cache that a core has to itself holds them.
const ENTRIES: usize = 8192;

/// Where the flow was whose key has these bits in its hash.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    slot: u32,
}

/// Places of flows that were looked up last. Who makes keys that collide makes lookups in the table, no more.
#[derive(Debug)]
pub(super) struct Cache(Vec<Entry>);

impl Cache {
    pub fn new() -> Self {
        Self(vec![Entry { hash: 0, slot: u32::MAX }; ENTRIES])
    }

    #[inline]
    fn place(keyed: &Keyed) -> (usize, u32) {
        let [a, b, c, d, ports, rest] = keyed.key.0;
        let folded = (a ^ b).rotate_left(32) ^ c ^ d ^ ports.rotate_left(16) ^ rest.rotate_left(7);
        let mixed = folded.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed >> 51) as usize % ENTRIES, mixed as u32)
    }

    /// Where the flow may be: what has that place now is to be compared.
    #[inline]
    pub fn find(&self, keyed: &Keyed) -> Option<u32> {
        let (place, hash) = Self::place(keyed);
        self.0.get(place).filter(|entry| entry.hash == hash).map(|entry| entry.slot)
    }

    pub fn set(&mut self, keyed: &Keyed, slot: u32) {
        let (place, hash) = Self::place(keyed);
        if let Some(entry) = self.0.get_mut(place) {
            *entry = Entry { hash, slot };
        }
    }
}
