//! From buffers to the segments of directories.

mod attempts;
mod closer;
mod pipeline;
mod writer;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tidewire::Stop;
use tidewire_archive::{Directory, Error, Removed, Retention};

pub(crate) use pipeline::Pipeline;
pub(crate) use writer::Job;

/// What a user is told.
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
    /// What failed works again.
    Recovered {
        /// The directory.
        path: PathBuf,
    },
    /// A segment was removed to keep within bounds.
    Removed {
        /// The directory.
        path: PathBuf,
        /// The segment.
        removed: Removed,
    },
}

type Tell = dyn Fn(Notice) + Send + Sync;

/// Directories that segments go to in turn, and what is done about them.
pub struct Targets {
    pub(crate) directories: Vec<Directory>,
    pub(crate) retention: Retention,
    pub(crate) workers: u32,
    tell: Box<Tell>,
    /// Ends the run where it cannot go on.
    stop: Stop,
    /// Which directories refuse to be written to.
    refuses: Vec<AtomicBool>,
}

impl std::fmt::Debug for Targets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Targets").field("directories", &self.directories).finish_non_exhaustive()
    }
}

impl Targets {
    /// At least one directory, kept within `retention` each. `tell` is called from several threads; `stop` ends the run when it
    /// cannot go on.
    pub fn new(
        directories: Vec<Directory>,
        retention: Retention,
        workers: usize,
        stop: &Stop,
        tell: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Self {
        let refuses = directories.iter().map(|_| AtomicBool::new(false)).collect();
        Self { directories, retention, workers: workers as u32, tell: Box::new(tell), stop: stop.clone(), refuses }
    }

    /// The directories.
    #[must_use]
    pub fn directories(&self) -> &[Directory] {
        &self.directories
    }

    pub(crate) fn tell(&self, notice: Notice) {
        (self.tell)(notice);
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
