use std::time::Duration;

use tidewire_live::{Monitor, Worker};

use crate::report::Report;

/// Longest single wait while a device is down.
pub const DOWN_WAIT: Duration = Duration::from_millis(50);

/// State behind the lock.
pub struct Rings {
    pub worker: Worker,
    pub monitor: Monitor,
    /// Whether the program's filter is in the kernel.
    pub has_filter: bool,
    /// Packets that this filter removed in the process.
    pub left_out: u64,
    /// Packets of delivered batches.
    pub delivered: u64,
    /// Whether losses of the devices are counted: only in promiscuous mode.
    pub is_promiscuous: bool,
    /// Losses of the devices, at the last query.
    pub missed: u64,
    pub report: Option<Report>,
}
