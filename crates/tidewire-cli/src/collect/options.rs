use std::path::PathBuf;

use clap::Args;

use crate::units::{Size, Span};

const EXAMPLES: &str = "\
Examples:
  tidewire keys collector collector.example.org
  tidewire keys sensor edge-1
  tidewire collect --store collected --keys collector.pem
  tidewire collect --store collected --keys collector.pem --sensor-size 10G --sensor-age 90d --metrics 127.0.0.1:9600

Copy edge-1.pem to the sensor, and name it in its configuration (docs/delivery.md). What arrives from edge-1 is in
collected/edge-1/events.db.

Signals: SIGTERM and Ctrl-C end it in order; SIGHUP reads keys and --refused again.";

/// Receive events from sensors, each proven by a certificate
///
/// Listens for the spoolers of sensors (TLS 1.3, certificates on both sides), stores what they send in a folder for each sensor, and
/// acknowledges it when it is durable: each event is there once, and in order, whatever ends in between. docs/delivery.md says how.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Where sensors connect, as 192.0.2.1:9610 or :9610 (every address of this host). May be repeated
    #[arg(long, value_name = "ADDR", default_value = ":9610")]
    pub(super) listen: Vec<String>,

    /// The folder with a folder for each sensor; it is made
    #[arg(long, value_name = "DIR")]
    pub(super) store: PathBuf,

    /// Key, certificate and authority in one file, as 'tidewire keys collector' makes it
    #[arg(long, value_name = "FILE", required_unless_present_all = ["certificate", "key", "authority"])]
    pub(super) keys: Option<PathBuf>,

    /// The authority whose sensors are believed, instead of that in --keys
    #[arg(long, value_name = "FILE")]
    pub(super) authority: Option<PathBuf>,

    /// The certificate, instead of that in --keys
    #[arg(long, value_name = "FILE")]
    pub(super) certificate: Option<PathBuf>,

    /// Its key, instead of that in --keys
    #[arg(long, value_name = "FILE")]
    pub(super) key: Option<PathBuf>,

    /// Refuse these although the authority signed them: a name of a sensor, or 'serial' and the serial number of a certificate, on each line
    /// (tidewire keys show has both)
    #[arg(long, value_name = "FILE")]
    pub(super) refused: Option<PathBuf>,

    /// Keep so much of each sensor; beyond it the oldest of the least severe is removed
    #[arg(long, value_name = "SIZE", default_value = "1G")]
    pub(super) sensor_size: Size,

    /// Keep events for so long
    #[arg(long, value_name = "TIME", default_value = "14d")]
    pub(super) sensor_age: Span,

    /// A sensor that sends more bytes in a second has to wait (before compression; 'all': it never waits)
    #[arg(long, value_name = "SIZE", default_value = "16M")]
    pub(super) sensor_rate: Size,

    /// Sensors that may be connected at a time
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) connections: u16,

    /// Keep all rights of the process; without it, it reads and writes the store and reads keys only
    #[arg(long)]
    pub(super) no_sandbox: bool,

    /// Serve OpenMetrics at http://ADDR/metrics, as 127.0.0.1:9600
    #[arg(long, value_name = "ADDR")]
    pub(super) metrics: Option<String>,
}
