//! `tidewire run`: instances of a program that uses libpcap, each with its share of the packets.
//!
//! `run/` reads the configuration as the drop-in library does, with `tidewire-pcap-config`: linking the library itself
//! would replace the `pcap_…` functions that compile filters. Instances count in shared memory
//! (`tidewire-live/src/sys/shared_counters.rs`). The kernel ends them with the command, except those that change their
//! user; a watchdog process ends these.

mod instance;
mod instances;
mod library;
mod options;
mod program;
mod report;
mod run_dir;
mod settings;
pub mod watchdog;

use std::{ffi::OsString, path::PathBuf};

pub use options::Options;

use crate::error::{CliError, notify};

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, CliError> {
    let Some((name, arguments)) = options.command.split_first() else {
        return Err(CliError::Usage("no program: name one, as in tidewire run tcpdump -i eth0".into()));
    };
    // Programs with such names can be run by a path.
    if name.as_encoded_bytes().starts_with(b"-") {
        let message = format!("unknown option '{}'; see tidewire run --help", name.to_string_lossy());
        return Err(CliError::Usage(message));
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
        notify(format_args!("warning: {warning}"));
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

/// Warns if programs of this user cannot capture, with ways that help and ways that do not.
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
        "programs of this user lack the right to capture (cap_net_raw). Run as root: sudo {0} run ...; or pass capabilities \
         on to this user: sudo setpriv --reuid {user} --regid {group} --init-groups \
         --inh-caps {capabilities} --ambient-caps {capabilities} {0} run ... (do not use setcap on the program: it \
         prevents the drop-in library from being loaded)",
        own.display()
    ))
}

/// Warnings about likely mistakes.
fn warnings(options: &Options, arguments: &[OsString], count: u32) -> Vec<String> {
    let has_number = |text: &OsString| text.to_string_lossy().contains("%i");
    let written = arguments.windows(2).find(|pair| pair.first().is_some_and(|word| word == "-w"));
    let file = written.and_then(|pair| pair.get(1)).filter(|file| *file != "-");
    match file {
        Some(file) if count > 1 && (options.no_substitute || !has_number(file)) => vec![format!(
            "all {count} instances write to {}; put %i, the number of the instance, into the name",
            file.to_string_lossy()
        )],
        _ => Vec::new(),
    }
}
