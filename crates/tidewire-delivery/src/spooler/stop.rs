//! The spooler's end, which all threads wait for besides their work.

use std::{
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// When everything has to end.
#[derive(Debug, Default)]
pub(super) struct Stop {
    until: Mutex<Option<Instant>>,
    changed: Condvar,
    generation: AtomicU64,
}

impl Stop {
    /// It ends now; what can be delivered until this time still is.
    pub(super) fn stop(&self, until: Instant) {
        self.until.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(until);
        self.changed.notify_all();
    }

    /// Destinations are opened again.
    pub(super) fn reopen(&self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
    }

    /// How often they were to be opened again.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Until when there is time, once it ends.
    pub(super) fn until(&self) -> Option<Instant> {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits so long, or until it ends.
    pub(super) fn pause(&self, wait: Duration) {
        let until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_timeout_while(until, wait, |until| until.is_none()));
    }
}
