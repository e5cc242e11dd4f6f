//! The order of things: destinations, signals, threads, reports, end.

use std::{
    fs,
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, channel},
    },
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

use nix::sys::signal::{SigSet, Signal};
use tidewire_events::Severity;

use super::{
    lane::Lane,
    positions::{Positions, report as report_positions},
    reporter::Reporter,
    source::Filter,
    stop::Stop,
};
use crate::{
    client::Collector,
    destination::Destination,
    folder::Folder,
    kafka, memory,
    report::{DestinationStatus, SpoolReport, SpoolStatus},
    settings::{DestinationSettings, Settings, To},
};

/// Exit codes after a failure: of the settings, of anything else.
const SETTINGS: u8 = 2;
/// See [`SETTINGS`].
const FAILED: u8 = 3;
/// The file that configures name resolution.
const RESOLVER: &str = "/etc/resolv.conf";
/// Between two figures.
const STATUS_EVERY: Duration = Duration::from_millis(500);
/// How long the last lines may take to be written.
const LAST_LINES: Duration = Duration::from_secs(1);
/// Extra time of threads beyond the time of the end: a wait in the kernel that cannot be cut short.
const GRACE: Duration = Duration::from_millis(300);

/// Runs a spooler until SIGTERM or SIGINT comes, or the other end of `report` is closed. Reports are
/// [`SpoolReport`]s, one a line, written to a stream socket. Returns the exit code: 0; after [`SpoolReport::Failed`] 2 (the
/// settings) or 3.
///
/// It is the whole of a process: it blocks signals, sets the nice value, and hides its memory. `confine` is called before any thread is
/// started and any file is read; it returns warnings.
#[must_use]
pub fn main(settings: Settings, report: OwnedFd, confine: impl FnOnce(&Settings) -> Vec<String>) -> u8 {
    let stopped = Arc::new(AtomicBool::new(false));
    let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]);
    let mut warnings = Vec::new();
    // Before any thread is started: threads inherit it.
    if let Err(error) = signals.thread_block() {
        warnings.push(format!("signals cannot be handled: {error}"));
    }
    if settings.nice != 0
        && let Err(error) = rustix::process::setpriority_process(None, settings.nice)
    {
        warnings.push(format!("the nice value {} cannot be set: {error}", settings.nice));
    }
    // Keys come into memory.
    warnings.extend(memory::protect());
    if settings.sandbox {
        warnings.extend(confine(&settings));
    }
    let reopened = Arc::new(AtomicBool::new(false));
    let (of, again) = (Arc::clone(&stopped), Arc::clone(&reopened));
    let waiter = Builder::new().name("signals".into()).spawn(move || {
        loop {
            match signals.wait() {
                // Keys are read at each connection.
                Ok(Signal::SIGHUP) => again.store(true, Ordering::Relaxed),
                _ => return of.store(true, Ordering::Relaxed),
            }
        }
    });
    if let Err(error) = waiter {
        warnings.push(format!("signals cannot be handled: {error}"));
    }
    run(settings, report, &stopped, &reopened, warnings)
}

/// As [`main`], as a part of a process that does other things as well: it handles no signals; `stopped` ends it as SIGTERM would.
#[must_use]
pub fn run_within(settings: Settings, report: OwnedFd, stopped: &AtomicBool) -> u8 {
    run(settings, report, stopped, &AtomicBool::new(false), Vec::new())
}

fn run(settings: Settings, report: OwnedFd, stopped: &AtomicBool, reopened: &AtomicBool, warnings: Vec<String>) -> u8 {
    let mut reporter = Reporter::new(report);
    warnings.into_iter().for_each(|text| reporter.send(SpoolReport::Warning { text }));
    let spooler = match Spooler::start(&settings) {
        Ok(spooler) => spooler,
        Err((code, text)) => {
            reporter.send(SpoolReport::Failed { text, hint: None });
            reporter.write_for(LAST_LINES);
            return code;
        }
    };
    reporter.send(SpoolReport::Ready);
    let resolver = resolver();
    while !stopped.load(Ordering::Relaxed) {
        reporter.send(SpoolReport::Status(spooler.status()));
        spooler.notices.try_iter().for_each(|report| reporter.send(report));
        let begun = Instant::now();
        while begun.elapsed() < STATUS_EVERY && !stopped.load(Ordering::Relaxed) {
            if reporter.is_gone(Duration::from_millis(20)) {
                stopped.store(true, Ordering::Relaxed);
            }
            reporter.write();
        }
        if reopened.swap(false, Ordering::Relaxed) {
            spooler.stop.reopen();
        }
        if settings.sandbox && self::resolver() != resolver {
            // A file that took its place is out of reach of a process that was confined before.
            let text = format!("{RESOLVER} is another file now: the spooler ends, to be started again");
            reporter.send(SpoolReport::Warning { text });
            break;
        }
    }
    let last = spooler.end(settings.stop);
    reporter.send(SpoolReport::Finished(last));
    reporter.write_for(LAST_LINES);
    0
}

/// Which file says how names are looked up; `None`: there is none.
fn resolver() -> Option<(u64, u64)> {
    fs::metadata(RESOLVER).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// Makes a destination of its settings.
fn destination(settings: &DestinationSettings) -> Result<Box<dyn Destination>, String> {
    let failed = |error: std::io::Error| format!("destination {}: {error}", settings.name);
    Ok(match &settings.to {
        To::Collector(of) => Box::new(Collector::new(of.clone()).map_err(failed)?),
        To::Folder(of) => Box::new(Folder::new(of.clone(), &settings.name)),
        To::Kafka(of) => kafka::destination(of.clone(), &settings.name)
            .map_err(|what| format!("destination {}: {what}", settings.name))?,
    })
}

/// The threads of a spooler.
struct Spooler {
    stop: Arc<Stop>,
    statuses: Vec<Arc<Mutex<DestinationStatus>>>,
    lanes: Vec<JoinHandle<()>>,
    positions: Arc<Positions>,
    positions_thread: Option<JoinHandle<()>>,
    /// Warnings, and damage that was found.
    notices: Receiver<SpoolReport>,
}

impl Spooler {
    /// Starts the threads; else the exit code, and why not.
    fn start(settings: &Settings) -> Result<Self, (u8, String)> {
        let (to, notices) = channel();
        let (stop, positions) = (Arc::<Stop>::default(), Arc::<Positions>::default());
        let mut spooler =
            Self { stop, statuses: Vec::new(), lanes: Vec::new(), positions, positions_thread: None, notices };
        let failed = |error| (FAILED, format!("no thread can be started: {error}"));
        let mut severities = Vec::new();
        for of in &settings.destinations {
            let unknown = || format!("destination {}: '{}' is no severity", of.name, of.severity.escape_debug());
            let least = Severity::by_name(&of.severity).ok_or_else(|| (SETTINGS, unknown()))?;
            severities.push((of.name.clone(), least));
        }
        if let Some(socket) = settings.socket.clone() {
            let severities = severities.clone();
            let (positions, to) = (Arc::clone(&spooler.positions), to.clone());
            let warn = move |text| drop(to.send(SpoolReport::Warning { text }));
            let run = move || report_positions(&positions, &socket, &severities, &warn);
            spooler.positions_thread = Some(Builder::new().name("positions".into()).spawn(run).map_err(failed)?);
        }
        for (of, (_, least)) in settings.destinations.iter().zip(&severities) {
            let destination = destination(of).map_err(|text| (SETTINGS, text))?;
            let status = DestinationStatus {
                name: of.name.clone(),
                kind: destination.kind().to_owned(),
                ..DestinationStatus::default()
            };
            let status = Arc::new(Mutex::new(status));
            let lane = Lane {
                filter: Filter::of(of, *least),
                settings: of.clone(),
                destination,
                store: settings.store.clone(),
                stop: Arc::clone(&spooler.stop),
                status: Arc::clone(&status),
                positions: Arc::clone(&spooler.positions),
                notices: to.clone(),
                known: None,
                complained: None,
            };
            spooler.statuses.push(status);
            spooler.lanes.push(Builder::new().name("destination".into()).spawn(|| lane.run()).map_err(failed)?);
        }
        Ok(spooler)
    }

    fn status(&self) -> SpoolStatus {
        let of = |status: &Arc<Mutex<DestinationStatus>>| status.lock().unwrap_or_else(PoisonError::into_inner).clone();
        SpoolStatus { destinations: self.statuses.iter().map(of).collect() }
    }

    /// One more attempt to deliver everything, within this time; then all ends.
    fn end(mut self, most: Duration) -> SpoolStatus {
        let until = Instant::now() + most;
        self.stop.stop(until);
        // A thread that does not end in time ends with the process.
        let wait = |thread: JoinHandle<()>, until: Instant| {
            while !thread.is_finished() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(2));
            }
            if thread.is_finished() {
                let _ = thread.join();
            }
        };
        self.lanes.drain(..).for_each(|lane| wait(lane, until + GRACE));
        self.positions.end();
        if let Some(thread) = self.positions_thread.take() {
            wait(thread, Instant::now() + GRACE);
        }
        self.status()
    }
}
