//! A cache of recent look-ups. Packets come in trains, and trains of few flows alternate: the key, hash and slot of
//! each direction's last packet serve the next one. A miss costs one comparison and one entry written.

use super::{DirectedKey, Key, NO_SLOT};

/// Directions cached: as many as fit well in the first-level cache.
const ENTRIES: usize = 64;

/// A cached direction. Its slot is a guess; the table compares the key.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    words: DirectedKey,
    pub key: Key,
    /// The key's hash, never 0.
    pub hash: u64,
    pub slot: u32,
    pub from_a: bool,
}

/// A direct-mapped cache by an unkeyed hash: an attacker who chooses colliding flows only makes it useless.
pub(crate) struct LookupCache {
    entries: [Known; ENTRIES],
}

impl LookupCache {
    pub(crate) fn new() -> Self {
        let none = Known { words: DirectedKey::NONE, key: Key::NONE, hash: 0, slot: NO_SLOT, from_a: false };
        Self { entries: [none; ENTRIES] }
    }

    /// The place of a direction in the cache.
    #[inline(always)]
    pub(crate) fn place(words: &DirectedKey) -> u8 {
        (words.mixed() >> (u64::BITS - ENTRIES.ilog2())) as u8
    }

    /// The entry at `place`, if it is of this direction.
    #[inline(always)]
    pub(crate) fn get(&self, place: u8, words: &DirectedKey) -> Option<&Known> {
        let known = &self.entries[place as usize % ENTRIES];
        (known.words == *words && known.hash != 0).then_some(known)
    }

    /// Replaces the entry at `place`.
    #[inline(always)]
    pub(crate) fn put(&mut self, place: u8, words: DirectedKey, key: Key, hash: u64, from_a: bool, slot: u32) {
        self.entries[place as usize % ENTRIES] = Known { words, key, hash, slot, from_a };
    }

    /// Updates the slot of the flow with this hash, if its direction is still at `place`.
    #[inline(always)]
    pub(crate) fn found(&mut self, place: u8, hash: u64, slot: u32) {
        let known = &mut self.entries[place as usize % ENTRIES];
        if known.hash == hash {
            known.slot = slot;
        }
    }
}
