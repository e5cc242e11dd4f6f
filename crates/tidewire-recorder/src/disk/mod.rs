//! From buffers to the segments of directories.

mod attempts;
mod closer;
mod cores;
mod digester;
mod pipeline;
mod reserver;
mod slots;
mod troubles;
mod writer;
mod written;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use tidewire::Stop;
use tidewire_archive::{Directory, Error, Removed, Repaired, Retention, SegmentName};
use tidewire_types::counted;

use cores::Cores;
pub(crate) use pipeline::Pipeline;
use slots::Slots;
use troubles::Trouble;
pub(crate) use writer::Job;

/// Segments of a worker that wait for their completion at most: each holds an index in memory.
const CLOSINGS_MAX: usize = 4;

/// A report to the user.
#[derive(Debug)]
#[non_exhaustive]
pub enum Notice {
    /// Something failed. `retries`: it is tried again until it works.
    Failed {
        /// What, and where.
        error: Arc<Error>,
        /// Whether it is tried again.
        retries: bool,
    },
    /// The same error came again, for other files too, and was not reported each time.
    Repeated {
        /// The directory.
        path: PathBuf,
        /// The last one.
        error: Arc<Error>,
        /// How often it was not reported.
        times: u64,
    },
    /// Notes that the failed operation works again.
    Recovered {
        /// The directory.
        path: PathBuf,
        /// Errors since it failed that were not reported.
        unreported: u64,
    },
    /// Something of a segment was lost: what is good of it was completed.
    Repaired {
        /// Its result.
        repaired: Repaired,
    },
    /// A segment was removed to keep within bounds.
    Removed {
        /// The directory.
        path: PathBuf,
        /// The segment.
        removed: Removed,
    },
}

impl Notice {
    /// Its text for people; `None`: it is nothing unusual.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        Some(match self {
            Self::Failed { error, retries: true } => {
                format!("{error}; recording goes on in memory, and on the disk when it can")
            }
            Self::Failed { error, retries: false } => error.to_string(),
            Self::Recovered { path, unreported: 0 } => format!("{}: recording goes on", path.display()),
            Self::Recovered { path, unreported } => {
                let more = counted(*unreported, "more attempt failed", "more attempts failed");
                format!("{}: {more} meanwhile; recording goes on", path.display())
            }
            Self::Repeated { path, error, times } => {
                let times = counted(*times, "more time", "more times");
                format!("{}: {times} the same (last: {error})", path.display())
            }
            Self::Repaired { repaired } => repaired.to_string(),
            Self::Removed { .. } => return None,
        })
    }
}

type Notify = dyn Fn(Notice) + Send + Sync;

/// Directories that segments go to in turn, and what is done about them.
pub struct Targets {
    pub(crate) directories: Vec<Directory>,
    pub(crate) retention: Retention,
    /// Segments of each directory that have no name yet.
    pub(crate) slots: Vec<Arc<Slots>>,
    /// Processors that its threads may use: the processors of the thread that made it.
    pub(crate) cores: Cores,
    notify: Box<Notify>,
    /// Ends the run where it cannot go on.
    stop: Stop,
    /// Which directories refuse to be written to.
    refuses: Vec<AtomicBool>,
    /// Reported errors of each directory.
    troubles: Vec<Mutex<Trouble>>,
    /// The last segment of each directory's workers that is to end because something of it was lost: its worker and number.
    spoiled: Vec<AtomicU64>,
}

impl std::fmt::Debug for Targets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Targets").field("directories", &self.directories).finish_non_exhaustive()
    }
}

impl Targets {
    /// At least one directory, kept within `retention` each. Threads that write run where the caller may, not on the one processor of
    /// a capture thread. `notify` is called from several threads; `stop` ends the run when it
    /// cannot go on.
    pub fn new(
        mut directories: Vec<Directory>,
        retention: Retention,
        workers: usize,
        stop: &Stop,
        notify: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Self {
        // Streams go on in the next directory: all of them are one recording.
        if let Some((first, others)) = directories.split_first_mut() {
            others.iter_mut().for_each(|directory| directory.join(first.recording()));
        }
        let refuses = directories.iter().map(|_| AtomicBool::new(false)).collect();
        let troubles = directories.iter().map(|_| Mutex::default()).collect();
        let spoiled = directories.iter().map(|_| AtomicU64::new(0)).collect();
        let (notify, stop) = (Box::new(notify), stop.clone());
        let cores = Cores::of_caller();
        let open_max = open_max(&retention, workers);
        let slots = directories.iter().map(|_| Slots::new(open_max)).collect();
        Self { directories, retention, slots, cores, notify, stop, refuses, troubles, spoiled }
    }

    /// The directories.
    #[must_use]
    pub fn directories(&self) -> &[Directory] {
        &self.directories
    }

    pub(crate) fn notify(&self, notice: Notice) {
        (self.notify)(notice);
    }

    fn trouble(&self, target: usize) -> Option<MutexGuard<'_, Trouble>> {
        Some(self.troubles.get(target)?.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reports an error, unless it repeats the last one. `retries`: it is tried again.
    pub(crate) fn fail(&self, target: usize, error: Error, retries: bool) {
        let Some(mut trouble) = self.trouble(target) else { return };
        let error = Arc::new(error);
        if trouble.add(&error, retries) {
            self.notify(Notice::Failed { error, retries });
        }
    }

    /// Notes that the failed operation works again.
    pub(crate) fn work(&self, target: usize) {
        let (Some(mut trouble), Some(directory)) = (self.trouble(target), self.directories.get(target)) else { return };
        self.set_refuses(target, false);
        if let Some(unreported) = trouble.end() {
            self.notify(Notice::Recovered { path: directory.path().to_owned(), unreported });
        }
    }

    /// Nothing more comes: reports how often each reported error was repeated.
    pub(crate) fn report_repeated(&self) {
        for (target, directory) in self.directories.iter().enumerate() {
            if let Some((error, times)) = self.trouble(target).and_then(|mut trouble| trouble.rest()) {
                self.notify(Notice::Repeated { path: directory.path().to_owned(), error, times });
            }
        }
    }

    /// Something of a segment was lost: it is to end.
    pub(crate) fn spoil(&self, target: usize, name: &SegmentName) {
        if let Some(place) = self.spoiled.get(target) {
            place.store(spoiled_as(name), Ordering::Relaxed);
        }
    }

    pub(crate) fn is_spoiled(&self, target: usize, name: &SegmentName) -> bool {
        self.spoiled.get(target).is_some_and(|place| place.load(Ordering::Relaxed) == spoiled_as(name))
    }

    pub(crate) fn end(&self) {
        self.stop.stop();
    }

    pub(crate) fn set_refuses(&self, target: usize, refuses: bool) {
        if let Some(place) = self.refuses.get(target) {
            place.store(refuses, Ordering::Relaxed);
        }
    }

    pub(crate) fn refuses(&self, target: usize) -> bool {
        self.refuses.get(target).is_some_and(|refuses| refuses.load(Ordering::Relaxed))
    }

    /// The directory after this one: one that works, if there is one.
    pub(crate) fn after(&self, target: usize) -> usize {
        let count = self.directories.len().max(1);
        let works = |place: &usize| self.refuses.get(*place).is_some_and(|refuses| !refuses.load(Ordering::Relaxed));
        (1..=count).map(|step| (target + step) % count).find(works).unwrap_or((target + 1) % count)
    }
}

/// How many segments of a directory may have no name yet. Each worker writes one. Where space is bounded one more is completed meanwhile;
/// elsewhere each worker may be ahead of its completion by some.
fn open_max(retention: &Retention, workers: usize) -> u32 {
    let workers = u32::try_from(workers.max(1)).unwrap_or(u32::MAX);
    let is_bounded = retention.size_bytes.is_some() || retention.free_bytes.is_some();
    if is_bounded { workers.saturating_add(1) } else { workers.saturating_mul(1 + CLOSINGS_MAX as u32) }
}

/// A segment of a directory as a number that is not 0. Two workers at the same time: one of both ends by its time.
fn spoiled_as(name: &SegmentName) -> u64 {
    name.sequence << 16 | u64::from(name.worker)
}
