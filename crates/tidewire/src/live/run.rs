//! Workers over interfaces, and what is looked at beside them.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use tidewire_core::{Config, Deliver, Engine, Ledger, Share};
use tidewire_live::{
    Error as LiveError, InterfaceEvent, InterfaceReport, Live, Monitor, TICK, Worker as Rings, sys::wait,
};

use super::{
    LiveReport, WorkerReport,
    count::Counter,
    work::{Consume, Shared, Work},
};
use crate::{
    Error, Outcome, Stop,
    worker::{Worker, message},
};

/// How often a report is made.
const REPORT: Duration = Duration::from_millis(200);

/// What is called with reports.
pub(crate) type OnReport<'a> = Option<Box<dyn FnMut(&LiveReport) + 'a>>;
/// What is called with what went wrong with an interface and did not end the run.
pub(crate) type OnTrouble<'a> = Option<Box<dyn FnMut(&LiveError) + 'a>>;

/// What is called with what became of an interface.
pub(crate) type OnEvent<'a> = Option<Box<dyn FnMut(&InterfaceEvent) + 'a>>;

/// What is called when everything is open and nothing has begun.
pub(crate) type BeforeStart<'a> = Option<Box<dyn FnOnce(&[InterfaceReport]) -> Result<(), LiveError> + 'a>>;

/// What goes on beside the workers: reports, troubles, the wish to stop.
#[derive(Default)]
pub(crate) struct Hooks<'a> {
    pub stop: Stop,
    pub duration: Option<Duration>,
    /// Frames after which it ends.
    pub most: Option<u64>,
    pub pin: bool,
    pub before_start: BeforeStart<'a>,
    pub on_report: OnReport<'a>,
    pub on_trouble: OnTrouble<'a>,
    pub on_event: OnEvent<'a>,
}

/// The part of it that a run keeps.
struct Watch<'a> {
    hooks: Hooks<'a>,
    monitor: Monitor,
    shared: Arc<Shared>,
    begun: Instant,
    reported: Instant,
    interrupted: bool,
}

impl Watch<'_> {
    /// Looks at clocks and at what workers told; true: it is time to end.
    fn look(&mut self) -> bool {
        self.interrupted |= self.hooks.stop.is_stopped();
        let over = self.interrupted || self.hooks.duration.is_some_and(|most| self.begun.elapsed() >= most);
        if self.reported.elapsed() >= REPORT {
            self.report();
        }
        let over = over || self.shared.is_over();
        if over {
            // What comes from now on is nobody's, and counted nowhere.
            self.monitor.stop();
        }
        over
    }

    fn report(&mut self) -> LiveReport {
        self.reported = Instant::now();
        let mut troubles = mem::take(&mut *self.shared.troubles.lock().unwrap_or_else(PoisonError::into_inner));
        let interfaces = self.monitor.report().unwrap_or_else(|error| {
            troubles.push(error);
            Vec::new()
        });
        let told = |place: &Mutex<WorkerReport>| place.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let workers = self.shared.told.iter().map(told).collect();
        let report = LiveReport { elapsed: self.begun.elapsed(), interfaces, workers };
        let events = self.monitor.events().unwrap_or_else(|error| {
            troubles.push(error);
            Vec::new()
        });
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
        Outcome {
            handlers,
            ledger,
            input_errors: Vec::new(),
            elapsed: self.begun.elapsed(),
            interrupted: self.interrupted,
            live: Some(report),
        }
    }
}

/// Everything is open: tells whoever wanted to know before it begins.
fn watch(mut hooks: Hooks<'_>, mut monitor: Monitor, workers: usize) -> Result<Watch<'_>, Error> {
    if let Some(call) = hooks.before_start.take() {
        call(&monitor.report()?)?;
    }
    let shared = Shared::new(workers, hooks.most);
    let now = Instant::now();
    Ok(Watch { hooks, monitor, shared, begun: now, reported: now, interrupted: false })
}

/// An engine over these rings.
fn engine<H: Deliver>(rings: &mut Rings, config: Config, (handler, classifier): Worker<H>) -> Engine<H> {
    let mut engine = Engine::new(config, Share::ALL, handler);
    if let Some(classifier) = classifier {
        engine.set_classifier(classifier);
    }
    if let Some(shunt) = rings.take_shunt() {
        engine.set_shunt(shunt);
    }
    engine
}

/// One worker on the calling thread, which also looks after the rest.
pub(crate) fn run_single<H: Deliver>(
    live: Live,
    config: Config,
    worker: Worker<H>,
    hooks: Hooks<'_>,
) -> Result<Outcome<H>, Error> {
    let memory_bytes = config.memory_bytes();
    let Live { workers, monitor } = live;
    let mut watch = watch(hooks, monitor, 1)?;
    let shared = Arc::clone(&watch.shared);
    // The caller's thread is not ours to bind.
    let Some(mut rings) = workers.into_iter().next() else { return Ok(watch.outcome(Vec::new(), Ledger::default())) };
    let engine = engine(&mut rings, config, worker);
    let mut work = Work { index: 0, rings, engine, shared: &shared, cpu: None, memory_bytes, told: Instant::now() };
    while !watch.look() {
        work.step();
    }
    work.finish();
    let (handler, ledger) = work.engine.into_parts();
    Ok(watch.outcome(vec![handler], ledger))
}

/// Several workers, each on a thread of its own.
pub(crate) fn run_threads<H: Deliver + Send>(
    live: Live,
    config: &Config,
    workers: Vec<Worker<H>>,
    hooks: Hooks<'_>,
) -> Result<Outcome<H>, Error> {
    let memory_bytes = config.memory_bytes();
    let builders = workers.into_iter().map(|worker| {
        let build = move |rings: &mut Rings| engine(rings, config.clone(), worker);
        (build, memory_bytes)
    });
    let (watch, results) = threads(live, builders.collect(), Engine::into_parts, hooks)?;
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

/// Runs each worker on a thread of its own: `builders` make what consumes its frames there, `take_apart` says what is left
/// of it.
fn threads<'a, C: Consume, T: Send>(
    live: Live,
    builders: Vec<(impl FnOnce(&mut Rings) -> C + Send, u64)>,
    take_apart: impl Fn(C) -> T + Sync,
    hooks: Hooks<'a>,
) -> Result<(Watch<'a>, Vec<T>), Error> {
    let pin = hooks.pin;
    let Live { workers, monitor } = live;
    let mut watch = watch(hooks, monitor, builders.len())?;
    let shared = Arc::clone(&watch.shared);
    let results = thread::scope(|scope| {
        let mut threads = Vec::with_capacity(builders.len());
        for (index, ((build, memory_bytes), mut rings)) in builders.into_iter().zip(workers).enumerate() {
            let (shared, take_apart) = (&*shared, &take_apart);
            threads.push(scope.spawn(move || {
                // What consumed its frames is dropped when it panics: nobody sees it half changed.
                let run = AssertUnwindSafe(|| {
                    // Where it may not be bound, it runs all the same.
                    let cpu = if pin { wait::pin(index).ok() } else { None };
                    let engine = build(&mut rings);
                    let mut work = Work { index, rings, engine, shared, cpu, memory_bytes, told: Instant::now() };
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
        while !watch.look() && !threads.iter().any(|thread| thread.is_finished()) {
            thread::sleep(TICK);
        }
        shared.stop.store(true, Ordering::Relaxed);
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
