//! Retries of refused operations on a disk: until it works, or until there is no time left.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tidewire_archive::Error;

use super::Targets;

/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(200);

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

    /// Nothing new comes: what cannot be written soon is abandoned.
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
    /// Whether the directory refuses what is done in it.
    pub fn is_refused(&self) -> bool {
        self.targets.refuses(self.target)
    }

    /// Whether errors are waited out: packets come that no sender repeats.
    pub fn recovers(&self) -> bool {
        self.deadline.is_live
    }

    /// Reports an error.
    pub fn report(&self, error: Error, retries: bool) {
        self.targets.fail(self.target, error, retries);
    }

    /// Notes that the failed operation works again.
    pub fn works(&self) {
        self.targets.work(self.target);
    }

    /// Calls `attempt` until it works. `None`: it was abandoned.
    pub fn until<T>(&self, mut attempt: impl FnMut() -> Result<T, Error>) -> Option<T> {
        let mut has_failed = false;
        loop {
            let error = match attempt() {
                Ok(done) => {
                    if has_failed {
                        self.works();
                    }
                    return Some(done);
                }
                Err(error) => error,
            };
            has_failed = true;
            // A removed file does not come back.
            let (is_loss, goes_on) = (error.is_loss(), self.recovers() && !self.deadline.is_over());
            self.report(error, goes_on);
            if is_loss {
                return None;
            }
            self.targets.set_refuses(self.target, true);
            if !goes_on {
                return None;
            }
            thread::sleep(PAUSE);
        }
    }
}
