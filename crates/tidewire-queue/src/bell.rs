//! How a publisher wakes the thread that serves its queue, where that one sleeps because nothing was published for a while.

use std::{
    os::fd::OwnedFd,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::io::write;

/// Shared by a publisher and the server of its queue.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    /// Whether the server wants to be woken by the next record. It says so some milliseconds before it relies on it, so that a
    /// publisher needs no fence between its record and its look.
    is_wanted: AtomicBool,
    /// The server's eventfd.
    event: OnceLock<Arc<OwnedFd>>,
}

impl Bell {
    /// Sets the eventfd to write to. Only the first call counts.
    pub(crate) fn connect(&self, event: &Arc<OwnedFd>) {
        let _ = self.event.set(Arc::clone(event));
    }

    pub(crate) fn want(&self, is_wanted: bool) {
        self.is_wanted.store(is_wanted, Ordering::Relaxed);
    }

    /// Wakes the server if it requested that: one system call for many records.
    #[inline]
    pub(crate) fn ring(&self) {
        if self.is_wanted.load(Ordering::Relaxed) {
            self.write();
        }
    }

    #[cold]
    fn write(&self) {
        if self.is_wanted.swap(false, Ordering::Relaxed)
            && let Some(event) = self.event.get()
        {
            // It can only fail because it was written too often already: then the server wakes as well.
            let _ = write(event, &1_u64.to_ne_bytes());
        }
    }
}
