//! Facts about a run for its outputs: before it begins, while it runs, and when it has ended.

use std::time::Duration;

use tidewire::{Fate, Ledger};
use tidewire_exports::{eve, table::Table};

use crate::clock::Clock;

/// What a run says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    pub packets: u64,
    pub bytes: u64,
    /// Packets that belong to no flow.
    pub ignored: u64,
    /// Packets lost before they could be read; `None` for files.
    pub dropped: Option<u64>,
    pub uptime: u64,
}

impl Facts {
    /// Of a run's ledger. `dropped`: packets lost before they could be read; `None` for files.
    pub fn of(ledger: &Ledger, dropped: Option<u64>, uptime: Duration) -> Self {
        const OF_FLOWS: [Fate; 8] = [
            Fate::Tracked,
            Fate::BeyondCutoff,
            Fate::Discarded,
            Fate::Shed,
            Fate::Ignored,
            Fate::HeaderCut,
            Fate::Aggregate,
            Fate::FragmentRebuilt,
        ];
        let in_flows: u64 = OF_FLOWS.iter().map(|&fate| ledger.fate(fate)).sum();
        Self {
            packets: ledger.received,
            bytes: ledger.received_bytes,
            ignored: ledger.received.saturating_sub(in_flows),
            dropped,
            uptime: uptime.as_secs(),
        }
    }
}

/// Where a run's packets come from.
#[derive(Clone, Debug, Default)]
pub struct Source {
    pub is_live: bool,
    /// The interface, if it is one.
    pub interface: Option<String>,
    /// The file, if it is one.
    pub file: Option<String>,
}

/// What a subcommand writes.
#[derive(Clone, Copy)]
pub struct Content {
    /// Memory for rows that are gathered and encoded, bytes.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "only Parquet and Arrow gather rows"))]
    pub rows_bytes: u64,
    /// Its records as rows; the first is what it is about.
    pub tables: &'static [Table],
    /// The first line of its comma-separated values.
    pub csv_header: fn(&Clock) -> String,
    /// Records of EVE.
    pub eve: eve::Types,
    /// The enterprise number of our own elements of IPFIX.
    pub enterprise: Option<u32>,
    /// Datagrams a second to a collector.
    pub udp_rate: u32,
    /// How long a stream goes on before there is a record of it, nanoseconds; `None`: until its end.
    pub active_timeout_ns: Option<u64>,
}
