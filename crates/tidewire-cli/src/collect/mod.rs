//! `tidewire collect`: receives events from sensors.

mod metrics;
mod options;

use std::{
    net::{SocketAddr, ToSocketAddrs as _},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::Duration,
};

use nix::sys::signal::{SigSet, Signal};
pub use options::Options;
use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};
use tidewire_delivery::{
    collector::{CollectSettings, Server},
    keys::Places,
};
use tidewire_event_store::Limits;

use crate::{
    error::{self, CliError, notify},
    metrics::Metrics,
};

/// Between two updates of the metrics.
const METRICS_EVERY: Duration = Duration::from_secs(1);

/// Runs the subcommand.
pub fn run(options: &Options) -> Result<u8, CliError> {
    let signals = signals()?;
    hide();
    raise_descriptors();
    let mut metrics = options.metrics.as_deref().map(Metrics::bind).transpose()?;
    let Options { keys, certificate, key, authority, .. } = options;
    let places =
        Places { keys: keys.clone(), certificate: certificate.clone(), key: key.clone(), authority: authority.clone() };
    let mut settings = CollectSettings::new(listen(&options.listen)?, options.store.clone(), places);
    let age_ns = Some(options.sensor_age.0).filter(|age| *age > 0);
    settings.limits = Limits { age_ns, size_bytes: options.sensor_size.0 };
    settings.rate_bytes = Some(options.sensor_rate.0).filter(|rate| *rate != u64::MAX);
    settings.connections_max = options.connections.into();
    let server = Server::start(settings, |line| notify(line)).map_err(|error| CliError::Input(error.to_string()))?;
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

/// Signals, from a thread that waits for them. Threads that are started later do not get them.
fn signals() -> Result<Receiver<Signal>, CliError> {
    let failed = |error: &dyn std::fmt::Display| CliError::Input(format!("signals cannot be handled: {error}"));
    let set = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]);
    set.thread_block().map_err(|error| failed(&error))?;
    let (to, signals) = channel();
    let wait = move || {
        while let Ok(signal) = set.wait()
            && to.send(signal).is_ok()
        {}
    };
    std::thread::Builder::new().name("signals".into()).spawn(wait).map_err(|error| failed(&error))?;
    Ok(signals)
}

/// Keys are in memory: nobody of the same user looks into this process, nor at a core dump of it.
fn hide() {
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        notify(format_args!("warning: processes of the same user can trace this one: {error}"));
    }
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
                Ok(()) => notify("SIGHUP: keys and certificates were read again"),
                Err(error) => notify(format_args!("SIGHUP: the old keys stay in use: {error}")),
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
