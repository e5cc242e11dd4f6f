//! Packets gathered and sorted before they are delivered, so that the program's memory is touched in fewer places at a time.
//!
//! JUSTIFICATION: the clock of a thread's processor time has no wrapper in the standard library.

use std::time::{Duration, Instant};

use tidewire_live::Worker;
use tidewire_locality::{Adaptive, Settings, Sorter};
use tidewire_wire::Batch;

use super::order::Order;

/// Between two looks at a ring while a batch is gathered. The ring's descriptor cannot be waited for meanwhile: it is readable
/// as long as packets are held.
pub const LOOK: Duration = Duration::from_millis(2);

/// Frames that are gathered at once where nothing is sorted: few enough for their headers to be in the cache still when they
/// are delivered, and for rings to get their memory back soon.
pub const UNSORTED_FRAMES: usize = 64;

/// How much of a ring a batch may hold while it is gathered, thousandths: the other half is for what comes while the batch
/// is delivered.
pub const HELD_PERMILLE_MAX: u32 = 500;

/// How batches are gathered and sorted.
pub struct Locality {
    settings: Settings,
    sorter: Sorter,
    adaptive: Option<Adaptive>,
    /// When the first packet of the batch was gathered.
    since: Option<Instant>,
    /// Processor time of this thread when the batch was handed over.
    begun_ns: u64,
    clock: Instant,
    /// Whether sorting is judged by the batch.
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

    /// Frames of the next batch.
    pub fn wanted(&self) -> usize {
        wanted(&self.settings, self.sorts())
    }

    /// How long to wait for more where `all` are there: if the batch is not full, not old, and there is room for more.
    pub fn waits(&mut self, all: usize, worker: &mut Worker) -> Option<Duration> {
        if all >= self.wanted() || !self.sorts() || worker.held_permille() > HELD_PERMILLE_MAX {
            return None;
        }
        let since = *self.since.get_or_insert_with(Instant::now);
        let left = self.settings.timeout.saturating_sub(since.elapsed());
        (!left.is_zero()).then(|| left.min(LOOK))
    }

    /// A batch that another thread gathered is about to be delivered. One that was begun before sorting was turned on or off
    /// says nothing of either.
    pub fn begin(&mut self, is_sorted: bool) {
        self.is_judged = is_sorted == self.sorts();
        if self.adaptive.is_some() {
            self.begun_ns = thread_ns();
        }
    }

    /// Sorts a batch that is about to be delivered.
    pub fn sort(&mut self, batch: &Batch<'_>, order: &mut Order) {
        self.since = None;
        self.is_judged = true;
        // What sorting takes is a part of what it costs.
        if self.adaptive.is_some() {
            self.begun_ns = thread_ns();
        }
        if self.sorts() {
            order.list(|indexes| self.sorter.order(batch, indexes));
        }
    }

    /// The batch was delivered: what the program took for it is what sorting is judged by.
    pub fn delivered(&mut self, frames: usize) {
        if let Some(adaptive) = self.adaptive.as_mut().filter(|_| self.is_judged) {
            let spent = thread_ns().saturating_sub(self.begun_ns);
            let now = u64::try_from(self.clock.elapsed().as_nanos()).unwrap_or(u64::MAX);
            adaptive.delivered(u32::try_from(frames).unwrap_or(u32::MAX), spent, now);
        }
    }
}

/// Frames of a batch that is sorted, or not. One from a thread is always large: each costs a wake-up, and what it holds is in
/// the other core's cache.
pub fn wanted(settings: &Settings, sorts: bool) -> usize {
    let frames = settings.batch_frames as usize;
    if sorts || settings.thread { frames } else { frames.min(UNSORTED_FRAMES) }
}

/// Processor time of this thread.
pub fn thread_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a structure that lives throughout the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
