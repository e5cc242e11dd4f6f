//! Bounds of the settings.

use std::time::Duration;

/// Packets of a batch by default: the paper found no more than a slight gain beyond it for Snort.
pub const BATCH_FRAMES: u32 = 4000;
/// Fewest packets of a batch: one has nothing to sort.
pub const BATCH_FRAMES_MIN: u32 = 2;
/// Most packets of a batch: 16 bits of an index; four times what the paper measured.
pub const BATCH_FRAMES_MAX: u32 = 65_536;
/// How long a batch is gathered at most, by default: the paper's.
pub const TIMEOUT: Duration = Duration::from_millis(100);
/// Shortest time to gather: the granularity of libpcap's own timeouts.
pub const TIMEOUT_MIN: Duration = Duration::from_millis(1);
/// Longest time to gather: packets delivered later than that look like an outage.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(10);
