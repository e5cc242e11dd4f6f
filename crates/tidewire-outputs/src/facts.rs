//! Counters of a run, as its outputs report them.

use std::time::Duration;

use tidewire::{Fate, Ledger};

/// Counters and circumstances of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// Packets that were received.
    pub packets: u64,
    /// Their captured bytes.
    pub bytes: u64,
    /// Packets that belong to no flow.
    pub ignored: u64,
    /// Packets lost before they could be read; `None` for files.
    pub dropped: Option<u64>,
    /// Seconds since the run began.
    pub uptime: u64,
}

impl Facts {
    /// Of a run's ledger. `dropped`: packets lost before they could be read; `None` for files.
    pub fn of(ledger: &Ledger, dropped: Option<u64>, uptime: Duration) -> Self {
        let in_streams: u64 = Fate::ALL.iter().filter(|fate| fate.is_in_stream()).map(|&fate| ledger.fate(fate)).sum();
        Self {
            packets: ledger.received,
            bytes: ledger.received_bytes,
            ignored: ledger.received.saturating_sub(in_streams),
            dropped,
            uptime: uptime.as_secs(),
        }
    }
}
