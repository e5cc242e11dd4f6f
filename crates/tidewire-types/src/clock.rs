//! The system's clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// The time now, nanoseconds since 1970; 0 before that.
#[must_use]
pub fn wall_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}
