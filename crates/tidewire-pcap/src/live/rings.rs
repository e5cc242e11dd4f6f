use std::time::Duration;

use tidewire_live::{Monitor, Worker};

use crate::report::Report;

/// How long to wait at a time while a device is down.
pub const DOWN_WAIT: Duration = Duration::from_millis(50);

/// What is behind the lock.
pub struct Rings {
    pub worker: Worker,
    pub monitor: Monitor,
    /// Whether the program's filter is in the kernel.
    pub has_filter: bool,
    /// Packets that it left out here.
    pub left_out: u64,
    /// Packets of batches that were handed over.
    pub delivered: u64,
    /// Whether what the devices had no room for is counted: the handle wants all that arrives.
    pub is_promiscuous: bool,
    /// What they had no room for, as they said last.
    pub missed: u64,
    pub report: Option<Report>,
}
