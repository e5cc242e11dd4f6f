//! A thread that writes: what comes within 20 ms is stored together, and acknowledged when it is durable.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use crate::{
    error::Error,
    positions::Destination,
    retention::Limits,
    store::{Batch, Store, now_ns},
};

/// Closed folds that wait to be joined.
const CLOSED_MAX: usize = 4096;

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

/// What a writer has done.
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
    /// The failure that is being retried, with the path; `None`: all is well.
    pub failing: Option<String>,
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
    thread: Option<JoinHandle<Store>>,
    status: Arc<Mutex<WriterStatus>>,
    stop: Arc<Mutex<bool>>,
}

impl Writer {
    /// Starts it.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(store: Store, settings: WriterSettings) -> Result<Self, Error> {
        let (jobs, queue) = sync_channel(settings.batches_max.max(1));
        let (status, stop) = (Arc::<Mutex<WriterStatus>>::default(), Arc::<Mutex<bool>>::default());
        let path = store.path().to_owned();
        let work =
            Work { store, settings, status: Arc::clone(&status), stop: Arc::clone(&stop), closed: VecDeque::new() };
        let thread = std::thread::Builder::new().name("events".into()).spawn(move || work.run(&queue));
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

    /// What it has done.
    #[must_use]
    pub fn status(&self) -> WriterStatus {
        self.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How far destinations are; `None` before they were looked at.
    #[must_use]
    pub fn destinations(&self) -> Option<Vec<Destination>> {
        let status = self.status.lock().unwrap_or_else(PoisonError::into_inner);
        status.has_looked.then(|| status.destinations.clone())
    }

    /// Stores what waits and ends. What cannot be stored at the first attempt is given back as stopped.
    #[must_use]
    pub fn finish(mut self) -> Option<Store> {
        self.end()
    }

    fn end(&mut self) -> Option<Store> {
        *self.stop.lock().unwrap_or_else(PoisonError::into_inner) = true;
        drop(self.jobs.take());
        self.thread.take().and_then(|thread| thread.join().ok())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.end());
    }
}

/// What the thread has.
struct Work {
    store: Store,
    settings: WriterSettings,
    status: Arc<Mutex<WriterStatus>>,
    stop: Arc<Mutex<bool>>,
    /// Closed folds whose records may be joined.
    closed: VecDeque<u64>,
}

impl Work {
    fn run(mut self, queue: &Receiver<Job>) -> Store {
        let mut retained = Instant::now().checked_sub(self.settings.retain_every);
        loop {
            let idle = if self.closed.is_empty() { self.settings.retain_every } else { Duration::from_millis(1) };
            match queue.recv_timeout(idle) {
                Ok(first) => {
                    let (batches, done) = self.gather(first, queue);
                    self.closed.extend(batches.iter().flat_map(|batch| &batch.closed));
                    // To join them only saves space: those that wait for long stay as they are.
                    self.closed.drain(..self.closed.len().saturating_sub(CLOSED_MAX));
                    self.store(&batches, done);
                }
                Err(RecvTimeoutError::Timeout) => self.join(),
                Err(RecvTimeoutError::Disconnected) => return self.store,
            }
            if retained.is_none_or(|retained| retained.elapsed() >= self.settings.retain_every) {
                self.retain();
                retained = Some(Instant::now());
            }
        }
    }

    /// What is stored together: at least until there is enough or the time is over, and all that waits then.
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

    /// Stores, again and again until it succeeds or the writer is stopped.
    fn store(&mut self, batches: &[Batch], done: Vec<Done>) {
        let mut pause = Duration::from_millis(10);
        loop {
            let error = match self.store.append_all(batches) {
                Ok(last) => return self.acknowledge(batches, done, last),
                Err(error) => error,
            };
            let cause = error.to_string();
            self.note(|status| {
                status.failures += 1;
                status.failing = Some(cause.clone());
            });
            if self.is_stopped() || matches!(error, Error::Record(_)) {
                let path = self.store.path();
                let stopped = || Error::Stopped { path: path.to_owned(), cause: cause.clone() };
                return done.into_iter().for_each(|done| done(Err(stopped())));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(self.settings.retry_max);
            // What is removed makes room in the file, where the disk has none.
            if error.is_full() {
                self.retain();
            }
            match self.store.reconnect() {
                Ok(true) => return self.acknowledge(batches, done, self.store.last_id()),
                Ok(false) => {}
                Err(error) => self.note(|status| status.failing = Some(error.to_string())),
            }
        }
    }

    fn acknowledge(&self, batches: &[Batch], done: Vec<Done>, last: u64) {
        let counts = |batch: &Batch| -> (u64, u64) {
            let events = batch.records.iter().map(tidewire_events::Record::count).sum::<u64>();
            let rows = batch.rows.iter().map(|row| row.events).sum::<u64>();
            ((batch.records.len() + batch.rows.len()) as u64, events + rows)
        };
        let sum = |sum: (u64, u64), next: (u64, u64)| (sum.0 + next.0, sum.1 + next.1);
        let (records, events) = batches.iter().map(counts).fold((0, 0), sum);
        self.note(|status| {
            status.records += records;
            status.events += events;
            status.commits += 1;
            status.failing = None;
        });
        done.into_iter().for_each(|done| done(Ok(last)));
    }

    /// Joins the records of a closed fold while there is nothing else to do.
    fn join(&mut self) {
        let Some(fold) = self.closed.pop_front() else { return };
        // What cannot be joined now is none the worse for it; what is wrong with the disk is found by the next batch.
        let joined = self.store.join(fold).unwrap_or(0);
        self.note(|status| status.joined += joined);
    }

    fn is_stopped(&self) -> bool {
        *self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn retain(&mut self) {
        let retained = self.store.retain(&self.settings.limits, now_ns());
        let looked = retained.and_then(|removed| Ok((removed, self.store.used_bytes()?, self.store.destinations()?)));
        match looked {
            Ok((removed, store_bytes, destinations)) => self.note(|status| {
                status.removed += removed;
                (status.store_bytes, status.destinations, status.has_looked) = (store_bytes, destinations, true);
            }),
            Err(error) => self.note(|status| {
                status.failures += 1;
                status.failing = Some(error.to_string());
            }),
        }
    }
}
