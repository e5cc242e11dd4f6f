//! Blocks from the reader to the workers.
//!
//! Every block goes to every worker. A worker decodes every frame and keeps the flows of its share; both directions
//! have the same hash. Every worker puts fragments together, because only the whole datagram shows whose flow it is;
//! its owner processes it. Frames that belong to no flow, and the fates of fragments, are counted by worker 0 only. A
//! single worker runs on the caller's thread.
//!
//! Results are the same for any number of workers: ids are packet numbers of the input, time is the input's clock, and
//! flows are independent. The history reaches back by packets and bytes of the whole input, so that it is the same too.
//! Only what happens beyond a bound of one worker can differ: its part of the memory, tables, holes.
//!
//! **Every worker decodes everything.** Handing frames to their owners would need a queue a packet, or a second pass.
//! Decoding costs a few nanoseconds, and blocks can be borrowed by all. What does not scale this way is decoding
//! itself.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{Arc, PoisonError},
    thread,
    time::Duration,
};

use crossbeam_channel::{Receiver, Sender, bounded};
use tidewire_core::{Config, Engine, Handler, Ledger, Share};
use tidewire_files::Block;

use super::{
    history::FileHistory,
    input_loop::{InputLoop, Next, Published},
};
use crate::{
    Error, Outcome, Timestamp,
    frames::{Counted, FrameHandler},
    trace::{WorkerTrace, permille},
    worker::{Worker, message},
};

/// Blocks on their way to one worker, of 256 KiB each: enough that a worker that meets a costly block does not hold
/// up the others at once, few enough to stay in the cache that cores share.
const BLOCKS_QUEUED: usize = 8;

fn engine<H: Handler>(
    mut config: Config,
    share: Share,
    (handler, classifier): Worker<H>,
    again: Option<&Path>,
) -> Engine<H> {
    let remembers = config.history_segments() != 0;
    let (copy_bytes, near_bytes) = (config.history_copy_bytes(), FileHistory::near_bytes(config.history_copy_bytes()));
    let history = again.filter(|_| remembers).and_then(|path| FileHistory::open(path, near_bytes));
    if history.is_some() {
        config.set_history_copy_bytes(copy_bytes - near_bytes);
    }
    let mut engine = Engine::new(config, share, handler);
    if let Some(history) = history {
        engine.set_history(history);
    }
    if let Some(classifier) = classifier {
        engine.set_classifier(classifier);
    }
    engine
}

/// The clock after silence of an input: connections that are over are reported, and nothing else. Packets that wait
/// somewhere before us may have earlier timestamps than the wall clock.
fn silent_until(report: Option<Duration>, silence: Duration, clock: Timestamp) -> Timestamp {
    let due = report.filter(|report| silence > *report);
    due.map_or(Timestamp::UNIX_EPOCH, |report| clock.saturating_add(report + Duration::from_nanos(1)))
}

/// One worker on the calling thread, a step at a time.
pub(crate) struct SingleRun<'a, H: Handler> {
    input: InputLoop<'a>,
    engine: Engine<H>,
    block: Block,
    report: Option<Duration>,
    ledger: Option<Published>,
    /// The settings, until copies were looked for.
    unlearnt: Option<Config>,
    is_ending: bool,
    trace: WorkerTrace,
    memory_bytes: u64,
}

/// Streams closed in one step at the end of the input: few enough to keep until they are taken.
const CLOSED_AT_ONCE: usize = 64;

impl<'a, H: Handler> SingleRun<'a, H> {
    pub(crate) fn new(mut input: InputLoop<'a>, config: Config, worker: Worker<H>) -> Self {
        let report = config.report_closed();
        let engine = engine(config.clone(), Share::ALL, worker, input.again());
        let (ledger, memory_bytes) = (input.ledger(), config.memory_bytes());
        let trace = WorkerTrace::start(0, None);
        let (block, unlearnt) = (Block::new(), Some(config));
        Self { input, engine, block, report, ledger, unlearnt, is_ending: false, trace, memory_bytes }
    }

    /// Processes the next block, or at the end of the input closes some streams. `false`: every stream was closed.
    pub(crate) fn step(&mut self) -> bool {
        if self.is_ending {
            return self.engine.finish_some(CLOSED_AT_ONCE);
        }
        if let Some(mut config) = self.unlearnt.take() {
            self.input.learn(&mut config);
            self.engine.set_duplicates(config.duplicates());
        }
        match self.input.next(&mut self.block) {
            Next::Frames => {
                self.engine.note_losses(self.block.losses());
                self.engine.process(&self.block.batch());
                observe(&mut self.trace, &self.engine, self.memory_bytes);
                publish(&self.engine, self.ledger.as_ref());
            }
            Next::Silence(silence, clock) => {
                self.engine.report_silent_closes(silent_until(self.report, silence, clock));
            }
            Next::End => self.is_ending = true,
        }
        true
    }

    /// Ends every stream, whether the input has ended or not.
    pub(crate) fn end(&mut self) {
        self.engine.finish();
    }

    /// Whether the input ended, or the run was stopped.
    pub(crate) fn has_read_all(&self) -> bool {
        self.is_ending
    }

    pub(crate) fn handler(&mut self) -> &mut H {
        self.engine.handler()
    }

    /// The outcome of the run, once it has ended.
    pub(crate) fn outcome(self) -> Outcome<H> {
        let (handler, ledger) = self.engine.into_parts();
        let mut trace = self.trace;
        trace.end(&ledger);
        self.input.outcome(vec![handler], ledger)
    }
}

/// Hands every frame to the handlers (of which there is one), on the calling thread.
pub(super) fn run_frames<F: FrameHandler>(mut input: InputLoop<'_>, handlers: Vec<F>) -> Outcome<F> {
    let mut handlers: Vec<_> = handlers.into_iter().map(Counted::new).collect();
    let mut block = Block::new();
    if handlers.iter().any(|handler| handler.handler.wants_comments()) {
        input.keep_comments();
    }
    loop {
        let next = input.next(&mut block);
        let news = input.news(&next);
        for handler in &mut handlers {
            if matches!(next, Next::Frames) {
                handler.count(&block.batch());
            }
            news.hand(&next, &block, &mut handler.handler);
        }
        if matches!(next, Next::End) {
            break;
        }
    }
    let ledger = handlers.iter().fold(Ledger::default(), |mut sum, handler| {
        sum.add(&handler.ledger);
        sum
    });
    input.outcome(handlers.into_iter().map(|handler| handler.handler).collect(), ledger)
}

/// Runs several workers, each on its own thread. Every worker gets every block; the calling thread reads.
pub(super) fn run_threads<H: Handler + Send>(
    mut input: InputLoop<'_>,
    config: &Config,
    workers: Vec<Worker<H>>,
) -> Result<Outcome<H>, Error> {
    let count = workers.len();
    let mut config = config.clone();
    input.learn(&mut config);
    let config = &config;
    // The last worker to release a block returns it here.
    let (give_back, spare) = bounded(BLOCKS_QUEUED + 2);
    let again = input.again().map(Path::to_path_buf);
    let results = thread::scope(|scope| {
        let mut queues = Vec::with_capacity(count);
        let mut threads = Vec::with_capacity(count);
        for (index, worker) in workers.into_iter().enumerate() {
            let (queue, blocks) = bounded(BLOCKS_QUEUED);
            queues.push(queue);
            let share = Share::new(index as u32, count as u32);
            let (give_back, again, ledger) = (give_back.clone(), again.as_deref(), input.ledger());
            threads.push(scope.spawn(move || {
                // A handler that panics is dropped with its engine: its inconsistent state is never seen.
                let work = AssertUnwindSafe(|| {
                    let engine = engine(config.clone(), share, worker, again);
                    let watched = (WorkerTrace::start(index, None), config.memory_bytes());
                    work(engine, watched, &blocks, &give_back, ledger.as_ref())
                });
                catch_unwind(work).map_err(|panic| message(panic.as_ref()))
            }));
        }
        distribute(&mut input, &queues, &spare, config.report_closed());
        drop(queues);
        let join = |thread: thread::ScopedJoinHandle<'_, Result<_, String>>| {
            thread.join().unwrap_or_else(|panic| Err(message(panic.as_ref())))
        };
        threads.into_iter().map(join).collect::<Vec<_>>()
    });
    let mut handlers = Vec::with_capacity(count);
    let mut ledger = Ledger::default();
    for (index, result) in results.into_iter().enumerate() {
        let (handler, share) = result.map_err(|message| Error::Worker { index, message })?;
        handlers.push(handler);
        ledger.add(&share);
    }
    Ok(input.outcome(handlers, ledger))
}

/// Arguments of every worker.
#[derive(Clone)]
enum Handed {
    Frames(Arc<Block>),
    /// No packet came; see [`Engine::report_silent_closes`].
    Silence(Timestamp),
}

/// Reads block after block and hands each to every worker, until the input ends or a worker is gone.
fn distribute(input: &mut InputLoop<'_>, queues: &[Sender<Handed>], spare: &Receiver<Block>, report: Option<Duration>) {
    let mut unused = None;
    loop {
        // Never waits for a spare block: the queues bound the blocks in flight, and a worker that panics may keep some.
        let mut block = unused.take().or_else(|| spare.try_recv().ok()).unwrap_or_default();
        let handed = match input.next(&mut block) {
            Next::Frames => Handed::Frames(Arc::new(block)),
            Next::Silence(silence, clock) => {
                unused = Some(block);
                Handed::Silence(silent_until(report, silence, clock))
            }
            Next::End => return,
        };
        for queue in queues {
            if queue.send(handed.clone()).is_err() {
                return;
            }
        }
    }
}

/// Reports overload, and bounds that were reached.
#[inline]
fn observe<H: Handler>(trace: &mut WorkerTrace, engine: &Engine<H>, memory_bytes: u64) {
    trace.level(|| permille(engine.buffered_bytes(), memory_bytes));
    trace.bounds(engine.ledger());
}

/// Publishes the ledger of a worker, if a slot is attached.
fn publish<H: Handler>(engine: &Engine<H>, ledger: Option<&Published>) {
    if let Some(ledger) = ledger {
        ledger.lock().unwrap_or_else(PoisonError::into_inner).clone_from(engine.ledger());
    }
}

fn work<H: Handler>(
    mut engine: Engine<H>,
    (mut trace, memory_bytes): (WorkerTrace, u64),
    queue: &Receiver<Handed>,
    give_back: &Sender<Block>,
    ledger: Option<&Published>,
) -> (H, Ledger) {
    for handed in queue {
        let block = match handed {
            Handed::Frames(block) => block,
            Handed::Silence(clock) => {
                engine.report_silent_closes(clock);
                continue;
            }
        };
        engine.note_losses(block.losses());
        engine.process(&block.batch());
        observe(&mut trace, &engine, memory_bytes);
        publish(&engine, ledger);
        if let Some(block) = Arc::into_inner(block) {
            // The channel is full if the reader has enough blocks: then this one is freed.
            let _ = give_back.try_send(block);
        }
    }
    engine.finish();
    trace.end(engine.ledger());
    engine.into_parts()
}
