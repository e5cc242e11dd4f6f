//! The durable part of a segment, shared by the thread that writes it and the one that syncs it.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{Error, StorageFile, sums};

/// A length of a segment: of its file, and of the plain bytes that are whole in that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Length {
    pub stored: u64,
    pub plain: u64,
}

/// How far a segment is durable.
#[derive(Debug, Default)]
pub(crate) struct Durable {
    pub length: Length,
    /// Syncs that were noted.
    count: u64,
    /// A sync failed, and nothing was written again since: no other sync says anything.
    pub is_failed: bool,
    /// Counts what was written again: a sync that began before says nothing of it.
    pub generation: u64,
}

/// Shared between two threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct State(Arc<Mutex<Durable>>);

impl State {
    pub fn get(&self) -> MutexGuard<'_, Durable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Written bytes of a segment that are to be synced: on any thread, while the segment is written on.
#[derive(Debug)]
pub struct Unsynced<F: StorageFile> {
    pub(crate) file: F,
    pub(crate) sums: F,
    pub(crate) path: PathBuf,
    pub(crate) length: Length,
    pub(crate) generation: u64,
    pub(crate) state: State,
}

impl<F: StorageFile> Unsynced<F> {
    /// Makes it durable. After an error the writer of the segment writes again what the system may have dropped, and nothing counts as
    /// durable before that was synced.
    ///
    /// # Errors
    /// What the system says.
    pub fn sync(mut self) -> Result<(), Error> {
        let failed = |state: &State, path: &PathBuf, cause| {
            state.get().is_failed = true;
            Error::io(path, "syncing")(cause)
        };
        self.file.sync().map_err(|cause| failed(&self.state, &self.path, cause))?;
        let is_current = |durable: &Durable| !durable.is_failed && durable.generation == self.generation;
        let count = {
            let mut durable = self.state.get();
            if !is_current(&durable) {
                return Ok(());
            }
            durable.count += 1;
            durable.count
        };
        // After a crash what is said to be synced is trusted.
        let (record, at) = sums::synced(self.length.stored, count);
        let noted = self.sums.write_at(&record, at).and_then(|()| self.sums.sync());
        noted.map_err(|cause| failed(&self.state, &self.path, cause))?;
        let mut durable = self.state.get();
        if is_current(&durable) && durable.length.stored <= self.length.stored {
            durable.length = self.length;
        }
        Ok(())
    }
}
