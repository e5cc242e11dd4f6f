//! Workers over interfaces, and what is looked at beside them.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use tidewire_capture::{
    Error as CaptureError,
    live::{Live, Monitor, TICK, Worker as Rings},
    sys::wait,
};
use tidewire_core::{Config, Engine, Handler, Ledger, Share};

use super::{
    LiveReport, WorkerReport,
    work::{Shared, Work},
};
use crate::{Error, Outcome, Stop, run::Worker, run::message};

/// How often a report is made.
const REPORT: Duration = Duration::from_millis(200);

/// What is called with reports.
pub(crate) type OnReport<'a> = Option<Box<dyn FnMut(&LiveReport) + 'a>>;
/// What is called with what went wrong with an interface and did not end the run.
pub(crate) type OnTrouble<'a> = Option<Box<dyn FnMut(&CaptureError) + 'a>>;

/// What goes on beside the workers: reports, troubles, the wish to stop.
pub(crate) struct Beside<'a> {
    pub stop: Stop,
    pub duration: Option<Duration>,
    /// Frames after which it ends.
    pub most: Option<u64>,
    pub pin: bool,
    pub on_report: OnReport<'a>,
    pub on_trouble: OnTrouble<'a>,
}

/// The part of it that a run keeps.
struct Watch<'a> {
    beside: Beside<'a>,
    monitor: Monitor,
    shared: Arc<Shared>,
    begun: Instant,
    reported: Instant,
    interrupted: bool,
}

impl Watch<'_> {
    /// Looks at clocks and at what workers told; true: it is time to end.
    fn look(&mut self) -> bool {
        self.interrupted |= self.beside.stop.is_raised();
        let over = self.interrupted || self.beside.duration.is_some_and(|most| self.begun.elapsed() >= most);
        if self.reported.elapsed() >= REPORT {
            self.report();
        }
        over || self.shared.is_over()
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
        if let Some(call) = &mut self.beside.on_trouble {
            troubles.iter().for_each(call);
        }
        if let Some(call) = &mut self.beside.on_report {
            call(&report);
        }
        report
    }

    fn outcome<H>(mut self, handlers: Vec<H>, ledger: Ledger) -> Outcome<H> {
        let report = self.report();
        Outcome {
            handlers,
            ledger,
            damages: Vec::new(),
            elapsed: self.begun.elapsed(),
            interrupted: self.interrupted,
            live: Some(report),
        }
    }
}

fn watch(beside: Beside<'_>, monitor: Monitor, workers: usize) -> Watch<'_> {
    let shared = Shared::new(workers, beside.most);
    let now = Instant::now();
    Watch { beside, monitor, shared, begun: now, reported: now, interrupted: false }
}

fn work<'s, H: Handler>(
    index: usize,
    mut rings: Rings,
    config: Config,
    (handler, classifier): Worker<H>,
    shared: &'s Shared,
    pin: bool,
) -> Work<'s, H> {
    let memory_bytes = config.memory_bytes;
    let mut engine = Engine::new(config, Share::ALL, handler);
    if let Some(classifier) = classifier {
        engine.set_classifier(classifier);
    }
    if let Some(shunt) = rings.take_shunt() {
        engine.set_shunt(shunt);
    }
    // Where it may not be bound, it runs all the same.
    let cpu = if pin { wait::pin(index).ok() } else { None };
    Work { index, rings, engine, shared, cpu, memory_bytes, told: Instant::now() }
}

/// One worker on the calling thread, which also looks after the rest.
pub(crate) fn alone<H: Handler>(live: Live, config: Config, worker: Worker<H>, beside: Beside<'_>) -> Outcome<H> {
    let mut watch = watch(beside, live.monitor, 1);
    let shared = Arc::clone(&watch.shared);
    // The caller's thread is not ours to bind.
    let Some(rings) = live.workers.into_iter().next() else { return watch.outcome(Vec::new(), Ledger::default()) };
    let mut work = work(0, rings, config, worker, &shared, false);
    while !watch.look() {
        work.step();
    }
    work.finish();
    let (handler, ledger) = work.engine.into_parts();
    watch.outcome(vec![handler], ledger)
}

/// Several workers, each on a thread of its own.
pub(crate) fn together<H: Handler + Send>(
    live: Live,
    config: &Config,
    workers: Vec<Worker<H>>,
    beside: Beside<'_>,
) -> Result<Outcome<H>, Error> {
    let pin = beside.pin;
    let mut watch = watch(beside, live.monitor, workers.len());
    let shared = Arc::clone(&watch.shared);
    let results = thread::scope(|scope| {
        let mut threads = Vec::with_capacity(workers.len());
        for (index, (worker, rings)) in workers.into_iter().zip(live.workers).enumerate() {
            let shared = &*shared;
            threads.push(scope.spawn(move || {
                // The handler is dropped with the engine when it panics: nobody sees it half changed.
                let run = AssertUnwindSafe(|| {
                    let mut work = work(index, rings, config.clone(), worker, shared, pin);
                    while !shared.is_over() {
                        work.step();
                    }
                    work.finish();
                    work.engine.into_parts()
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
    let mut handlers = Vec::with_capacity(results.len());
    let mut ledger = Ledger::default();
    for (index, result) in results.into_iter().enumerate() {
        let (handler, share) = result.map_err(|message| Error::Worker { index, message })?;
        handlers.push(handler);
        ledger.add(&share);
    }
    Ok(watch.outcome(handlers, ledger))
}
