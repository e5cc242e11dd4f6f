use std::{
    os::fd::BorrowedFd,
    sync::{
        PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering::*},
    },
};

pub(super) use super::entry::Figures;
use super::{
    entry::{self, load},
    layout::{BUSY, EMPTY, IS_CUT, KIND_AT, Key, PRIORITY, PROBES, SLOT_WORDS, place, word},
};
use crate::sys::mmap_array::MmapArray;

/// A flow table from user space: the programs' own memory. Everything here may be done by several threads at once, and
/// while the programs run; `bpf/layout.h` has the rules.
#[derive(Debug)]
pub(super) struct Table {
    memory: MmapArray,
    is_v6: bool,
    mask: u32,
    hash_key: [u64; 11],
    /// Held from finding an entry to ending it, so that the entry is not reused in between: engines, which end their own
    /// entries, share the lock; the sweep holds it exclusively.
    ending: RwLock<()>,
    /// Entries made here, and freed.
    made: AtomicU64,
    freed: AtomicU64,
}

impl Table {
    /// The table in `descriptor`'s map of `slots`, a power of two.
    pub(super) fn new(
        descriptor: BorrowedFd<'_>,
        is_v6: bool,
        slots: u32,
        hash_key: [u64; 11],
    ) -> std::io::Result<Self> {
        let memory = MmapArray::new(descriptor, slots as usize * SLOT_WORDS[usize::from(is_v6)] * 8)?;
        let [made, freed] = [0; 2].map(AtomicU64::new);
        Ok(Self { memory, is_v6, mask: slots - 1, hash_key, ending: RwLock::new(()), made, freed })
    }

    /// Held while an engine finds and ends its own entries.
    pub(super) fn shared(&self) -> RwLockReadGuard<'_, ()> {
        self.ending.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held while the sweep finds and ends any entry.
    pub(super) fn alone(&self) -> RwLockWriteGuard<'_, ()> {
        self.ending.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Entries made and freed by user space.
    pub(super) fn made_and_freed(&self) -> [u64; 2] {
        [self.made.load(Relaxed), self.freed.load(Relaxed)]
    }

    pub(super) fn slots(&self) -> u32 {
        self.mask + 1
    }

    /// A slot's words; none beyond the table.
    fn slot(&self, index: u32) -> &[AtomicU64] {
        let words = SLOT_WORDS[usize::from(self.is_v6)];
        let at = (index & self.mask) as usize * words;
        self.memory.words().get(at..at + words).unwrap_or_default()
    }

    fn is_of(slot: &[AtomicU64], key: &Key, sum: u64) -> bool {
        let addresses = if key.address.is_some() { sum } else { key.addresses };
        load(slot, word::REST) == key.rest
            && load(slot, word::ADDRESSES) == addresses
            && key
                .address
                .is_none_or(|address| (0..4).zip(address).all(|(at, part)| load(slot, word::ADDRESS + at) == part))
    }

    /// The indices of the key's entries. Where two processors met a new direction at once, it may have two.
    pub(super) fn find(&self, key: &Key) -> impl Iterator<Item = u32> {
        let sum = key.sum(&self.hash_key);
        let from = place(sum);
        let key = *key;
        (0..PROBES)
            .map(move |probe| from.wrapping_add(probe))
            .take_while(|index| load(self.slot(*index), word::REST) != EMPTY)
            .filter(move |index| Self::is_of(self.slot(*index), &key, sum))
    }

    /// Makes an entry (in the tick `tick`, or somewhat later), or changes the kind of the one that there is. False: there
    /// is no room.
    pub(super) fn set(&self, key: &Key, is_cut: bool, priority: Option<u8>, tick: u32) -> bool {
        let kind = |before: u64| {
            let cut = if is_cut { IS_CUT } else { before & IS_CUT };
            cut | priority.map_or(before & PRIORITY, |priority| u64::from(priority) & PRIORITY)
        };
        let mut found = false;
        for index in self.find(key) {
            if let Some(last) = self.slot(index).get(word::PASSED_KIND) {
                let change = |before: u64| {
                    let new = kind(before >> KIND_AT & 0xff);
                    Some(before & !(0xff << KIND_AT) | new << KIND_AT)
                };
                let _ = last.fetch_update(AcqRel, Acquire, change);
                found = true;
            }
        }
        found || self.make(key, kind(0), tick)
    }

    fn make(&self, key: &Key, kind: u64, tick: u32) -> bool {
        let sum = key.sum(&self.hash_key);
        let from = place(sum);
        for probe in 0..PROBES {
            if entry::make(self.slot(from.wrapping_add(probe)), key, sum, kind, tick) {
                self.made.fetch_add(1, Relaxed);
                return true;
            }
        }
        false
    }

    /// Whose entry the one at `index` is.
    pub(super) fn key(&self, index: u32) -> Option<Key> {
        let slot = self.slot(index);
        let rest = Some(load(slot, word::REST)).filter(|rest| *rest > BUSY)?;
        let address = [0, 1, 2, 3].map(|at| load(slot, word::ADDRESS + at));
        Some(Key { addresses: load(slot, word::ADDRESSES), rest, address: self.is_v6.then_some(address) })
    }

    /// Reads the figures of the entry at `index`. They may be of slightly different moments.
    pub(super) fn read(&self, index: u32) -> Figures {
        entry::read(self.slot(index))
    }

    /// Ends the entry at `index` and gives its last figures: every packet that was counted for it is in them. `None` if it was
    /// ended concurrently.
    pub(super) fn end(&self, index: u32) -> Option<Figures> {
        let figures = entry::end(self.slot(index))?;
        self.freed.fetch_add(1, Relaxed);
        Some(figures)
    }
}
