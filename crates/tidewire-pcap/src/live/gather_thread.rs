//! The thread that collects and sorts the next batch while one is delivered.
//!
//! JUSTIFICATION: see [`super`].
//!
//! Two batches exist at a time, as in the locality buffering paper: one is delivered, one is collected; when the latter is full
//! or old enough it waits in a slot. The thread starts with the first read, because programs become daemons before that and
//! `fork(2)` copies no threads; it ends with the handle.

use std::{
    os::fd::{AsRawFd, RawFd},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use tidewire_locality::{Settings, Sorter};
use tidewire_wire::Frame;

use super::{
    order::Packet,
    rings::{DOWN_WAIT, Rings},
};
use crate::{
    event::{self, Event},
    live::locality::{HELD_PERMILLE_MAX, LOOK},
    thread,
};

/// A batch that waits for delivery.
#[derive(Default)]
pub struct Ready {
    packets: Vec<Packet>,
    /// The order of delivery; `None`: order of arrival.
    pub order: Option<Vec<u32>>,
    /// Number of the batch, from 0.
    pub number: u64,
}

/// State shared by both threads.
struct Shared {
    rings: Arc<Mutex<Rings>>,
    settings: Settings,
    descriptors: Vec<RawFd>,
    ready: Mutex<Option<Ready>>,
    /// Reused memory for packets: allocating it for each batch would cost more than sorting.
    spare: Mutex<Vec<Packet>>,
    /// Set while a batch is ready.
    full: Event,
    /// Wakes the thread: the slot is free, or it must end.
    room: Event,
    ends: AtomicBool,
    sorts: AtomicBool,
    /// Whether the next batch has packets.
    has_some: AtomicBool,
    /// Number of the batch that is collected; changes under the rings' lock.
    number: AtomicU64,
}

/// Handle of the thread.
pub struct GatherThread {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// The process that started it; 0 before that.
    process: AtomicU32,
}

impl GatherThread {
    /// Creates the state; [`GatherThread::start`] starts the thread.
    ///
    /// # Errors
    /// The process has no more descriptors.
    pub fn new(rings: Arc<Mutex<Rings>>, descriptors: Vec<RawFd>, settings: &Settings) -> std::io::Result<Self> {
        let shared = Shared {
            rings,
            settings: settings.clone(),
            descriptors,
            ready: Mutex::new(None),
            spare: Mutex::default(),
            full: Event::new()?,
            room: Event::new()?,
            ends: AtomicBool::new(false),
            sorts: AtomicBool::new(true),
            has_some: AtomicBool::new(false),
            number: AtomicU64::new(0),
        };
        Ok(Self { shared: Arc::new(shared), thread: Mutex::default(), process: AtomicU32::new(0) })
    }

    /// Starts the thread unless it runs.
    ///
    /// # Errors
    /// It runs in the parent of this process, or cannot be started.
    pub fn start(&self) -> Result<(), String> {
        if self.process.load(Ordering::Relaxed) != 0 {
            return self.check();
        }
        let shared = Arc::clone(&self.shared);
        let thread = thread::spawn(move || shared.work());
        let off = "set locality_thread to off";
        let thread = thread.map_err(|error| format!("locality: starting the thread that gathers: {error}; {off}"))?;
        *self.thread() = Some(thread);
        self.process.store(std::process::id(), Ordering::Relaxed);
        Ok(())
    }

    /// Checks that its state is usable in this process.
    ///
    /// # Errors
    /// The thread runs in the parent of this process: what it had locked at the fork stays locked here.
    pub fn check(&self) -> Result<(), String> {
        let process = self.process.load(Ordering::Relaxed);
        if process == 0 || process == std::process::id() {
            return Ok(());
        }
        Err("locality: packets are gathered by a thread, which fork does not copy; read from the handle after the fork only, or \
             set locality_thread to off"
            .into())
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the batch that is ready, if any; `packets` gets its packets and gives its memory back.
    pub fn take(&self, sorts: bool, packets: &mut Vec<Packet>) -> Option<Ready> {
        self.shared.sorts.store(sorts, Ordering::Relaxed);
        let mut taken = self.shared.ready().take()?;
        std::mem::swap(&mut taken.packets, packets);
        *self.shared.spare.lock().unwrap_or_else(PoisonError::into_inner) = std::mem::take(&mut taken.packets);
        self.shared.full.clear();
        self.shared.room.set();
        Some(taken)
    }

    /// Readable while a batch is ready.
    pub fn descriptor(&self) -> RawFd {
        self.shared.full.as_raw_fd()
    }

    /// Whether a batch is ready or will be soon, because some of its packets are there.
    pub fn has_some(&self) -> bool {
        self.shared.has_some.load(Ordering::SeqCst) || self.shared.ready().is_some()
    }

    /// Number of the batch that is collected. Requires the rings' lock.
    pub fn gathered(&self) -> u64 {
        self.shared.number.load(Ordering::Relaxed)
    }

    /// Forgets the thread in a child process, where it does not exist.
    pub fn forget(&self) {
        std::mem::forget(self.thread().take());
    }

    /// Ends the thread, in the process that started it.
    pub fn stop(&self) {
        let Some(thread) = self.thread().take() else { return };
        self.shared.ends.store(true, Ordering::SeqCst);
        self.shared.room.set();
        let _ = thread.join();
    }
}

impl Shared {
    fn rings(&self) -> MutexGuard<'_, Rings> {
        self.rings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ready(&self) -> MutexGuard<'_, Option<Ready>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut sorter = Sorter::new(self.settings.key);
        let mut since = None;
        let mut frames = Vec::new();
        loop {
            // In this order: `stop` sets `ends` before the event.
            self.room.clear();
            if self.ends.load(Ordering::SeqCst) {
                return;
            }
            if self.ready().is_some() {
                // Packets that arrive meanwhile stay in the rings.
                event::wait(&[self.room.as_raw_fd()], None);
            } else if let Some(ready) = self.gather(&mut sorter, &mut since, &mut frames) {
                *self.ready() = Some(ready);
                self.has_some.store(false, Ordering::SeqCst);
                self.full.set();
            }
        }
    }

    /// Collects a batch; `None` after a wait for packets. `frames` is reused memory.
    fn gather(&self, sorter: &mut Sorter, since: &mut Option<Instant>, frames: &mut Vec<Frame>) -> Option<Ready> {
        let mut rings = self.rings();
        let worker = &mut rings.worker;
        let wanted = self.settings.batch_frames as usize;
        let held = worker.batch().frames.len();
        worker.gather(wanted.saturating_sub(held).max(1));
        let all = worker.batch().frames.len();
        if all == 0 {
            *since = None;
            let mut most = None;
            let mut descriptors = vec![self.room.as_raw_fd()];
            if !worker.prepare_wait() {
                return None;
            }
            if worker.is_troubled() {
                most = Some(DOWN_WAIT);
            } else if worker.waits() || worker.has_cuts() {
                // The descriptors stay readable as long as packets are held.
                most = Some(LOOK);
            } else {
                descriptors.extend(&self.descriptors);
            }
            drop(rings);
            event::wait(&descriptors, most);
            return None;
        }
        self.has_some.store(true, Ordering::SeqCst);
        let sorts = self.sorts.load(Ordering::Relaxed);
        let left = self.settings.timeout.saturating_sub(since.get_or_insert_with(Instant::now).elapsed());
        if sorts && all < wanted && !left.is_zero() && worker.held_permille() <= HELD_PERMILLE_MAX {
            drop(rings);
            event::wait(&[self.room.as_raw_fd()], Some(left.min(LOOK)));
            return None;
        }
        *since = None;
        let order = sorts.then(|| {
            let mut order = Vec::new();
            sorter.order(&worker.batch(), &mut order);
            order
        });
        worker.cut(frames);
        let mut packets = std::mem::take(&mut *self.spare.lock().unwrap_or_else(PoisonError::into_inner));
        packets.clear();
        packets.extend(frames.iter().map(Packet::from));
        Some(Ready { packets, order, number: self.number.fetch_add(1, Ordering::Relaxed) })
    }
}

/// How long the reading thread waits for a batch before it checks the devices.
pub const LOOK_AFTER: Duration = Duration::from_millis(200);
