//! The thread that reserves space for a writer's next segment, where files are memory.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crossbeam_channel::{Receiver, Sender, bounded};
use tidewire_archive::Reserve;

use super::{
    Targets,
    slots::{Slot, Slots},
};

/// A segment that has this part of its bytes is taken to fill up: what is reserved for the next one is used.
const PART: u64 = 8;

/// Start of a segment.
type Start = (Slot, Option<Reserve>);

/// The writer's side.
#[derive(Debug)]
pub(crate) struct Supply {
    requests: Sender<()>,
    starts: Receiver<Start>,
    /// The writer waits for it.
    is_wanted: Arc<AtomicBool>,
    is_requested: Cell<bool>,
    /// Bytes of the open segment from which on the next one is reserved.
    from_bytes: u64,
}

pub(crate) struct Reserver {
    targets: Arc<Targets>,
    target: usize,
    requests: Receiver<()>,
    starts: Sender<Start>,
    is_wanted: Arc<AtomicBool>,
}

/// Both sides, for a directory whose files are memory. `None` where it gains nothing: on a disk, and on one processor.
pub(crate) fn supply(targets: &Arc<Targets>, target: usize) -> Option<(Supply, Reserver)> {
    let directory = targets.directories.get(target).filter(|directory| directory.storage().is_in_memory())?;
    if !targets.cores.are_several() {
        return None;
    }
    let from_bytes = directory.settings().segment_bytes / PART;
    let is_wanted = Arc::new(AtomicBool::new(false));
    let ((requests, requested), (started, starts)) = (bounded(1), bounded(1));
    let reserver = Reserver {
        targets: Arc::clone(targets),
        target,
        requests: requested,
        starts: started,
        is_wanted: Arc::clone(&is_wanted),
    };
    Some((Supply { requests, starts, is_wanted, is_requested: Cell::new(false), from_bytes }, reserver))
}

impl Supply {
    /// The open segment has so many bytes.
    pub fn grow(&self, bytes: u64) {
        if bytes >= self.from_bytes && !self.is_requested.get() {
            self.is_wanted.store(false, Ordering::Relaxed);
            self.is_requested.set(self.requests.try_send(()).is_ok());
        }
    }

    /// Storage reserved for the next segment, as far as it exists; `None` without any. The thread may hold the last slot: it comes with
    /// what was reserved.
    pub fn take(&self) -> Option<Start> {
        if !self.is_requested.replace(false) {
            return None;
        }
        self.is_wanted.store(true, Ordering::Relaxed);
        self.starts.recv().ok()
    }
}

impl Drop for Supply {
    fn drop(&mut self) {
        self.is_wanted.store(true, Ordering::Relaxed);
    }
}

impl Reserver {
    /// Reserves until it is no longer needed.
    pub fn run(self) {
        let (Some(slots), Some(directory)) =
            (self.targets.slots.get(self.target), self.targets.directories.get(self.target))
        else {
            return;
        };
        for () in &self.requests {
            let slot = Slots::take(slots);
            let goes_on = || !self.is_wanted.load(Ordering::Relaxed);
            let reserve = directory.storage().reserve(directory.settings().segment_bytes, goes_on);
            if self.starts.send((slot, reserve)).is_err() {
                return;
            }
        }
    }
}
