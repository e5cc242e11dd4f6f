//! Types that loom replaces (`sanitize/`).

pub(super) use std::sync::atomic::{AtomicU64, Ordering};

/// Spins before the processor is yielded.
const SPINS: u32 = 1000;

/// Between two looks at what another thread is about to write, after so many.
pub(super) fn pause(before: u32) {
    if before < SPINS {
        std::hint::spin_loop();
    } else {
        std::thread::yield_now();
    }
}
