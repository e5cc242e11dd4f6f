use std::{ffi::OsString, path::PathBuf};

use clap::Args;

use crate::units::Span;

/// Heading of the help.
const SHARING: &str = "Sharing";

const EXAMPLES: &str = "\
Examples:
  tidewire run -n 2 tcpdump -i eth0 -w /tmp/out-%i.pcap
  tidewire run -n 4 --fanout hash -- softflowd -d -i eth0 -n 127.0.0.1:2055";

/// Run instances of a libpcap program that share packets
///
/// The program runs unchanged: the drop-in library is preloaded (LD_PRELOAD) in place of the system's libpcap, and the
/// environment gives each instance its number and its group. In arguments, `%i` is the number of the instance, from 0, and
/// `%%` a percent sign. Signals are forwarded to every instance, including programs that became daemons, and the command
/// ends when all have ended. The exit status is that of the first instance that failed, or 0; 128 plus the signal number if
/// a signal ended it. Standard input is empty.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// Number of instances, 1 to 256 [default: one for each CPU]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(super) instances: Option<u32>,

    /// How instances share packets: hash, lb, cpu, rollover, rnd, qm, cbpf, ebpf, data; with flags, as in hash+defrag; or a
    /// steering program [default: from the configuration, else hash]
    #[arg(short = 'f', long, value_name = "MODE", help_heading = SHARING)]
    pub(super) fanout: Option<String>,

    /// Share packets by a steering program (docs/steering.md); @FILE reads it from a file
    #[arg(long, value_name = "PROGRAM", help_heading = SHARING)]
    pub(super) steer: Option<String>,

    /// The fan-out group that the instances join, 0 to 255 [default: from the configuration, else an unused one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8), help_heading = SHARING)]
    pub(super) group: Option<u8>,

    /// The capture engine: system (libpcap), packet, xdp, xdp-generic or auto
    #[arg(long, value_name = "ENGINE", help_heading = SHARING)]
    pub(super) engine: Option<String>,

    /// Reorder packets so that those of a flow come together: off, port, service, flow or auto; with settings, as in
    /// port,batch=8000,timeout=50ms,thread
    #[arg(long, value_name = "HOW", help_heading = SHARING)]
    pub(super) locality: Option<String>,

    /// The drop-in library's configuration file (tidewire-pcap(7)) [default: PCAP_CONFIG, ~/.pcap.conf or /etc/pcap.conf]
    #[arg(id = "pcap_config", long = "config", value_name = "FILE", help_heading = SHARING)]
    pub(super) config: Option<PathBuf>,

    /// Do not replace `%i` and `%%` in arguments
    #[arg(long)]
    pub(super) no_substitute: bool,

    /// Do not bind instance N to the Nth CPU
    #[arg(long)]
    pub(super) no_pin: bool,

    /// End all instances (SIGTERM) when the first one ends [default: the others continue and get its packets]
    #[arg(long)]
    pub(super) together: bool,

    /// Print the report as JSON
    #[arg(long)]
    pub(super) json: bool,

    /// Write the report to FILE [default: standard error]
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,

    /// Also report every TIME while the instances run
    #[arg(long, value_name = "TIME")]
    pub(super) every: Option<Span>,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(super) command: Vec<OsString>,
}
