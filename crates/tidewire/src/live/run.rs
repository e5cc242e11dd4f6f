//! Runs workers over interfaces, and monitors them.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tidewire_core::{Config, Engine, Handler, Ledger, Share};
use tidewire_live::{
    Error as LiveError, InterfaceEvent, InterfaceReport, Live, Monitor, TICK, Worker as Rings, sys::wait,
};

use super::{
    LiveReport, WorkerReport,
    count::Counter,
    work::{Consume, OnLevel, Shared, Tapped, Work},
};
use crate::{
    Error, Outcome, Stop,
    frames::{Counted, FrameHandler, FrameTap},
    trace,
    worker::{Worker, message},
};

/// How often a report is made.
const REPORT: Duration = Duration::from_millis(200);

/// The callback for reports.
pub(crate) type OnReport<'a> = Option<Box<dyn FnMut(&LiveReport) + 'a>>;
/// The callback for errors of an interface that do not end the run.
pub(crate) type OnTrouble<'a> = Option<Box<dyn FnMut(&LiveError) + 'a>>;

/// The callback for changes of an interface.
pub(crate) type OnEvent<'a> = Option<Box<dyn FnMut(&InterfaceEvent) + 'a>>;

/// The callback when everything is open and no worker has begun.
pub(crate) type BeforeStart<'a> = Option<Box<dyn FnOnce(&[InterfaceReport]) -> Result<(), LiveError> + 'a>>;

/// Callbacks and the stop flag of a run.
#[derive(Default)]
pub(crate) struct Hooks<'a> {
    pub stop: Stop,
    pub duration: Option<Duration>,
    /// Frames after which the run ends.
    pub most: Option<u64>,
    pub pin: bool,
    pub before_start: BeforeStart<'a>,
    pub on_report: OnReport<'a>,
    pub on_trouble: OnTrouble<'a>,
    pub on_event: OnEvent<'a>,
    pub on_level: OnLevel,
}

/// State of a running capture outside of its workers.
struct Watch<'a> {
    hooks: Hooks<'a>,
    monitor: Monitor,
    shared: Arc<Shared>,
    begun: Instant,
    reported: Instant,
    interrupted: bool,
}

impl Watch<'_> {
    /// Checks the clocks and the workers' reports, and calls the callbacks. True: the run ends.
    fn look(&mut self) -> bool {
        self.interrupted |= self.hooks.stop.is_stopped();
        let over = self.interrupted || self.hooks.duration.is_some_and(|most| self.begun.elapsed() >= most);
        if self.reported.elapsed() >= REPORT {
            self.report();
        }
        let over = over || self.shared.is_over();
        if over {
            // Frames that arrive from now on are not counted.
            self.monitor.stop();
        }
        over
    }

    fn report(&mut self) -> LiveReport {
        self.reported = Instant::now();
        let mut troubles = mem::take(&mut *self.shared.troubles.lock().unwrap_or_else(PoisonError::into_inner));
        // Interfaces that appeared are in the report before their first frame arrives.
        let events = self.monitor.events().unwrap_or_else(|error| {
            troubles.push(error);
            Vec::new()
        });
        let interfaces = self.monitor.report().unwrap_or_else(|error| {
            troubles.push(error);
            Vec::new()
        });
        let report = |place: &Mutex<WorkerReport>| place.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let workers = self.shared.reports.iter().map(report).collect();
        events.iter().for_each(trace::interface);
        troubles.iter().for_each(trace::trouble);
        let report = LiveReport { elapsed: self.begun.elapsed(), interfaces, workers };
        if let Some(call) = &mut self.hooks.on_event {
            events.iter().for_each(call);
        }
        if let Some(call) = &mut self.hooks.on_trouble {
            troubles.iter().for_each(call);
        }
        if let Some(call) = &mut self.hooks.on_report {
            call(&report);
        }
        report
    }

    fn outcome<H>(mut self, handlers: Vec<H>, ledger: Ledger) -> Outcome<H> {
        let report = self.report();
        let outcome = Outcome {
            handlers,
            ledger,
            input_errors: Vec::new(),
            duplicates: None,
            #[cfg(feature = "files")]
            capture_losses: Vec::new(),
            elapsed: self.begun.elapsed(),
            interrupted: self.interrupted,
            live: Some(report),
        };
        trace::ended(&outcome);
        outcome
    }
}

/// Calls the callback for the start, and begins to monitor.
fn watch(mut hooks: Hooks<'_>, mut monitor: Monitor, workers: usize) -> Result<Watch<'_>, Error> {
    if let Some(call) = hooks.before_start.take() {
        call(&monitor.report()?)?;
    }
    trace::opened("interfaces", workers);
    let shared = Shared::new(workers, hooks.most, hooks.on_level.take());
    let now = Instant::now();
    Ok(Watch { hooks, monitor, shared, begun: now, reported: now, interrupted: false })
}

/// An engine over these rings, and what gets their frames before it.
fn engine<H: Handler>(
    rings: &mut Rings,
    config: Config,
    (handler, classifier): Worker<H>,
    tap: FrameTap,
) -> Tapped<Engine<H>> {
    let mut engine = Engine::new(config, Share::ALL, handler);
    if let Some(classifier) = classifier {
        engine.set_classifier(classifier);
    }
    if let Some(shunt) = rings.take_shunt() {
        engine.set_shunt(shunt);
    }
    Tapped { engine, tap }
}

/// Runs one worker on the calling thread, which also monitors.
pub(crate) fn run_single<H: Handler>(
    live: Live,
    config: Config,
    worker: Worker<H>,
    tap: FrameTap,
    hooks: Hooks<'_>,
) -> Result<Outcome<H>, Error> {
    let memory_bytes = config.memory_bytes();
    let build = |rings: &mut Rings| engine(rings, config, worker, tap);
    single(live, build, |tapped: Tapped<Engine<H>>| tapped.engine.into_parts(), memory_bytes, hooks)
}

/// Runs one worker on the calling thread: `build` makes the consumer of its frames, `take_apart` returns its results.
fn single<C: Consume, H>(
    live: Live,
    build: impl FnOnce(&mut Rings) -> C,
    take_apart: impl FnOnce(C) -> (H, Ledger),
    memory_bytes: u64,
    hooks: Hooks<'_>,
) -> Result<Outcome<H>, Error> {
    let Live { workers, monitor, .. } = live;
    let mut watch = watch(hooks, monitor, 1)?;
    let shared = Arc::clone(&watch.shared);
    // The caller's thread is not pinned.
    let Some(mut rings) = workers.into_iter().next() else { return Ok(watch.outcome(Vec::new(), Ledger::default())) };
    let engine = build(&mut rings);
    let mut work = Work::new(0, rings, engine, &shared, None, memory_bytes);
    while !watch.look() {
        work.step();
    }
    work.finish();
    let (handler, ledger) = take_apart(work.engine);
    Ok(watch.outcome(vec![handler], ledger))
}

/// Runs several workers, each on its own thread.
pub(crate) fn run_threads<H: Handler + Send>(
    live: Live,
    config: &Config,
    workers: Vec<(Worker<H>, FrameTap)>,
    hooks: Hooks<'_>,
) -> Result<Outcome<H>, Error> {
    let memory_bytes = config.memory_bytes();
    let builders = workers.into_iter().map(|(worker, tap)| {
        let build = move |rings: &mut Rings| engine(rings, config.clone(), worker, tap);
        (build, memory_bytes)
    });
    let take_apart = |tapped: Tapped<Engine<H>>| tapped.engine.into_parts();
    let (watch, results) = threads(live, builders.collect(), take_apart, hooks)?;
    let mut handlers = Vec::with_capacity(results.len());
    let mut ledger = Ledger::default();
    for (handler, share) in results {
        handlers.push(handler);
        ledger.add(&share);
    }
    Ok(watch.outcome(handlers, ledger))
}

/// The consumer of a worker's frames without an engine.
fn counted<F: FrameHandler>(rings: &mut Rings, mut handler: F) -> Counted<F> {
    if let Some(shunt) = rings.take_shunt() {
        handler.shunt(shunt);
    }
    Counted::new(handler)
}

/// Hands frames to one handler, without an engine, on the calling thread.
pub(crate) fn run_frames_single<F: FrameHandler>(
    live: Live,
    handler: F,
    hooks: Hooks<'_>,
) -> Result<Outcome<F>, Error> {
    let build = |rings: &mut Rings| counted(rings, handler);
    single(live, build, |counted: Counted<F>| (counted.handler, counted.ledger), 0, hooks)
}

/// Hands frames to handlers, without an engine.
pub(crate) fn run_frames<F: FrameHandler + Send>(
    live: Live,
    handlers: Vec<F>,
    hooks: Hooks<'_>,
) -> Result<Outcome<F>, Error> {
    let builders = handlers.into_iter().map(|handler| (move |rings: &mut Rings| counted(rings, handler), 0));
    let take_apart = |counted: Counted<F>| (counted.handler, counted.ledger);
    let (watch, results) = threads(live, builders.collect(), take_apart, hooks)?;
    let mut handlers = Vec::with_capacity(results.len());
    let mut ledger = Ledger::default();
    for (handler, share) in results {
        handlers.push(handler);
        ledger.add(&share);
    }
    Ok(watch.outcome(handlers, ledger))
}

/// Counts what arrives, and spends `busy` on each frame: what a capture costs without any engine.
pub(crate) fn count(live: Live, busy: Duration, hooks: Hooks<'_>) -> Result<Outcome<()>, Error> {
    let builders = live.workers.iter().map(|_| (move |_: &mut Rings| Counter::new(busy), 0)).collect();
    let (watch, results) = threads(live, builders, Counter::into_ledger, hooks)?;
    let mut ledger = Ledger::default();
    results.iter().for_each(|share| ledger.add(share));
    Ok(watch.outcome(vec![(); results.len()], ledger))
}

/// Runs each worker on its own thread: `builders` make the consumer of its frames there, `take_apart` returns its results.
fn threads<'a, C: Consume, T: Send>(
    live: Live,
    builders: Vec<(impl FnOnce(&mut Rings) -> C + Send, u64)>,
    take_apart: impl Fn(C) -> T + Sync,
    hooks: Hooks<'a>,
) -> Result<(Watch<'a>, Vec<T>), Error> {
    let pin = hooks.pin;
    let Live { workers, monitor, .. } = live;
    let mut watch = watch(hooks, monitor, builders.len())?;
    let shared = Arc::clone(&watch.shared);
    let results = thread::scope(|scope| {
        let mut threads = Vec::with_capacity(builders.len());
        for (index, ((build, memory_bytes), mut rings)) in builders.into_iter().zip(workers).enumerate() {
            let (shared, take_apart) = (&*shared, &take_apart);
            threads.push(scope.spawn(move || {
                // A consumer that panics is dropped: its inconsistent state is never seen.
                let run = AssertUnwindSafe(|| {
                    // Pinning may be forbidden: the worker runs anyway.
                    let cpu = if pin { wait::pin(index).ok() } else { None };
                    let engine = build(&mut rings);
                    let mut work = Work::new(index, rings, engine, shared, cpu, memory_bytes);
                    while !shared.is_over() {
                        work.step();
                    }
                    work.finish();
                    take_apart(work.engine)
                });
                let result = catch_unwind(run).map_err(|panic| message(panic.as_ref()));
                if result.is_err() {
                    shared.stop.store(true, Ordering::Relaxed);
                }
                result
            }));
        }
        // A callback that panics must not leave the workers running, which this scope waits for.
        let stop_workers = StopOnDrop(&shared.stop);
        while !watch.look() && !threads.iter().any(|thread| thread.is_finished()) {
            thread::sleep(TICK);
        }
        drop(stop_workers);
        let join = |thread: thread::ScopedJoinHandle<'_, Result<_, String>>| {
            thread.join().unwrap_or_else(|panic| Err(message(panic.as_ref())))
        };
        threads.into_iter().map(join).collect::<Vec<_>>()
    });
    let failed =
        |(index, result): (usize, Result<T, String>)| result.map_err(|message| Error::Worker { index, message });
    let results = results.into_iter().enumerate().map(failed).collect::<Result<Vec<_>, _>>()?;
    Ok((watch, results))
}

/// Stops the workers when it is dropped.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
