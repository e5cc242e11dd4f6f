//! The order of things: destinations, signals, threads, reports, end.

use std::{
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, channel},
    },
    thread::{Builder, JoinHandle},
    time::{Duration, Instant},
};

use nix::sys::signal::{SigSet, Signal};

use super::{
    lane::Lane,
    positions::{Positions, tell},
    reporter::Reporter,
    source::Filter,
    stop::Stop,
};
use crate::{
    client::Collector,
    destination::Destination,
    folder::Folder,
    kafka,
    report::{DestinationStatus, SpoolReport, SpoolStatus},
    settings::{DestinationSettings, Settings, To},
};

/// Exit code after a failure.
const FAILED: u8 = 3;
/// Between two figures.
const STATUS_EVERY: Duration = Duration::from_millis(500);
/// How long the last lines may take to be written.
const LAST_LINES: Duration = Duration::from_secs(1);
/// What threads have beyond the time of the end: a wait in the kernel that cannot be cut short.
const GRACE: Duration = Duration::from_millis(300);

/// Runs a spooler until SIGTERM or SIGINT comes, or the other end of `report` is closed. Reports are
/// [`SpoolReport`]s, one a line, written to a stream socket. Returns the exit code: 0; 3 after [`SpoolReport::Failed`].
///
/// It is the whole of a process: it blocks signals and sets the nice value.
#[must_use]
pub fn main(settings: Settings, report: OwnedFd) -> u8 {
    let stopped = Arc::new(AtomicBool::new(false));
    let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]);
    let mut warnings = Vec::new();
    // Before any thread is started: threads inherit it.
    if let Err(error) = signals.thread_block() {
        warnings.push(format!("signals cannot be handled: {error}"));
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
    // Keys are in memory: nobody of the same user looks into this process, nor at a core dump of it.
    if let Err(error) = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable) {
        warnings.push(format!("processes of the same user can trace the spooler: {error}"));
    }
    if settings.nice != 0
        && let Err(error) = rustix::process::setpriority_process(None, settings.nice)
    {
        warnings.push(format!("the nice value {} cannot be set: {error}", settings.nice));
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
        Err(text) => {
            reporter.send(SpoolReport::Failed { text, hint: None });
            reporter.write_for(LAST_LINES);
            return FAILED;
        }
    };
    reporter.send(SpoolReport::Ready);
    while !stopped.load(Ordering::Relaxed) {
        reporter.send(SpoolReport::Status(spooler.status()));
        spooler.warnings.try_iter().for_each(|text| reporter.send(SpoolReport::Warning { text }));
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
    }
    let last = spooler.end(settings.stop);
    reporter.send(SpoolReport::Finished(last));
    reporter.write_for(LAST_LINES);
    0
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
    teller: Option<JoinHandle<()>>,
    warnings: Receiver<String>,
}

impl Spooler {
    fn start(settings: &Settings) -> Result<Self, String> {
        let (warn, warnings) = channel();
        let (stop, positions) = (Arc::<Stop>::default(), Arc::<Positions>::default());
        let mut spooler = Self { stop, statuses: Vec::new(), lanes: Vec::new(), positions, teller: None, warnings };
        let failed = |error| format!("no thread can be started: {error}");
        if let Some(socket) = settings.socket.clone() {
            let names: Vec<String> = settings.destinations.iter().map(|one| one.name.clone()).collect();
            let (positions, warn) = (Arc::clone(&spooler.positions), warn.clone());
            let tell = move || tell(&positions, &socket, &names, &|text| drop(warn.send(text)));
            spooler.teller = Some(Builder::new().name("positions".into()).spawn(tell).map_err(failed)?);
        }
        for of in &settings.destinations {
            let destination = destination(of)?;
            let unknown = || format!("destination {}: '{}' is no severity", of.name, of.severity.escape_debug());
            let status = DestinationStatus {
                name: of.name.clone(),
                kind: destination.kind().to_owned(),
                ..DestinationStatus::default()
            };
            let status = Arc::new(Mutex::new(status));
            let lane = Lane {
                filter: Filter::of(of).ok_or_else(unknown)?,
                settings: of.clone(),
                destination,
                store: settings.store.clone(),
                stop: Arc::clone(&spooler.stop),
                status: Arc::clone(&status),
                positions: Arc::clone(&spooler.positions),
                warnings: warn.clone(),
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
        if let Some(teller) = self.teller.take() {
            wait(teller, Instant::now() + GRACE);
        }
        self.status()
    }
}
