//! Bounds the segments of a directory that have no name yet: retention leaves room for so many.

use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// How often a writer that waits looks again: a wake-up that was missed costs no more.
const RECHECK: Duration = Duration::from_secs(1);

/// The segments of a directory that are being written, or wait for their completion.
#[derive(Debug)]
pub(crate) struct Slots {
    taken: Mutex<u32>,
    released: Condvar,
    most: u32,
}

/// A segment among them, as long as this exists.
#[derive(Debug)]
pub(crate) struct Slot(Arc<Slots>);

impl Slots {
    pub fn new(most: u32) -> Arc<Self> {
        Arc::new(Self { taken: Mutex::new(0), released: Condvar::new(), most })
    }

    /// How many there may be.
    pub fn most(&self) -> u32 {
        self.most
    }

    fn lock(&self) -> MutexGuard<'_, u32> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until another segment may begin. The caller holds no slot: otherwise all may wait for each other.
    pub fn take(self: &Arc<Self>) -> Slot {
        let mut taken = self.lock();
        while *taken >= self.most {
            taken = self.released.wait_timeout(taken, RECHECK).unwrap_or_else(PoisonError::into_inner).0;
        }
        *taken += 1;
        Slot(Arc::clone(self))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.0.lock();
        *taken = taken.saturating_sub(1);
        drop(taken);
        self.0.released.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_that_is_released_lets_the_next_segment_begin() {
        let slots = Slots::new(2);
        let (first, _second) = (slots.take(), slots.take());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| slots.take());
            std::thread::sleep(Duration::from_millis(20));
            assert!(!waiting.is_finished());
            drop(first);
            let _third = waiting.join().expect("no panic");
            assert_eq!(*slots.lock(), 2);
        });
    }
}
