use std::{ffi::OsString, path::PathBuf};

use clap::Args;

use crate::units::Span;

/// Heading of the help.
const SHARING: &str = "Sharing";

const EXAMPLES: &str = "\
Examples:
  tidewire run -n 2 tcpdump -i eth0 -w /tmp/out-%i.pcap
  tidewire run -n 4 --fanout hash -- softflowd -d -i eth0 -n 127.0.0.1:2055";

/// Run instances of a libpcap program, each with a share
///
/// The program is started as it is: the drop-in library is loaded before the system's (LD_PRELOAD), and the instances
/// find each other by their environment. `%i` in an argument is the instance's number, from 0, and `%%` a percent sign.
/// Signals go to every instance once, daemons included, and daemons are waited for. The exit status is that
/// of the first instance that failed, 128 and the number of the signal where one ended it, or 0. Standard input is empty.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Instances, 1 to 256 [default: as many as there are processors]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(super) instances: Option<u32>,

    /// How packets are shared: hash, lb, cpu, rollover, rnd, qm, cbpf, ebpf, data; flags behind it, as in hash+defrag; or
    /// a steering program [default: what the configuration says, else hash]
    #[arg(short = 'f', long, value_name = "MODE", help_heading = SHARING)]
    pub(super) fanout: Option<String>,

    /// Share by a steering program (docs/steering.md), or by the one in a file: @FILE
    #[arg(long, value_name = "PROGRAM", help_heading = SHARING)]
    pub(super) steer: Option<String>,

    /// The group that the instances join, 0 to 255 [default: what the configuration says, else one that is free]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8), help_heading = SHARING)]
    pub(super) group: Option<u8>,

    /// What captures: system, packet, xdp, xdp-generic, auto
    #[arg(long, value_name = "ENGINE", help_heading = SHARING)]
    pub(super) engine: Option<String>,

    /// Put packets in order: off, port, service, flow or auto; behind it what differs from the default, as in
    /// port,batch=8000,timeout=50ms,thread
    #[arg(long, value_name = "HOW", help_heading = SHARING)]
    pub(super) locality: Option<String>,

    /// The drop-in library's configuration file (tidewire-pcap(7)) [default: PCAP_CONFIG, ~/.pcap.conf or /etc/pcap.conf]
    #[arg(id = "pcap_config", long = "config", value_name = "FILE", help_heading = SHARING)]
    pub(super) config: Option<PathBuf>,

    /// Leave `%i` and `%%` in arguments as they are
    #[arg(long)]
    pub(super) no_substitute: bool,

    /// Let instances run on any processor; otherwise instance i stays on the i-th one
    #[arg(long)]
    pub(super) no_pin: bool,

    /// End all instances (SIGTERM) when the first one ends; otherwise the others go on, and get its packets
    #[arg(long)]
    pub(super) together: bool,

    /// Report in JSON
    #[arg(long)]
    pub(super) json: bool,

    /// Write the report to this file [default: standard error]
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,

    /// Report every so often while the instances run, too
    #[arg(long, value_name = "TIME")]
    pub(super) every: Option<Span>,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(super) command: Vec<OsString>,
}
