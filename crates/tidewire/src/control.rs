//! What runs beside the packets: progress out, a wish to stop in.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// How far a run has got. Counted by the reader: workers may be a few blocks behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes read from the files as they lie on disk (compressed bytes of a compressed one).
    pub bytes_read: u64,
    /// The size of all files; `None` where one of them is a pipe.
    pub bytes_total: Option<u64>,
    /// Packets read, filtered ones included.
    pub packets: u64,
}

/// A wish to stop, which may be raised from anywhere: another thread, a signal handler, the handler itself.
///
/// What was read by then is processed, every stream is closed, and the run returns with
/// [`Outcome::interrupted`](crate::Outcome::interrupted) set.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// A flag that is not raised.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises it.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was raised.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
