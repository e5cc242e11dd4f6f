//! What all connections of a collector share.

use std::{
    fmt::Display,
    sync::{
        Arc, Condvar, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rustls::ServerConfig;

use super::{bounds::Places, log::Log, sensors::Sensors};

/// What all connections share.
pub(super) struct Shared {
    pub(super) sensors: Sensors,
    pub(super) log: Log,
    pub(super) places: Places,
    pub(super) timeout: Duration,
    pub(super) connections_max: usize,
    pub(super) tls: RwLock<Arc<ServerConfig>>,
    pub(super) refused: AtomicU64,
    pub(super) connections: AtomicU64,
    pub(super) ending: Mutex<bool>,
    pub(super) ended: Condvar,
}

impl Shared {
    /// Key and certificates as they were read last.
    pub(super) fn tls(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.tls.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts a refused connection, and says why.
    pub(super) fn refuse(&self, text: impl Display) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        self.log.limited(text);
    }

    /// Whether the collector ends.
    pub(super) fn is_ending(&self) -> bool {
        *self.ending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, but not beyond the collector's end.
    pub(super) fn pause(&self, wait: Duration) {
        let ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.ended.wait_timeout_while(ending, wait, |ending| !*ending));
    }

    /// The collector ends.
    pub(super) fn end(&self) {
        *self.ending.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ended.notify_all();
    }
}
