//! Figures that the capture's threads share: written by the engine's thread, read by the one that reports.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use tidewire::{
    Ledger,
    live::{InterfaceReport, LiveReport},
};

use crate::report::{InputStatus, LedgerStatus};

/// Packets so far, those that were lost before the engine, and where they come from.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    packets: AtomicU64,
    dropped: AtomicU64,
    ledger: Mutex<LedgerStatus>,
    interfaces: Mutex<Vec<InputStatus>>,
}

fn input(interface: &InterfaceReport) -> InputStatus {
    InputStatus {
        name: interface.name.clone(),
        current_name: interface.current_name.clone(),
        state: interface.state.name().into(),
        frames: interface.counts.map_or(0, |counts| counts.rx_packets.saturating_add(counts.tx_packets)),
        idle_seconds: interface.idle.map(|idle| idle.as_secs_f64()),
    }
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
        self.counted(&report.ledger());
        let mut interfaces = self.interfaces.lock().unwrap_or_else(PoisonError::into_inner);
        *interfaces = report.interfaces.iter().map(input).collect();
    }

    /// The engine's ledger.
    pub(crate) fn counted(&self, ledger: &Ledger) {
        *self.ledger.lock().unwrap_or_else(PoisonError::into_inner) = LedgerStatus::of(ledger);
    }

    /// The ledger, as of the last report.
    pub(crate) fn ledger(&self) -> LedgerStatus {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn packets(&self) -> u64 {
        self.packets.load(Ordering::Relaxed)
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// The interfaces, as of the last report.
    pub(crate) fn interfaces(&self) -> Vec<InputStatus> {
        self.interfaces.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
