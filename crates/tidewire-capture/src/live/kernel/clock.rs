use super::layout::LAST_SHIFT;
use crate::sys::wait::{monotonic_ns, now_ns};

/// How long one comparison of the two clocks is used, nanoseconds.
const VALID_NS: u64 = 1_000_000_000;

/// Turns the programs' notion of time (monotonic, in units of 2^20 ns, 32 bits of them) into that of frames' timestamps
/// (nanoseconds since the epoch).
///
/// The two clocks run alike but where someone sets the time; they are compared again every second. Results are too early by
/// at most one unit (1.05 ms) and one tick of the kernel (1 to 10 ms), never late.
#[derive(Debug)]
pub(super) struct Clock {
    compared_ns: u64,
    /// Epoch less monotonic.
    ahead_ns: u64,
}

impl Clock {
    pub(super) fn new() -> Self {
        let compared_ns = monotonic_ns();
        Self { compared_ns, ahead_ns: now_ns().saturating_sub(compared_ns) }
    }

    /// When `last` was, which is in the past.
    pub(super) fn epoch_ns(&mut self, last: u32) -> u64 {
        let now = monotonic_ns();
        if now - self.compared_ns > VALID_NS {
            *self = Self::new();
        }
        self.ahead_ns + (now - age_ns(last, now))
    }
}

/// How long ago `last` was, nanoseconds, at `now` of the monotonic clock; at most the 52 days that 32 bits hold.
pub(super) fn age_ns(last: u32, now_ns: u64) -> u64 {
    let units = ((now_ns >> LAST_SHIFT) as u32).wrapping_sub(last);
    (now_ns & ((1 << LAST_SHIFT) - 1)) + (u64::from(units) << LAST_SHIFT)
}
