use std::path::PathBuf;

use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  tidewire sensor -i eth1:eth3
  tidewire sensor --check sensor.toml
  tidewire sensor sensor.toml --metrics 127.0.0.1:9600
  tidewire sensor -r capture.pcap --wait-for 1 --directory /tmp/sensor
  tidewire sensor sensor.toml -r capture.pcap --directory /tmp/sensor
  zcat capture.pcap.gz | tidewire sensor sensor.toml -r -
  tidewire sensor status

Signals: SIGTERM and Ctrl-C end it in order, a second one faster; SIGHUP reads FILE again and applies what changed of the analyzers.";

const STATUS_EXAMPLES: &str = "\
Examples:
  tidewire sensor status
  tidewire sensor status --directory /tmp/sensor --json";

/// Capture once for many programs, each in a process of its own
///
/// Starts the capture, which gives up its privileges before the first packet, offers streams and packets in queues in shared memory,
/// and starts the analyzers that the configuration names, each with its own user and again when it fails. Other programs attach by
/// hand (tidewire attach). Without FILE there is one queue, `streams`. docs/sensor.md has every key of FILE.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Options {
    #[command(subcommand)]
    pub(super) command: Option<Commands>,

    /// The configuration (TOML)
    #[arg(value_name = "FILE")]
    pub(super) file: Option<PathBuf>,

    /// Capture from this interface, or several joined by colons, instead of what FILE names. May be repeated
    #[arg(short = 'i', long, value_name = "NAME", conflicts_with = "read")]
    pub(super) interface: Vec<String>,

    /// Read capture files, at full speed and without loss, instead of what FILE names; - is standard input. All words after -r are
    /// captures: FILE is first
    #[arg(short = 'r', long, value_name = "CAPTURE", num_args = 1..)]
    pub(super) read: Vec<PathBuf>,

    /// Over files: read the first packet when each queue has so many readers [default: the analyzers of FILE]
    #[arg(long, value_name = "N", conflicts_with = "interface", value_parser = clap::value_parser!(u16).range(0..=32))]
    pub(super) wait_for: Option<u16>,

    /// Print every mistake of the configuration, or what would be started, and end
    #[arg(long)]
    pub(super) check: bool,

    /// Serve OpenMetrics of all parts at http://ADDR/metrics, as 127.0.0.1:9600
    #[arg(long, value_name = "ADDR")]
    pub(super) metrics: Option<String>,

    /// Where the sockets are made [default: that of FILE, else /run/tidewire]
    #[arg(long, value_name = "DIR")]
    pub(super) directory: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
pub(super) enum Commands {
    Status(StatusOptions),
}

/// Show a running sensor: parts, queues, readers with their lag and losses
#[derive(Args, Debug)]
#[command(after_help = STATUS_EXAMPLES)]
pub struct StatusOptions {
    /// The sensor's directory
    #[arg(long, value_name = "DIR", default_value = "/run/tidewire")]
    pub(super) directory: PathBuf,

    /// One JSON object (docs/output.md)
    #[arg(long)]
    pub(super) json: bool,
}
