use std::sync::atomic::{AtomicU64, Ordering};

/// Fires from outside: a signal, a control socket. Each call of [`fire`](Self::fire) records the whole link around that moment.
#[derive(Debug, Default)]
pub struct Trigger(AtomicU64);

impl Trigger {
    /// Fires.
    pub fn fire(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
