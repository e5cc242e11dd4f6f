//! A bound on the bitmaps of ports that are in use at a time.

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

/// Bitmaps of one part of a table at most, of 8 KiB each: with 16 parts 8 MiB in all. Only scans of more than 64 ports have one.
pub(super) const BITMAPS_MAX: u32 = 64;

/// Bitmaps that are in use.
#[derive(Clone, Debug, Default)]
pub(super) struct Leases(Arc<AtomicU32>);

impl Leases {
    /// Counts another one, if there may be more.
    pub(super) fn take(&self) -> bool {
        let more = |used: u32| (used < BITMAPS_MAX).then_some(used + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// Counts one less.
    pub(super) fn give_back(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    #[cfg(test)]
    pub(super) fn used(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}
