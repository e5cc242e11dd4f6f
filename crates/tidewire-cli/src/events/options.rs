use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tidewire_events::Severity;

use crate::{
    export::ExportOptions,
    layout::{ColumnOptions, TimeOption},
    own_input,
};

/// Headings of the help.
const STORE: &str = "Stores";
const EVENTS: &str = "Events";
const REPORT: &str = "Report";

const EXAMPLES: &str = "\
Examples:
  tidewire events
  tidewire events --since 1h --severity medium
  tidewire events --kind 'scan.*' host 192.0.2.7
  tidewire events --since 2026-11-23T06:00:00Z --expand --json
  tidewire events --follow
  tidewire events --identity me.identity
  tidewire events --store /var/lib/tidewire/collected --limit 100";

/// Show what analyzers of a sensor found, folded
///
/// One row for each fold: identical and similar events together, with their number and, beneath it, what varied among them.
/// --expand prints the originals, in order. Reads the store of the sensor in --directory, or any stores (--store): those of a
/// collector's sensors are merged by time.
///
/// FILTER is an expression as in tcpdump (pcap-filter(7)), over a packet from the event's client to its server. Of a fold, one
/// event has to match; with --expand only those that match are printed.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Only events whose addresses, ports and protocol match this expression (pcap-filter(7))
    #[arg(value_name = "FILTER")]
    pub(super) filter: Vec<String>,

    /// A store, a folder of stores as a collector has them, or .jsonl files (a folder of them) that a destination of a sensor
    /// wrote. May be repeated
    #[arg(long, value_name = "PATH", help_heading = STORE)]
    pub(super) store: Vec<PathBuf>,

    /// The directory of the sensor whose store is read [default: /run/tidewire]
    #[arg(long, value_name = "DIR", conflicts_with = "store", help_heading = STORE)]
    pub(super) directory: Option<PathBuf>,

    /// A file of identities (AGE-SECRET-KEY-1…) that read encrypted events, as tidewire keys identity makes it. May be repeated
    #[arg(long, value_name = "FILE", value_parser = own_input::noted(), help_heading = STORE)]
    pub(super) identity: Vec<PathBuf>,

    /// Only events since then: how long ago (1h, 30m), a time (2026-11-23T06:00:00Z, 06:00), or seconds or nanoseconds since 1970
    #[arg(long, value_name = "TIME", help_heading = EVENTS)]
    pub(super) since: Option<String>,

    /// Only events until then, as for --since; of a time with few digits, until the end of all times that begin with them
    #[arg(long, value_name = "TIME", help_heading = EVENTS)]
    pub(super) until: Option<String>,

    /// Only events of these kinds, as in scan.horizontal or 'scan.*'
    #[arg(long, value_name = "KIND,...", value_delimiter = ',', help_heading = EVENTS)]
    pub(super) kind: Vec<String>,

    /// Only events of this severity or worse: info, low, medium, high, critical
    #[arg(long, value_name = "SEVERITY", value_enum, hide_possible_values = true, help_heading = EVENTS)]
    pub(super) severity: Option<SeverityName>,

    /// Only events of these analyzers
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', help_heading = EVENTS)]
    pub(super) analyzer: Vec<String>,

    /// Print the originals, in order
    #[arg(long, help_heading = REPORT)]
    pub(super) expand: bool,

    /// Print new events as they are stored, until Ctrl-C; with --since, those since then first
    #[arg(long, conflicts_with = "until", help_heading = REPORT)]
    pub(super) follow: bool,

    /// Print the last N rows; with --expand the first N events, with --follow N rows and end
    #[arg(long, value_name = "N", value_parser = crate::arg_types::whole::<u64>, help_heading = REPORT)]
    pub(super) limit: Option<u64>,

    #[command(flatten)]
    pub(super) export: ExportOptions,

    /// Print JSON, one object on each line (docs/output.md)
    #[arg(long, conflicts_with = "csv", help_heading = REPORT)]
    pub(super) json: bool,

    /// Print comma-separated values, with a header line
    #[arg(long, help_heading = REPORT)]
    pub(super) csv: bool,

    #[command(flatten)]
    pub(super) columns: ColumnOptions,

    #[command(flatten)]
    pub(super) time: TimeOption,
}

/// See [`Severity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SeverityName {
    Info,
    Low,
    Medium,
    High,
    Critical,
}

impl From<SeverityName> for Severity {
    fn from(name: SeverityName) -> Self {
        match name {
            SeverityName::Info => Self::Info,
            SeverityName::Low => Self::Low,
            SeverityName::Medium => Self::Medium,
            SeverityName::High => Self::High,
            SeverityName::Critical => Self::Critical,
        }
    }
}
