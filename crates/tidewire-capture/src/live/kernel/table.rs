use std::{
    hint,
    os::fd::BorrowedFd,
    sync::{
        PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicU64, Ordering::*},
    },
    thread,
};

use super::layout::{
    BUSY, CLOSED, EMPTY, FREED, IS_CUT, KIND_AT, Key, PRIORITY, PROBES, SLOT_WORDS, WITHDRAWN_AT, place, word,
};
use crate::sys::mapped::Mapped;

/// Looks at `done` before the processor is given to somebody else.
const SPINS: u32 = 1000;

/// A flow table from user space: the programs' own memory. Everything here may be done by several threads at once, and
/// while the programs run; `bpf/layout.h` has the rules.
#[derive(Debug)]
pub(super) struct Table {
    memory: Mapped,
    is_v6: bool,
    mask: u32,
    hash_key: [u64; 11],
    /// Between finding an entry and ending it, nobody else may end it, so that it is not another's by then: those who end
    /// entries of their own share it, the sweep has it alone.
    ending: RwLock<()>,
    /// Entries made here, and freed.
    made: AtomicU64,
    freed: AtomicU64,
}

/// What an entry says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Figures {
    pub(super) packets: u64,
    pub(super) wire_bytes: u64,
    pub(super) ip_bytes: u64,
    pub(super) payload_bytes: u64,
    pub(super) end: u32,
    pub(super) last: u32,
    pub(super) tcp_flags: u8,
    pub(super) is_cut: bool,
}

impl Table {
    /// The table in `descriptor`'s map of `slots`, a power of two.
    pub(super) fn new(
        descriptor: BorrowedFd<'_>,
        is_v6: bool,
        slots: u32,
        hash_key: [u64; 11],
    ) -> std::io::Result<Self> {
        let memory = Mapped::new(descriptor, slots as usize * SLOT_WORDS[usize::from(is_v6)] * 8)?;
        let [made, freed] = [0; 2].map(AtomicU64::new);
        Ok(Self { memory, is_v6, mask: slots - 1, hash_key, ending: RwLock::new(()), made, freed })
    }

    /// Held from finding entries of one's own to ending them.
    pub(super) fn shared(&self) -> RwLockReadGuard<'_, ()> {
        self.ending.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Held from finding anybody's entry to ending it.
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

    fn load(slot: &[AtomicU64], at: usize) -> u64 {
        slot.get(at).map_or(0, |word| word.load(Acquire))
    }

    fn store(slot: &[AtomicU64], at: usize, value: u64) {
        if let Some(word) = slot.get(at) {
            word.store(value, Release);
        }
    }

    fn is_of(slot: &[AtomicU64], key: &Key, sum: u64) -> bool {
        let addresses = if key.address.is_some() { sum } else { key.addresses };
        Self::load(slot, word::REST) == key.rest
            && Self::load(slot, word::ADDRESSES) == addresses
            && key.address.is_none_or(|address| {
                (0..4).zip(address).all(|(at, part)| Self::load(slot, word::ADDRESS + at) == part)
            })
    }

    /// The indices of the key's entries. Where two processors met a new direction at once, it may have two.
    pub(super) fn find(&self, key: &Key) -> impl Iterator<Item = u32> {
        let sum = key.sum(&self.hash_key);
        let from = place(sum);
        let key = *key;
        (0..PROBES)
            .map(move |probe| from.wrapping_add(probe))
            .take_while(|index| Self::load(self.slot(*index), word::REST) != EMPTY)
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
            let slot = self.slot(from.wrapping_add(probe));
            let Some(rest) = slot.get(word::REST) else { return false };
            let state = rest.load(Acquire);
            if state > FREED || rest.compare_exchange(state, BUSY, AcqRel, Acquire).is_err() {
                continue;
            }
            Self::store(slot, word::BEGUN, CLOSED);
            Self::store(slot, word::ADDRESSES, if key.address.is_some() { sum } else { key.addresses });
            for (at, part) in key.address.into_iter().flatten().enumerate() {
                Self::store(slot, word::ADDRESS + at, part);
            }
            for at in [word::WIRE_BYTES, word::IP_BYTES, word::PAYLOAD_BYTES] {
                Self::store(slot, at, 0);
            }
            Self::store(slot, word::END_LAST, u64::from(tick) << 32);
            Self::store(slot, word::PASSED_KIND, kind << KIND_AT);
            Self::store(slot, word::REST, key.rest);
            // From here on it can be counted into.
            Self::store(slot, word::BEGUN, 0);
            self.made.fetch_add(1, Relaxed);
            return true;
        }
        false
    }

    /// Whose entry the one at `index` is.
    pub(super) fn key(&self, index: u32) -> Option<Key> {
        let slot = self.slot(index);
        let rest = Some(Self::load(slot, word::REST)).filter(|rest| *rest > BUSY)?;
        let address = [0, 1, 2, 3].map(|at| Self::load(slot, word::ADDRESS + at));
        Some(Key { addresses: Self::load(slot, word::ADDRESSES), rest, address: self.is_v6.then_some(address) })
    }

    /// What the entry at `index` says now. Its figures may be of slightly different moments.
    pub(super) fn read(&self, index: u32) -> Figures {
        let slot = self.slot(index);
        Self::figures(slot, Self::load(slot, word::BEGUN))
    }

    fn figures(slot: &[AtomicU64], begun: u64) -> Figures {
        const COUNT: u64 = (1 << WITHDRAWN_AT) - 1;
        let withdrawn = (begun & !CLOSED) >> WITHDRAWN_AT;
        let (end_last, last_word) = (Self::load(slot, word::END_LAST), Self::load(slot, word::PASSED_KIND));
        Figures {
            packets: (begun & COUNT).saturating_sub(withdrawn),
            wire_bytes: Self::load(slot, word::WIRE_BYTES),
            ip_bytes: Self::load(slot, word::IP_BYTES),
            payload_bytes: Self::load(slot, word::PAYLOAD_BYTES),
            end: end_last as u32,
            last: (end_last >> 32) as u32,
            tcp_flags: (last_word >> (KIND_AT + 8)) as u8,
            is_cut: last_word >> KIND_AT & IS_CUT != 0,
        }
    }

    /// Ends the entry at `index` and gives its last figures: every packet that was counted for it is in them. `None` where
    /// somebody else ended it.
    pub(super) fn end(&self, index: u32) -> Option<Figures> {
        let slot = self.slot(index);
        let begun = slot.get(word::BEGUN)?.fetch_or(CLOSED, AcqRel);
        if begun & CLOSED != 0 {
            return None;
        }
        // Programs that began before are done in less than a microsecond, unless the machine itself is held up.
        let done = |slot| Self::load(slot, word::PASSED_KIND) >> (KIND_AT + 16);
        let mut spins = 0;
        while done(slot) != begun & 0xffff {
            spins += 1;
            if spins < SPINS {
                hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
        // A packet may have been withdrawn since.
        let withdrawn = Self::load(slot, word::BEGUN) & !CLOSED & !0 << WITHDRAWN_AT;
        let begun = begun & ((1 << WITHDRAWN_AT) - 1) | withdrawn;
        let figures = Self::figures(slot, begun);
        Self::store(slot, word::REST, FREED);
        self.freed.fetch_add(1, Relaxed);
        Some(figures)
    }
}
