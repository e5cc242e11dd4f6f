//! Settings of the outputs of one run.

use std::{path::PathBuf, sync::Arc, time::Duration};

use tidewire::Stop;
use tidewire_exports::{Origin, eve, table::Table};

use crate::{error::Notify, keep::Keep, room::Room, rotate::Rotate};

/// Messages a second over UDP by default: a socket's buffer of Linux's default size holds those of 50 milliseconds.
pub const UDP_RATE: u32 = 2000;

/// How long a stream goes on by default before a collector gets a record of it: the usual active timeout of exporters.
pub const ACTIVE_TIMEOUT: Duration = Duration::from_secs(60);

/// The source of a run's packets.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Whether packets come from interfaces: records have the clock's time, and no collector is waited for.
    pub is_live: bool,
    /// The interface, if it is one.
    pub interface: Option<String>,
    /// The file, if it is one.
    pub file: Option<String>,
}

impl Source {
    /// Interfaces.
    #[must_use]
    pub fn of_interfaces(names: &[String]) -> Self {
        let interface = match names {
            [name] if name != "any" && !name.contains(':') => Some(name.clone()),
            _ => None,
        };
        Self { is_live: true, interface, file: None }
    }

    /// Capture files; `-` is the standard input.
    #[must_use]
    pub fn of_files(paths: &[PathBuf]) -> Self {
        let file = match paths {
            [path] if path.as_os_str() != "-" => Some(path.to_string_lossy().into_owned()),
            _ => None,
        };
        Self { is_live: false, interface: None, file }
    }

    /// The source as records name it.
    #[must_use]
    pub fn origin(&self) -> Origin<'_> {
        Origin::new(self.interface.as_deref(), self.file.as_deref())
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
    /// The time after which a stream that continues has a record in messages; `None`: at its end only.
    pub active_timeout: Option<Duration>,
    /// Limits of a file.
    pub rotate: Rotate,
    /// Room for records that wait for a slow disk or reader: what finds none is lost, and counted. `None`: the caller waits.
    pub room: Option<Room>,
    /// Bounds of the files that are complete, where there are several.
    pub keep: Keep,
    /// The end of the run: no output waits any longer. The outputs raise it where none of them can be written.
    pub stop: Stop,
    /// Whether the run goes on, and is not stopped, where none of them can be written.
    pub goes_on_without: bool,
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
            active_timeout: None,
            rotate: Rotate::default(),
            room: None,
            keep: Keep::default(),
            stop: Stop::new(),
            goes_on_without: false,
            notify: Arc::new(|_| {}),
        }
    }
}
