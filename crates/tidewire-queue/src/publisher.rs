//! The publishing end of a queue.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, atomic::Ordering},
};

use crate::{
    error::Error,
    layout::{Ended, Geometry, Record},
    memory::QueueMemory,
    ring::Producer,
    sys::{memory_file, seal, wake},
};

/// The publishing end. Dropped without [`finish`](Self::finish), it ends the queue as [`Ended::Aborted`].
#[derive(Debug)]
pub struct Publisher {
    shared: Arc<Shared>,
    producer: Producer,
    has_ended: bool,
}

/// A queue in the process that made it: for the publisher and for the thread that serves readers.
#[derive(Debug)]
struct Shared {
    memory: QueueMemory,
    file: OwnedFd,
}

/// A queue, for the thread that hands it to readers and wakes them (see [`Server`](crate::Server)).
#[derive(Clone, Debug)]
pub struct Offer {
    shared: Arc<Shared>,
}

impl Offer {
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.shared.file.as_fd()
    }

    /// Records published so far.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.shared.memory.published()
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.shared.memory.epoch()
    }

    /// Wakes every reader that waits. Not for a thread that captures: each sleeper costs it several microseconds.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn wake(&self) -> io::Result<usize> {
        let word = self.shared.memory.wake_word();
        word.fetch_add(1, Ordering::Release);
        wake(word)
    }
}

impl Publisher {
    /// Makes a queue. All of its memory ([`Geometry::file_bytes`]) is there when this returns. `epoch` is a random number, another
    /// one for each queue.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn new(geometry: Geometry, epoch: u64) -> Result<Self, Error> {
        let file = memory_file("tidewire-queue", geometry.file_bytes()).map_err(Error::memory("memory of a queue"))?;
        let memory = QueueMemory::create(&file, geometry, epoch)?;
        seal(&file).map_err(Error::memory("sealing a queue"))?;
        Ok(Self { shared: Arc::new(Shared { memory, file }), producer: Producer::default(), has_ended: false })
    }

    /// The file to hand to readers (`SCM_RIGHTS`). It cannot be mapped for writing again.
    #[must_use]
    pub fn file(&self) -> BorrowedFd<'_> {
        self.shared.file.as_fd()
    }

    /// What a [`Server`](crate::Server) hands to readers, and wakes them by.
    #[must_use]
    pub fn offer(&self) -> Offer {
        Offer { shared: Arc::clone(&self.shared) }
    }

    /// The queue's sizes.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        self.shared.memory.geometry()
    }

    /// Records published so far.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.producer.sequence()
    }

    /// Bytes of payload published so far, each payload rounded up to 8.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.producer.position()
    }

    /// Publishes a record with its payload; never waits. The record's `sequence`, `position` and `bytes` are set here.
    ///
    /// # Errors
    /// [`Error::TooLong`]; nothing was published then.
    pub fn publish(&mut self, record: &Record, payload: &[u8]) -> Result<(), Error> {
        if self.producer.publish(&self.shared.memory.words(), record, payload) {
            return Ok(());
        }
        Err(Error::TooLong { bytes: payload.len(), max: self.geometry().record_bytes_max() })
    }

    /// Ends the queue: readers find this after the last record.
    pub fn finish(mut self) {
        self.end(Ended::Finished);
    }

    fn end(&mut self, why: Ended) {
        if !std::mem::replace(&mut self.has_ended, true) {
            self.producer.end(&self.shared.memory.words(), why);
            let _ = self.offer().wake();
        }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.end(Ended::Aborted);
    }
}
