//! The thread that reserves space for a writer's next segment, where files are memory.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use crossbeam_channel::{Receiver, Sender, bounded};
use tidewire_archive::Reserve;

use super::{
    Targets,
    slots::{Slot, Slots},
};

/// What a segment begins with.
type Start = (Slot, Option<Reserve>);

/// What both threads know.
#[derive(Debug)]
struct Shared {
    /// The writer waits for it.
    is_wanted: AtomicBool,
    /// Bytes of the writer's last segment: the next one has as many.
    bytes: AtomicU64,
}

/// The writer's side. It takes no slot by itself: the thread may hold the last one.
#[derive(Debug)]
pub(crate) struct Supply {
    shared: Arc<Shared>,
    starts: Receiver<Start>,
}

pub(crate) struct Reserver {
    targets: Arc<Targets>,
    target: usize,
    shared: Arc<Shared>,
    starts: Sender<Start>,
}

/// Both sides, for a directory whose files are memory.
pub(crate) fn supply(targets: &Arc<Targets>, target: usize) -> Option<(Supply, Reserver)> {
    let directory = targets.directories.get(target).filter(|directory| directory.storage().is_in_memory())?;
    let bytes = AtomicU64::new(directory.settings().segment_bytes);
    let shared = Arc::new(Shared { is_wanted: AtomicBool::new(false), bytes });
    // Nothing is between them: one segment is reserved, not two.
    let (to, starts) = bounded(0);
    let reserver = Reserver { targets: Arc::clone(targets), target, shared: Arc::clone(&shared), starts: to };
    Some((Supply { shared, starts }, reserver))
}

impl Supply {
    /// A slot, and the space that was reserved. `None`: the thread ended.
    pub fn take(&self) -> Option<Start> {
        self.shared.is_wanted.store(true, Ordering::Relaxed);
        self.starts.recv().ok()
    }

    /// A segment has so many bytes.
    pub fn expect(&self, bytes: u64) {
        self.shared.bytes.store(bytes, Ordering::Relaxed);
    }
}

impl Drop for Supply {
    fn drop(&mut self) {
        self.shared.is_wanted.store(true, Ordering::Relaxed);
    }
}

impl Reserver {
    /// Reserves until no segment is wanted any more.
    pub fn run(self) {
        let (Some(slots), Some(directory)) =
            (self.targets.slots.get(self.target), self.targets.directories.get(self.target))
        else {
            return;
        };
        loop {
            let slot = Slots::take(slots);
            let bytes = self.shared.bytes.load(Ordering::Relaxed).min(directory.settings().segment_bytes);
            let reserve = directory.storage().reserve(bytes, || !self.shared.is_wanted.load(Ordering::Relaxed));
            if self.starts.send((slot, reserve)).is_err() {
                return;
            }
            self.shared.is_wanted.store(false, Ordering::Relaxed);
        }
    }
}
