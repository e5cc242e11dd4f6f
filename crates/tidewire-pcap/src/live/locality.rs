//! Collects and sorts packets before delivery, so that the program touches fewer memory areas at a time.
//!
//! JUSTIFICATION: the clock of a thread's processor time has no wrapper in the standard library.

use std::time::{Duration, Instant};

use tidewire_live::Worker;
use tidewire_locality::{Adaptive, Settings, Sorter};
use tidewire_wire::Batch;

use super::order::Order;

/// Time between two polls of a ring while a batch is collected. The ring's descriptor cannot be waited for: it is readable as
/// long as packets are held.
pub const LOOK: Duration = Duration::from_millis(2);

/// Frames of a batch that is not sorted: few enough for their headers to stay in the cache until delivery, and for rings to get
/// their memory back soon.
pub const UNSORTED_FRAMES: usize = 64;

/// Share of a ring that a batch may hold while it is collected, in thousandths: the other half is for packets that arrive
/// during delivery.
pub const HELD_PERMILLE_MAX: u32 = 500;

/// How batches are collected and sorted.
pub struct Locality {
    settings: Settings,
    sorter: Sorter,
    adaptive: Option<Adaptive>,
    /// When the first packet of the batch was collected.
    since: Option<Instant>,
    /// CPU time of this thread when the delivery of the batch began.
    begun_ns: u64,
    clock: Instant,
    /// Whether this batch counts in the decision about sorting.
    is_judged: bool,
}

impl Locality {
    /// As the settings say.
    pub fn new(settings: Settings) -> Self {
        let adaptive = settings.adaptive.then(Adaptive::new);
        let sorter = Sorter::new(settings.key);
        Self { settings, sorter, adaptive, since: None, begun_ns: 0, clock: Instant::now(), is_judged: true }
    }

    /// Whether the next batch is to be sorted.
    pub fn sorts(&self) -> bool {
        self.adaptive.as_ref().is_none_or(Adaptive::sorts)
    }

    /// Number of frames of the next batch.
    pub fn wanted(&self) -> usize {
        wanted(&self.settings, self.sorts())
    }

    /// How long to wait for more packets than `all`; `None` if the batch is full or old, or the ring has no room.
    pub fn waits(&mut self, all: usize, worker: &mut Worker) -> Option<Duration> {
        if all >= self.wanted() || !self.sorts() || worker.held_permille() > HELD_PERMILLE_MAX {
            return None;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        let left = self.settings.timeout.saturating_sub(since.elapsed());
        (!left.is_zero()).then(|| left.min(LOOK))
    }

    /// A batch of the gather thread is about to be delivered. One that was begun before sorting was switched does not count in
    /// the decision.
    pub fn begin(&mut self, is_sorted: bool) {
        self.is_judged = is_sorted == self.sorts();
        if self.adaptive.is_some() {
            self.begun_ns = thread_ns();
        }
    }

    /// Sorts a batch before its delivery.
    pub fn sort(&mut self, batch: &Batch<'_>, order: &mut Order) {
        self.since = None;
        self.is_judged = true;
        // The cost of sorting includes the sorting itself.
        if self.adaptive.is_some() {
            self.begun_ns = thread_ns();
        }
        if self.sorts() {
            order.list(|indexes| self.sorter.order(batch, indexes));
        }
    }

    /// A batch was delivered: the program's CPU time for it decides about sorting.
    pub fn delivered(&mut self, frames: usize) {
        if let Some(adaptive) = self.adaptive.as_mut().filter(|_| self.is_judged) {
            let spent = thread_ns().saturating_sub(self.begun_ns);
            let now = u64::try_from(self.clock.elapsed().as_nanos()).unwrap_or(u64::MAX);
            adaptive.delivered(u32::try_from(frames).unwrap_or(u32::MAX), spent, now);
        }
    }
}

/// Number of frames of a batch, sorted or not. With a thread it is always large: each batch costs a wake-up, and its packets
/// are in the other core's cache.
pub fn wanted(settings: &Settings, sorts: bool) -> usize {
    let frames = settings.batch_frames as usize;
    if sorts || settings.thread { frames } else { frames.min(UNSORTED_FRAMES) }
}

/// CPU time of this thread.
pub fn thread_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a structure that lives throughout the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
