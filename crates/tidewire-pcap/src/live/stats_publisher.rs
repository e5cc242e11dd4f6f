//! Publishes the counts of a handle for `tidewire run`.
//!
//! JUSTIFICATION: only the C library knows when a program ends (`atexit(3)`).
//!
//! Counts are published periodically while packets arrive, when no more arrive, when the handle is closed, and when the program
//! ends without closing it. A program that is killed while packets arrive loses at most the last [`crate::report::PERIOD`].

use std::{
    sync::{Arc, Mutex, Once, PoisonError, TryLockError, Weak},
    thread,
    time::Duration,
};

use tidewire_live::Error;

use super::{Live, Rings};
use crate::report::Counts;

/// Handles of this process that publish counts.
static PUBLISHERS: Mutex<Vec<Weak<Mutex<Rings>>>> = Mutex::new(Vec::new());

/// How often a lock is tried when the program ends: the holder may be the thread that ends it, from a signal handler.
const TRIES: u32 = 10;
/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(1);

/// Publishes the counts of a handle when the program ends, too.
pub(super) fn register(rings: &Arc<Mutex<Rings>>) {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // If this fails, the counts published before remain.
        // SAFETY: the function stays as long as this library, which calls what was registered when it is unloaded.
        let _ = unsafe { libc::atexit(at_exit) };
    });
    let mut publishers = PUBLISHERS.lock().unwrap_or_else(PoisonError::into_inner);
    publishers.retain(|rings| rings.strong_count() > 0);
    publishers.push(Arc::downgrade(rings));
}

extern "C" fn at_exit() {
    let Some(publishers) = try_lock(&PUBLISHERS) else { return };
    for rings in publishers.iter().filter_map(Weak::upgrade) {
        if let Some(mut rings) = try_lock(&rings).filter(|rings| rings.is_read_here()) {
            // Querying the devices allocates memory, which a signal handler must not.
            rings.publish(false);
        }
    }
}

fn try_lock<T>(mutex: &Mutex<T>) -> Option<std::sync::MutexGuard<'_, T>> {
    for _ in 0..TRIES {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(error)) => return Some(error.into_inner()),
            Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
        }
    }
    None
}

impl Rings {
    /// The counts so far; `with_devices`: queries the devices, else uses their last counts.
    pub(super) fn counts(&mut self, with_devices: bool) -> Result<Counts, Error> {
        let counts = self.worker.counts()?;
        let lost = counts.dropped + counts.failed;
        if self.is_promiscuous && with_devices {
            let reports = self.monitor.report()?;
            self.missed = reports.iter().filter_map(|report| report.counts).map(|counts| counts.rx_missed).sum();
        }
        Ok(Counts {
            received: (counts.received + lost).saturating_sub(self.left_out),
            dropped: lost,
            dropped_by_interface: self.missed,
            steered_out: self.monitor.steered_out()?,
            delivered: self.delivered,
        })
    }

    /// Publishes counters if a slot is attached.
    pub(super) fn publish(&mut self, with_devices: bool) {
        if self.report.is_some()
            && let Ok(counts) = self.counts(with_devices)
            && let Some(report) = &mut self.report
        {
            report.publish(counts);
        }
    }

    /// Counts a delivered batch. `is_last`: no more packets were there when it was collected, so that the program may not read
    /// again for long.
    pub(super) fn count(&mut self, packets: u64, is_last: bool) {
        self.delivered += packets;
        if let Some(report) = &mut self.report {
            report.note_reader();
            if is_last || report.is_due() {
                let with_devices = report.asks_devices();
                self.publish(with_devices);
            }
        }
    }

    /// Whether this process read last: a child that only inherited the handle publishes nothing.
    fn is_read_here(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.reader() == std::process::id())
    }
}

impl Live {
    /// Publishes pending counts when no packets are there: the program may now wait by itself, or be ended.
    pub(super) fn publish_when_idle(&self) {
        if self.settings.publishes
            && let Ok(mut rings) = self.rings()
            && let delivered = rings.delivered
            && rings.report.as_ref().is_some_and(|report| !report.has_published(delivered))
        {
            rings.publish(false);
        }
    }

    /// Publishes the last counts while the handle is closed.
    pub(super) fn publish_last(&self, delivered: usize) {
        if let Ok(mut rings) = self.rings() {
            rings.delivered += delivered as u64;
            if self.process == std::process::id() || rings.is_read_here() {
                rings.publish(true);
            }
        }
    }
}
