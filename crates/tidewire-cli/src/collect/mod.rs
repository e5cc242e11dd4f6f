//! `tidewire collect`: receives events from sensors.

mod metrics;
mod options;

use std::{
    io,
    net::{SocketAddr, ToSocketAddrs as _},
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::Duration,
};

use nix::sys::signal::{SigSet, Signal};
pub use options::Options;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tidewire_delivery::{
    collector::{CollectError, CollectSettings, Listening, Server},
    keys::Places,
    memory,
};
use tidewire_event_store::Limits;
use tidewire_live::privilege::Confinement;
use tidewire_outputs::place::links::{self, Missing};

use crate::{
    error::{self, CliError, notify},
    metrics::Metrics,
};

/// Between two updates of the metrics.
const METRICS_EVERY: Duration = Duration::from_secs(1);

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, CliError> {
    block_signals()?;
    if let Some(warning) = memory::protect() {
        notify(format_args!("warning: {warning}"));
    }
    raise_descriptors();
    let mut metrics = options.metrics.as_deref().map(Metrics::bind).transpose()?;
    let Options { keys, certificate, key, authority, .. } = options;
    let places =
        Places { keys: keys.clone(), certificate: certificate.clone(), key: key.clone(), authority: authority.clone() };
    let refused = |error| CliError::Output(format!("{}: {error}", options.store.display()));
    let store = match links::find(&options.store, Missing::Refuse) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => options.store.clone(),
        found => found.map_err(refused)?.path,
    };
    let mut settings = CollectSettings::new(listen(&options.listen)?, store, places);
    let age_ns = Some(options.sensor_age.0).filter(|age| *age > 0);
    settings.limits = Limits { age_ns, size_bytes: options.sensor_size.0 };
    settings.rate_bytes = Some(options.sensor_rate.0).filter(|rate| *rate != u64::MAX);
    settings.connections_max = options.connections.into();
    settings.refused = options.refused.clone();
    let failed = |error: CollectError| CliError::Input(error.to_string());
    let listening = Listening::bind(settings).map_err(failed)?;
    // Before any thread is started, and with all sockets open: what it reads from now on others wrote.
    confine(options)?;
    let signals = signals()?;
    let server = listening.start(|line| notify(line)).map_err(failed)?;
    for address in server.addresses() {
        notify(format_args!("sensors connect to {address}; their events are in {}", options.store.display()));
    }
    if let Some(metrics) = &mut metrics {
        notify(format_args!("metrics: http://{}/metrics", metrics.address()));
        metrics.show(self::metrics::families(&server.status()));
        metrics.start()?;
    }
    serve(&server, &signals, metrics.as_ref());
    server.finish();
    Ok(error::OK)
}

fn signal_set() -> SigSet {
    SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP])
}

fn no_signals(error: &dyn std::fmt::Display) -> CliError {
    CliError::Input(format!("signals cannot be handled: {error}"))
}

/// Threads that are started later do not get them.
fn block_signals() -> Result<(), CliError> {
    signal_set().thread_block().map_err(|error| no_signals(&error))
}

/// Gives up all but its store, its keys and the sockets that are open.
fn confine(options: &Options) -> Result<(), CliError> {
    if options.no_sandbox {
        return Ok(());
    }
    let Options { keys, certificate, key, authority, refused, store, .. } = options;
    let files = [keys, certificate, key, authority, refused].into_iter().flatten();
    // A file that is replaced is another one: what is allowed is its directory.
    let folder = |file: &PathBuf| match file.parent() {
        Some(folder) if folder != Path::new("") => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let confinement = files.map(folder).fold(Confinement::new().writable(store), Confinement::readable);
    let confined = confinement.confine().map_err(|error| CliError::Input(format!("{error}; see --no-sandbox")))?;
    confined.missing.iter().for_each(|missing| notify(format_args!("warning: {missing}")));
    Ok(())
}

/// Signals, from a thread that waits for them.
fn signals() -> Result<Receiver<Signal>, CliError> {
    let set = signal_set();
    let (to, signals) = channel();
    let wait = move || {
        while let Ok(signal) = set.wait()
            && to.send(signal).is_ok()
        {}
    };
    std::thread::Builder::new().name("signals".into()).spawn(wait).map_err(|error| no_signals(&error))?;
    Ok(signals)
}

/// Each sensor takes some descriptors: as many as the system allows.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    if let Err(error) = raised {
        notify(format_args!("warning: the number of open files cannot be raised: {error}"));
    }
}

fn listen(addresses: &[String]) -> Result<Vec<SocketAddr>, CliError> {
    let mut all = Vec::new();
    for address in addresses {
        let full = if address.starts_with(':') { format!("[::]{address}") } else { address.clone() };
        let refused = |error: &dyn std::fmt::Display| {
            CliError::Usage(format!(
                "invalid --listen '{address}': {error}; expected an address and a port, as in :9610"
            ))
        };
        let found = full.to_socket_addrs().map_err(|error| refused(&error))?.next();
        all.push(found.ok_or_else(|| refused(&"no such host"))?);
    }
    Ok(all)
}

/// Serves until a signal ends it.
fn serve(server: &Server, signals: &Receiver<Signal>, metrics: Option<&Metrics>) {
    loop {
        match signals.recv_timeout(METRICS_EVERY) {
            Ok(Signal::SIGHUP) => match server.reload() {
                Ok(()) => notify("SIGHUP: keys, certificates and the list of those that are refused were read again"),
                Err(error) => notify(format_args!("SIGHUP: the old ones stay in use: {error}")),
            },
            Ok(signal) => return notify(format_args!("{signal}: it ends")),
            Err(RecvTimeoutError::Timeout) => {
                if let Some(metrics) = metrics {
                    metrics.show(self::metrics::families(&server.status()));
                }
            }
            Err(RecvTimeoutError::Disconnected) => return notify("signals cannot be handled: it ends"),
        }
    }
}
