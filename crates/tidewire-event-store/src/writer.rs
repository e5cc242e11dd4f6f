//! A thread that writes: what comes within 20 ms is stored together, and acknowledged when it is durable.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crate::{
    batch::Batch, clock::Now, error::Error, positions::Destination, progress::RestoreProgress, retention::Limits,
    store::Store,
};

/// Closed folds that wait to be joined.
const CLOSED_MAX: usize = 4096;

/// Attempts that fail by damage before the writer gives up: opening the store again recovers it, trying again does not.
const DAMAGED_MAX: u32 = 3;
/// How often the end of its thread is looked for.
const LOOK: Duration = Duration::from_millis(2);
/// Between two steps of checking what was not checked when the store was opened.
const CHECK_EVERY: Duration = Duration::from_millis(20);

/// How a writer gathers and retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriterSettings {
    /// Records after which it stores. Default 1,000: flushing the disk takes some milliseconds, however much there is.
    pub records: usize,
    /// Time after which it stores. Default 20 ms.
    pub wait: Duration,
    /// Batches that wait for it, at most; then [`Writer::submit`] waits. Default 64.
    pub batches_max: usize,
    /// How old and how large the store may become.
    pub limits: Limits,
    /// Between two looks at these limits. Default 1 s.
    pub retain_every: Duration,
    /// Longest pause between attempts after a failure. Default 1 s; the first is 10 ms.
    pub retry_max: Duration,
}

impl Default for WriterSettings {
    fn default() -> Self {
        Self {
            records: 1000,
            wait: Duration::from_millis(20),
            batches_max: 64,
            limits: Limits::default(),
            retain_every: Duration::from_secs(1),
            retry_max: Duration::from_secs(1),
        }
    }
}

/// State of a writer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriterStatus {
    /// Records that are durable.
    pub records: u64,
    /// Events in them.
    pub events: u64,
    /// Transactions.
    pub commits: u64,
    /// Attempts that failed.
    pub failures: u64,
    /// Records that were removed.
    pub removed: u64,
    /// Records that were joined with others of their fold.
    pub joined: u64,
    /// Bytes of the store that are in use, as of the last look at its limits.
    pub store_bytes: u64,
    /// Whether it has looked at them.
    pub has_looked: bool,
    /// How far destinations are, as of then.
    pub destinations: Vec<Destination>,
    /// Positions of destinations that were refused, because no record is there.
    pub refused_positions: u64,
    /// The last of these.
    pub refused_position: Option<(String, u64)>,
    /// The failure that is being retried, with the path; `None`: all is well.
    pub failing: Option<String>,
    /// Why nothing can be stored any more: the store is damaged, or was replaced. It has to be opened again.
    pub broken: Option<Broken>,
    /// Progress of the restoration of a store that was removed while it was open.
    pub restore_progress: Option<RestoreProgress>,
}

/// Why a store has to be opened again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The failure, with the path.
    pub cause: String,
    /// Whether a link is in the place of the store: it cannot be opened before that is gone.
    pub is_link: bool,
}

/// Called when a batch is durable, with the number of the last record stored with it; or when the writer stopped before.
pub type Done = Box<dyn FnOnce(Result<u64, Error>) + Send>;

struct Job {
    batch: Batch,
    done: Done,
}

/// A thread that writes a store.
pub struct Writer {
    path: PathBuf,
    jobs: Option<SyncSender<Job>>,
    /// Returns the store, unless it is closed there.
    thread: Option<JoinHandle<Option<Store>>>,
    status: Arc<Mutex<WriterStatus>>,
    stop: Arc<Ending>,
}

/// Whether the thread is to end; that wakes it from a pause.
#[derive(Default)]
struct Ending {
    is_set: Mutex<bool>,
    set: Condvar,
    /// Whether the thread closes the store.
    closes: AtomicBool,
}

impl Ending {
    fn set(&self) {
        *self.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.set.notify_all();
    }

    fn is_set(&self) -> bool {
        *self.is_set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for so long, or until it is set.
    fn pause(&self, most: Duration) {
        let is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.set.wait_timeout_while(is_set, most, |is_set| !*is_set));
    }
}

impl Writer {
    /// Starts it.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(store: Store, settings: WriterSettings) -> Result<Self, Error> {
        let (jobs, queue) = sync_channel(settings.batches_max.max(1));
        let (status, stop) = (Arc::<Mutex<WriterStatus>>::default(), Arc::<Ending>::default());
        let path = store.path().to_owned();
        let work = Work {
            store,
            settings,
            status: Arc::clone(&status),
            stop: Arc::clone(&stop),
            closed: VecDeque::new(),
            stored: (0, 0),
            damaged: 0,
            is_retaining: true,
            looked: None,
            checked: Instant::now(),
        };
        let thread = std::thread::Builder::new().name("events".into()).spawn(move || work.run_to_end(&queue));
        let thread = thread.map_err(Error::file(&path, "starting its thread"))?;
        Ok(Self { path, jobs: Some(jobs), thread: Some(thread), status, stop })
    }

    /// Gives a batch to it, waiting while too many wait. Batches are stored in the order in which they are given.
    pub fn submit(&self, batch: Batch, done: impl FnOnce(Result<u64, Error>) + Send + 'static) {
        let job = Job { batch, done: Box::new(done) };
        let Some(jobs) = &self.jobs else { return };
        if let Err(error) = jobs.send(job) {
            (error.0.done)(Err(Error::Stopped { path: self.path.clone(), cause: "its thread has ended".into() }));
        }
    }

    /// As [`submit`](Self::submit), but where too many batches wait, it gives the batch back instead of waiting.
    #[must_use]
    pub fn try_submit(&self, batch: Batch, done: Done) -> Option<(Batch, Done)> {
        let Some(jobs) = &self.jobs else { return Some((batch, done)) };
        match jobs.try_send(Job { batch, done }) {
            Ok(()) => None,
            Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) => Some((job.batch, job.done)),
        }
    }

    /// Its state.
    #[must_use]
    pub fn status(&self) -> WriterStatus {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Positions of destinations; `None` before the first look.
    #[must_use]
    pub fn destinations(&self) -> Option<Vec<Destination>> {
        let status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.has_looked.then(|| status.destinations.clone())
    }

    /// How many positions were refused because no record is there, and the last of them.
    #[must_use]
    pub fn refused_positions(&self) -> (u64, Option<(String, u64)>) {
        let status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        (status.refused_positions, status.refused_position.clone())
    }

    /// Why nothing can be stored any more.
    #[must_use]
    pub fn broken(&self) -> Option<Broken> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).broken.clone()
    }

    /// Stores what waits and ends, without a pause between attempts. What cannot be stored at one more attempt is given back as stopped.
    #[must_use]
    pub fn finish(mut self) -> Option<Store> {
        self.end()
    }

    /// As [`finish`](Self::finish), but waits for at most so long: a disk that hangs keeps its thread, not the caller. Returns whether
    /// the thread has ended; its [`status`](Self::status) can still be read.
    pub fn finish_within(&mut self, most: Duration) -> bool {
        let until = Instant::now() + most;
        self.close();
        while self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) && Instant::now() < until {
            std::thread::sleep(LOOK);
        }
        self.thread.take().is_none_or(|thread| thread.is_finished())
    }

    /// Stores what waits and closes the store on the writer's own thread, which may take long: the store may be put back.
    /// [`status`](Self::status) has the progress, until [`is_closed`](Self::is_closed).
    pub fn begin_close(&mut self) {
        self.stop.closes.store(true, Ordering::Relaxed);
        self.close();
    }

    /// Whether its thread has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn close(&mut self) {
        self.stop.set();
        drop(self.jobs.take());
    }

    fn end(&mut self) -> Option<Store> {
        self.close();
        self.thread.take().and_then(|thread| thread.join().ok()).flatten()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.end());
    }
}

/// State of the writer's thread.
struct Work {
    store: Store,
    settings: WriterSettings,
    status: Arc<Mutex<WriterStatus>>,
    stop: Arc<Ending>,
    /// Closed folds whose records may be joined.
    closed: VecDeque<u64>,
    /// Records and their bytes that were stored since the last step, while retention has more to do.
    stored: (u64, u64),
    /// Attempts that failed by damage, one after the other.
    damaged: u32,
    /// Retention has more to do.
    is_retaining: bool,
    /// When the limits were looked at.
    looked: Option<Instant>,
    /// When it was checked last.
    checked: Instant,
}

impl Work {
    /// Runs until the queue is closed. Returns the store, if it is not closed here.
    fn run_to_end(mut self, queue: &Receiver<Job>) -> Option<Store> {
        self.run(queue);
        let Self { store, status, stop, .. } = self;
        if !stop.closes.load(Ordering::Relaxed) {
            return Some(store);
        }
        store.close_with(|progress| {
            status.lock().unwrap_or_else(PoisonError::into_inner).restore_progress = Some(progress);
        });
        None
    }

    fn run(&mut self, queue: &Receiver<Job>) {
        loop {
            match queue.recv_timeout(self.idle()) {
                Ok(first) => {
                    let (batches, done) = self.gather(first, queue);
                    self.closed.extend(batches.iter().flat_map(|batch| &batch.closed));
                    // To join them only saves space: those that wait for long stay as they are.
                    self.closed.drain(..self.closed.len().saturating_sub(CLOSED_MAX));
                    self.store(&batches, done);
                }
                Err(RecvTimeoutError::Timeout) => self.join(),
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.is_broken() {
                continue;
            }
            let is_due = self.looked.is_none_or(|looked| looked.elapsed() >= self.settings.retain_every);
            if is_due || self.is_retaining {
                self.retain(is_due);
            }
            self.check();
        }
    }

    /// How long nothing has to be done.
    fn idle(&self) -> Duration {
        if self.is_broken() {
            self.settings.retain_every
        } else if !self.closed.is_empty() || self.is_retaining {
            Duration::from_millis(1)
        } else if self.store.is_unchecked() {
            CHECK_EVERY.min(self.settings.retain_every)
        } else {
            self.settings.retain_every
        }
    }

    /// Gathers jobs for one transaction: at least until there is enough or the time is over, and all that wait then.
    fn gather(&self, first: Job, queue: &Receiver<Job>) -> (Vec<Batch>, Vec<Done>) {
        let begun = Instant::now();
        let mut records = first.batch.records.len();
        let (mut batches, mut done) = (vec![first.batch], vec![first.done]);
        loop {
            let left = self.settings.wait.saturating_sub(begun.elapsed());
            let job = if records >= self.settings.records || left.is_zero() {
                queue.try_recv().ok()
            } else {
                queue.recv_timeout(left).ok()
            };
            let Some(job) = job else { break };
            records += job.batch.records.len();
            batches.push(job.batch);
            done.push(job.done);
            // The queue may be filled as fast as it is emptied. The more at once, the faster, and the later it is acknowledged.
            if batches.len() > self.settings.batches_max || records >= 64 * self.settings.records {
                break;
            }
        }
        (batches, done)
    }

    fn note(&self, change: impl FnOnce(&mut WriterStatus)) {
        change(&mut self.status.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Stores, again and again until it succeeds, the writer is stopped, or the store has to be opened again.
    fn store(&mut self, batches: &[Batch], done: Vec<Done>) {
        let mut pause = Duration::from_millis(10);
        loop {
            if let Some(Broken { cause, .. }) = self.broken() {
                let path = self.store.path();
                let broken = || Error::Broken { path: path.to_owned(), cause: cause.clone() };
                return done.into_iter().for_each(|done| done(Err(broken())));
            }
            let error = match self.store.append_all(batches) {
                Ok(last) => return self.acknowledge(batches, done, last),
                Err(error) => error,
            };
            let cause = error.to_string();
            self.fail(&error);
            if self.is_stopped() || matches!(error, Error::Record(_)) {
                let path = self.store.path();
                let stopped = || Error::Stopped { path: path.to_owned(), cause: cause.clone() };
                return done.into_iter().for_each(|done| done(Err(stopped())));
            }
            if self.is_broken() {
                continue;
            }
            self.stop.pause(pause);
            pause = (pause * 2).min(self.settings.retry_max);
            // Removed records make room in the file, where the disk has none.
            if error.is_full() {
                self.retain(false);
            }
            match self.store.reconnect() {
                Ok(true) => return self.acknowledge(batches, done, self.store.last_id()),
                Ok(false) => {}
                Err(error) => self.fail(&error),
            }
        }
    }

    /// Notes a failure. Damage does not go away by trying again: opening the store again recovers it.
    fn fail(&mut self, error: &Error) {
        // Files that are not its own any more fail in many ways, which say less.
        let replaced = (!error.is_damage() && self.store.is_replaced()).then(|| Error::replaced(self.store.path()));
        let error = replaced.as_ref().unwrap_or(error);
        let cause = error.to_string();
        self.damaged = if error.is_damage() { self.damaged + 1 } else { 0 };
        if self.damaged >= DAMAGED_MAX || matches!(error, Error::Damaged { .. } | Error::Replaced { .. }) {
            self.store.doubt();
            let is_link = matches!(error, Error::Replaced { link: Some(_), .. });
            self.note(|status| status.broken = Some(Broken { cause: cause.clone(), is_link }));
        }
        self.note(|status| {
            status.failures += 1;
            status.failing = Some(cause);
        });
    }

    fn broken(&self) -> Option<Broken> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).broken.clone()
    }

    fn is_broken(&self) -> bool {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).broken.is_some()
    }

    fn acknowledge(&mut self, batches: &[Batch], done: Vec<Done>, last: u64) {
        self.damaged = 0;
        let refused = self.store.take_refused();
        let bytes = |batch: &Batch| -> u64 {
            let records = batch.records.iter().map(|record| record.bytes().len() as u64);
            records.chain(batch.rows.iter().map(|row| row.bytes.len() as u64)).sum()
        };
        let counts = |batch: &Batch| -> (u64, u64) {
            let events = batch.records.iter().map(tidewire_events::Record::count).sum::<u64>();
            let rows = batch.rows.iter().map(|row| row.events).sum::<u64>();
            ((batch.records.len() + batch.rows.len()) as u64, events + rows)
        };
        let sum = |sum: (u64, u64), next: (u64, u64)| (sum.0 + next.0, sum.1 + next.1);
        let (records, events) = batches.iter().map(counts).fold((0, 0), sum);
        if self.is_retaining {
            self.stored.0 += records;
            self.stored.1 += batches.iter().map(bytes).sum::<u64>();
        }
        self.note(|status| {
            status.records += records;
            status.events += events;
            status.commits += 1;
            status.failing = None;
            status.refused_positions += refused.len() as u64;
            status.refused_position = refused.into_iter().next_back().or(status.refused_position.take());
        });
        done.into_iter().for_each(|done| done(Ok(last)));
    }

    /// Joins the records of a closed fold while there is nothing else to do.
    fn join(&mut self) {
        if self.is_broken() || self.is_replaced() {
            return;
        }
        let Some(fold) = self.closed.pop_front() else { return };
        // A fold that cannot be joined now stays as it is; an error of the disk is found by the next batch.
        let joined = self.store.join(fold).unwrap_or(0);
        self.note(|status| status.joined += joined);
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_set()
    }

    /// Removes what is beyond the limits: some, and twice as much as came since, so that batches wait in proportion to what they bring,
    /// and the store still gets smaller. `is_due`: also looks at everything else that changes slowly.
    fn retain(&mut self, is_due: bool) {
        if self.is_replaced() {
            self.looked = Some(Instant::now());
            return;
        }
        let (records, bytes) = std::mem::take(&mut self.stored);
        let (mut left_records, mut left_bytes) = (2 * records, 2 * bytes);
        loop {
            let step = match self.store.retain_step(&self.settings.limits, Now::read()) {
                Ok(step) => step,
                Err(error) => {
                    self.is_retaining = false;
                    self.looked = Some(Instant::now());
                    return self.fail(&error);
                }
            };
            self.note(|status| status.removed += step.records);
            self.is_retaining = step.has_more;
            (left_records, left_bytes) =
                (left_records.saturating_sub(step.records), left_bytes.saturating_sub(step.bytes));
            if !step.has_more || (left_records == 0 && left_bytes == 0) {
                break;
            }
        }
        if is_due {
            self.look();
        }
    }

    /// Whether its files are not its own any more: nothing is written then.
    fn is_replaced(&mut self) -> bool {
        let is_replaced = self.store.is_replaced();
        if is_replaced {
            self.fail(&Error::replaced(self.store.path()));
        }
        is_replaced
    }

    /// Looks at the store's size, and how far destinations are.
    fn look(&mut self) {
        self.looked = Some(Instant::now());
        match self.store.used_bytes().and_then(|bytes| Ok((bytes, self.store.destinations()?))) {
            Ok((store_bytes, destinations)) => self.note(|status| {
                (status.store_bytes, status.destinations, status.has_looked) = (store_bytes, destinations, true);
            }),
            Err(error) => self.fail(&error),
        }
    }

    /// Goes on checking what was not checked when the store was opened.
    fn check(&mut self) {
        if self.store.is_unchecked() && self.checked.elapsed() >= CHECK_EVERY {
            self.checked = Instant::now();
            if let Err(error) = self.store.check_step() {
                self.fail(&error);
            }
        }
    }
}
