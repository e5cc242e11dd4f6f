//! The atomics of the rings, and copies of many. The models of `sanitize/` put loom's here.

pub(super) use std::sync::atomic::{AtomicU64, Ordering, fence};

pub(super) use crate::sys::{load_bytes, store_bytes};

/// Writes a slot.
#[inline]
pub(super) fn store_words<const N: usize>(slot: &[AtomicU64], words: [u64; N]) {
    for (word, value) in slot.iter().zip(words) {
        word.store(value, Ordering::Relaxed);
    }
}

/// Reads a slot, which has as many words.
#[inline]
pub(super) fn load_words<const N: usize>(slot: &[AtomicU64]) -> [u64; N] {
    std::array::from_fn(|at| slot[at].load(Ordering::Relaxed))
}
