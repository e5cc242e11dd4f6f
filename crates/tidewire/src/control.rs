//! Progress of a run, and the flag that stops it.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Progress of a run, counted by the reader: workers may be a few blocks behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes read from the files, before decompression.
    pub bytes_read: u64,
    /// The size of all files; `None` where one of them is a pipe.
    pub bytes_total: Option<u64>,
    /// Packets read, filtered ones included.
    pub packets: u64,
}

impl Progress {
    /// So many bytes and packets of so many bytes: for tests of what shows progress.
    #[must_use]
    pub const fn new(bytes_read: u64, bytes_total: Option<u64>, packets: u64) -> Self {
        Self { bytes_read, bytes_total, packets }
    }
}

/// A flag that stops a run. It can be set from another thread, a signal handler, or the handler itself.
///
/// Packets read before are processed, every stream is closed, and the run returns with
/// [`Outcome::interrupted`](crate::Outcome::interrupted) set.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// A flag that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops every run that uses this flag.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The same flag, for inputs.
    #[cfg(feature = "files")]
    pub(crate) fn cancel(&self) -> tidewire_files::Cancel {
        tidewire_files::Cancel::by(&self.0)
    }

    /// Whether [`stop`](Self::stop) was called.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
