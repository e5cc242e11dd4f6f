//! Settings of the outputs of one run.

use tidewire::Stop;
use tidewire_exports::{Origin, eve, table::Table};

use crate::{error::Notify, rotate::Rotate};

/// The source of a run's packets.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Whether records come as time passes, from an interface or a pipe.
    pub is_live: bool,
    /// The interface, if it is one.
    pub interface: Option<String>,
    /// The file, if it is one.
    pub file: Option<String>,
}

impl Source {
    /// The source as records name it.
    #[must_use]
    pub fn origin(&self) -> Origin<'_> {
        Origin { interface: self.interface.as_deref(), file: self.file.as_deref() }
    }
}

/// Settings of the outputs of a run.
#[derive(Clone)]
pub struct Settings {
    /// The source of the packets.
    pub source: Source,
    /// The records as rows; the first table is what the run is about.
    pub tables: &'static [Table],
    /// The first line of comma-separated values.
    pub csv_header: String,
    /// Memory for rows that are gathered and encoded, bytes, for each output of columns.
    pub rows_bytes: u64,
    /// Types of EVE's records that are written.
    pub eve: eve::Types,
    /// The private enterprise number of our own elements of IPFIX; `None`: without them.
    pub enterprise: Option<u32>,
    /// Datagrams a second to a collector; 0: without a limit.
    pub udp_rate: u32,
    /// The time after which a stream that continues has a record in messages, nanoseconds; `None`: at its end only.
    pub active_timeout_ns: Option<u64>,
    /// Limits of a file.
    pub rotate: Rotate,
    /// Ends the run; the outputs raise it where none of them can be written.
    pub stop: Stop,
    /// Where notices go.
    pub notify: Notify,
}

/// Rows of a megabyte; no limits, no interim records, no notices.
impl Default for Settings {
    fn default() -> Self {
        Self {
            source: Source::default(),
            tables: &[],
            csv_header: String::new(),
            rows_bytes: 1 << 20,
            eve: eve::Types::default(),
            enterprise: None,
            udp_rate: 0,
            active_timeout_ns: None,
            rotate: Rotate::default(),
            stop: Stop::new(),
            notify: |_| {},
        }
    }
}
