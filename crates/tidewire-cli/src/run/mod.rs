//! `tidewire run`: instances of a program that uses libpcap, each with its share of the packets.

pub mod guard;
mod heirs;
mod instance;
mod instances;
mod library;
mod place;
mod program;
mod report;
mod settings;

use std::{ffi::OsString, path::PathBuf};

use clap::Args;

use crate::{
    failure::{Failure, say},
    units::Span,
};

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
    instances: Option<u32>,

    /// How packets are shared: hash, lb, cpu, rollover, rnd, qm, cbpf, ebpf, data; flags behind it, as in hash+defrag; or
    /// a steering program [default: what the configuration says, else hash]
    #[arg(short = 'f', long, value_name = "MODE", help_heading = SHARING)]
    fanout: Option<String>,

    /// Share by a steering program (docs/steering.md), or by the one in a file: @FILE
    #[arg(long, value_name = "PROGRAM", help_heading = SHARING)]
    steer: Option<String>,

    /// The group that the instances join, 0 to 255 [default: what the configuration says, else one that is free]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8), help_heading = SHARING)]
    group: Option<u8>,

    /// What captures: system, packet, xdp, xdp-generic, auto
    #[arg(long, value_name = "ENGINE", help_heading = SHARING)]
    engine: Option<String>,

    /// Put packets in order: off, port, service, flow or auto; behind it what differs from the default, as in
    /// port,batch=8000,timeout=50ms,thread
    #[arg(long, value_name = "HOW", help_heading = SHARING)]
    locality: Option<String>,

    /// The drop-in library's configuration file (tidewire-pcap(7)) [default: PCAP_CONFIG, ~/.pcap.conf or /etc/pcap.conf]
    #[arg(id = "pcap_config", long = "config", value_name = "FILE", help_heading = SHARING)]
    config: Option<PathBuf>,

    /// Leave `%i` and `%%` in arguments as they are
    #[arg(long)]
    no_substitute: bool,

    /// Let instances run on any processor; otherwise instance i stays on the i-th one
    #[arg(long)]
    no_pin: bool,

    /// End all instances (SIGTERM) when the first one ends; otherwise the others go on, and get its packets
    #[arg(long)]
    together: bool,

    /// Report in JSON
    #[arg(long)]
    json: bool,

    /// Write the report to this file [default: standard error]
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Report every so often while the instances run, too
    #[arg(long, value_name = "TIME")]
    every: Option<Span>,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, Failure> {
    let Some((name, arguments)) = options.command.split_first() else {
        return Err(Failure::Usage("name a program".into()));
    };
    // Programs may have such names behind a path.
    if name.as_encoded_bytes().starts_with(b"-") {
        let message = format!("there is no option '{}'; tidewire run --help lists them", name.to_string_lossy());
        return Err(Failure::Usage(message));
    }
    let library = library::find()?;
    let program = program::check(name, &library)?;
    let processors = tidewire_live::sys::process::processors().unwrap_or_default();
    let count = options.instances.unwrap_or_else(|| processors.len().clamp(1, 256) as u32);
    let variables = settings::variables(options, count)?;
    tidewire_live::privilege::pass_on_inheritable();
    for warning in
        program.warnings.iter().chain(&warnings(options, arguments, count)).chain(&may_not_capture(arguments))
    {
        say(format_args!("warning: {warning}"));
    }
    let mut instances = instances::Instances::start(&instances::Recipe {
        program: &program.path,
        name,
        arguments,
        substitute: !options.no_substitute,
        count,
        processors: if options.no_pin { &[] } else { &processors },
        library: &library,
        by_name: !program.loads_libpcap,
        variables: &variables,
    })?;
    let every = options.every.map(|span| std::time::Duration::from_nanos(span.0));
    instances.attend(options.together, every, |instances| report::write(options, &report::rows(instances, false)))?;
    report::write(options, &report::rows(&instances, true))?;
    report::remarks(&instances);
    Ok(instances.code())
}

/// Where programs of this user may not capture: what lets them, and what would not.
fn may_not_capture(arguments: &[OsString]) -> Option<String> {
    let reads_file = arguments.iter().any(|word| word == "-r");
    if reads_file || tidewire_live::privilege::programs_may_capture() {
        return None;
    }
    let own = std::env::current_exe().and_then(|path| path.canonicalize());
    let own = own.unwrap_or_else(|_| PathBuf::from("tidewire"));
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    let capabilities = "+net_raw,+net_admin,+bpf,+perfmon,+ipc_lock";
    Some(format!(
        "programs that this user starts may not capture on interfaces (cap_net_raw). Run this as root: sudo {0} run ...; or \
         stay this user, with the capabilities passed on: sudo setpriv --reuid {user} --regid {group} --init-groups \
         --inh-caps {capabilities} --ambient-caps {capabilities} {0} run ... (setcap on the program would keep the drop-in \
         library from being loaded)",
        own.display()
    ))
}

/// What is probably not meant.
fn warnings(options: &Options, arguments: &[OsString], count: u32) -> Vec<String> {
    let has_number = |text: &OsString| text.to_string_lossy().contains("%i");
    let written = arguments.windows(2).find(|pair| pair.first().is_some_and(|word| word == "-w"));
    let file = written.and_then(|pair| pair.get(1)).filter(|file| *file != "-");
    match file {
        Some(file) if count > 1 && (options.no_substitute || !has_number(file)) => vec![format!(
            "all {count} instances write to {}: write %i where each is to have its number",
            file.to_string_lossy()
        )],
        _ => Vec::new(),
    }
}
