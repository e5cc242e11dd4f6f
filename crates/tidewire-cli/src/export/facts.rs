//! What outputs are told of a run: before it begins, and when it has ended.

use tidewire_exports::{eve, table::Table};

use crate::clock::Clock;

/// What a run says of itself when it has ended.
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
    /// Its records as rows; the first is what it is about.
    pub tables: &'static [Table],
    /// The first line of its comma-separated values.
    pub csv_header: fn(&Clock) -> String,
    /// Records of EVE.
    pub eve: eve::Types,
    /// The enterprise number of our own elements of IPFIX.
    pub enterprise: Option<u32>,
}
