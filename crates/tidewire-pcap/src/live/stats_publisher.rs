//! What a handle counted, and when `tidewire run` is told.
//!
//! JUSTIFICATION: how a program ends is known to the C library only (`atexit(3)`).
//!
//! Now and then while packets come, at once when no more do, when the handle is closed, and when the program
//! ends without closing it. Only a program that is killed while packets come keeps the last [`crate::report::PERIOD`] for itself.

use std::{
    sync::{Arc, Mutex, Once, PoisonError, TryLockError, Weak},
    thread,
    time::Duration,
};

use tidewire_live::Error;

use super::{Live, Rings};
use crate::report::Counts;

/// Handles of this process that tell somebody.
static PUBLISHERS: Mutex<Vec<Weak<Mutex<Rings>>>> = Mutex::new(Vec::new());

/// How often a lock is tried when the program ends: who holds it may be the thread that ends it, from a signal handler.
const TRIES: u32 = 10;
/// Time between two tries.
const PAUSE: Duration = Duration::from_millis(1);

/// Has a handle tell its counts when the program ends, too.
pub(super) fn register(rings: &Arc<Mutex<Rings>>) {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // Where that fails, what is told last is what was told before.
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
            // What the devices say takes memory to ask for, which a signal handler must not.
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
    /// What was counted so far; of the devices only where that is wanted, else what they said last.
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

    /// Tells how far it got, where somebody wants to know.
    pub(super) fn publish(&mut self, with_devices: bool) {
        if self.report.is_some()
            && let Ok(counts) = self.counts(with_devices)
            && let Some(report) = &mut self.report
        {
            report.publish(counts);
        }
    }

    /// A batch was delivered to its end; `is_last`: there were no more packets when it was gathered, so that the program may not
    /// come back for long.
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

    /// Whether this process is the one that read last: a child that only inherited the handle has nothing to tell.
    fn is_read_here(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.reader() == std::process::id())
    }
}

impl Live {
    /// No packets are there: tells what was not told yet. The program may now wait by itself, or be ended.
    pub(super) fn publish_when_idle(&self) {
        if self.settings.publishes
            && let Ok(mut rings) = self.rings()
            && let delivered = rings.delivered
            && rings.report.as_ref().is_some_and(|report| !report.has_published(delivered))
        {
            rings.publish(false);
        }
    }

    /// The handle is being closed, after packets that nobody will ask for the end of.
    pub(super) fn publish_last(&self, delivered: usize) {
        if let Ok(mut rings) = self.rings() {
            rings.delivered += delivered as u64;
            if self.process == std::process::id() || rings.is_read_here() {
                rings.publish(true);
            }
        }
    }
}
