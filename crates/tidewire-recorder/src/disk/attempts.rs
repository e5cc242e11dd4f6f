//! What is done where a disk refuses: tried again until it works, or until there is no time left.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tidewire_archive::Error;

use super::{Notice, Targets};

/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(200);
/// An error that lasts is repeated after this time.
const REPEAT: Duration = Duration::from_secs(60);

/// When a recording ends.
#[derive(Debug)]
pub(crate) struct Deadline {
    is_live: bool,
    patience: Duration,
    at: Mutex<Option<Instant>>,
    is_over: AtomicBool,
}

impl Deadline {
    pub fn new(is_live: bool, patience: Duration) -> Self {
        Self { is_live, patience, at: Mutex::new(None), is_over: AtomicBool::new(false) }
    }

    /// Nothing new comes: what cannot be written soon is given up.
    pub fn begin(&self) {
        let mut at = self.at.lock().unwrap_or_else(PoisonError::into_inner);
        *at = Some(Instant::now() + self.patience);
    }

    fn is_over(&self) -> bool {
        if self.is_over.load(Ordering::Relaxed) {
            return true;
        }
        let over = self.at.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|at| Instant::now() >= at);
        if over {
            self.is_over.store(true, Ordering::Relaxed);
        }
        over
    }
}

/// Attempts on one directory.
#[derive(Debug)]
pub(crate) struct Attempts {
    pub targets: Arc<Targets>,
    pub target: usize,
    pub deadline: Arc<Deadline>,
}

impl Attempts {
    pub fn path(&self) -> PathBuf {
        self.targets.directories.get(self.target).map_or_else(PathBuf::new, |directory| directory.path().to_owned())
    }

    /// Whether the directory refuses what is done in it.
    pub fn is_refused(&self) -> bool {
        self.targets.refuses(self.target)
    }

    /// Calls `attempt` until it works. `None`: it was given up.
    pub fn until<T>(&self, mut attempt: impl FnMut() -> Result<T, Error>) -> Option<T> {
        let mut told: Option<(String, Instant)> = None;
        loop {
            let error = match attempt() {
                Ok(done) => {
                    if told.is_some() {
                        self.targets.set_refuses(self.target, false);
                        self.targets.tell(Notice::Recovered { path: self.path() });
                    }
                    return Some(done);
                }
                Err(error) => error,
            };
            let retries = self.deadline.is_live && !self.deadline.is_over();
            let text = error.to_string();
            let is_known = told.as_ref().is_some_and(|(known, at)| *known == text && at.elapsed() < REPEAT);
            if !is_known || !retries {
                self.targets.tell(Notice::Failed { error: Arc::new(error), retries });
                told = Some((text, Instant::now()));
            }
            self.targets.set_refuses(self.target, true);
            if !retries {
                return None;
            }
            thread::sleep(PAUSE);
        }
    }
}
