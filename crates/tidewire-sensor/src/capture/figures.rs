//! Figures that the capture's threads share: written by the engine's thread, read by the one that reports.

use std::sync::atomic::{AtomicU64, Ordering};

use tidewire::live::LiveReport;

/// Packets so far, and those that were lost before the engine.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    packets: AtomicU64,
    dropped: AtomicU64,
}

impl Figures {
    /// Packets read from files.
    pub(crate) fn read(&self, packets: u64) {
        self.packets.store(packets, Ordering::Relaxed);
    }

    /// Packets of interfaces.
    pub(crate) fn captured(&self, report: &LiveReport) {
        let rings = report.rings();
        self.packets.store(report.frames(), Ordering::Relaxed);
        self.dropped.store(rings.dropped + rings.failed, Ordering::Relaxed);
    }

    pub(crate) fn packets(&self) -> u64 {
        self.packets.load(Ordering::Relaxed)
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}
