//! The thread that gathers and sorts the next batch while one is delivered.
//!
//! JUSTIFICATION: see [`super`].
//!
//! Two batches are under way, as in the locality buffering paper: one that the program is given, and one that is gathered; it
//! waits in a place of its own once it is full or old enough. The thread begins with the first read, because programs become
//! daemons before that, and `fork(2)` copies no threads; it ends with the handle.

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

/// A batch that waits for the program.
#[derive(Default)]
pub struct Ready {
    packets: Vec<Packet>,
    /// Their order; none where it is that of arrival.
    pub order: Option<Vec<u32>>,
    /// Batches are numbered from 0.
    pub number: u64,
}

/// What both threads know.
struct Shared {
    rings: Arc<Mutex<Rings>>,
    settings: Settings,
    descriptors: Vec<RawFd>,
    ready: Mutex<Option<Ready>>,
    /// Memory for packets: asked of the system for each batch it would cost more than sorting.
    spare: Mutex<Vec<Packet>>,
    /// Set while a batch is ready.
    full: Event,
    /// Wakes the thread: there is room, or it is to end.
    room: Event,
    ends: AtomicBool,
    sorts: AtomicBool,
    /// Whether some packets of the next batch are there.
    has_some: AtomicBool,
    /// The number of the batch that is gathered; changes under the rings' lock.
    number: AtomicU64,
}

/// The thread.
pub struct GatherThread {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// The process that it was started in; 0 before that.
    process: AtomicU32,
}

impl GatherThread {
    /// To be started by [`GatherThread::start`].
    ///
    /// # Errors
    /// The process has no room for more descriptors.
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

    /// Starts it, if it does not run.
    ///
    /// # Errors
    /// It ran in the parent of this process, or cannot be started.
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

    /// Whether what it works on can be used.
    ///
    /// # Errors
    /// The process that it runs in is this one's parent: what it had locked at the fork stays locked here.
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

    /// The batch that is ready, if one is, in place of `packets`, whose memory is used again.
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

    /// Where no batch is ready: whether one will be soon, because some of its packets are there.
    pub fn has_some(&self) -> bool {
        self.shared.has_some.load(Ordering::SeqCst) || self.shared.ready().is_some()
    }

    /// The number of the batch that is gathered; the rings are locked.
    pub fn gathered(&self) -> u64 {
        self.shared.number.load(Ordering::Relaxed)
    }

    /// In a child of the process that it was started in there is nothing to wait for.
    pub fn forget(&self) {
        std::mem::forget(self.thread().take());
    }

    /// Ends it; in the process that it was started in.
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
            // In this order: who ends it says so before it sets the event.
            self.room.clear();
            if self.ends.load(Ordering::SeqCst) {
                return;
            }
            if self.ready().is_some() {
                // What comes meanwhile stays in the rings.
                event::wait(&[self.room.as_raw_fd()], None);
            } else if let Some(ready) = self.gather(&mut sorter, &mut since, &mut frames) {
                *self.ready() = Some(ready);
                self.has_some.store(false, Ordering::SeqCst);
                self.full.set();
            }
        }
    }

    /// A batch, or none after a wait for packets; `frames` is memory.
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
                // The descriptors are readable as long as packets are held.
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

/// How long the reading thread waits for a batch before it looks after the devices.
pub const LOOK_AFTER: Duration = Duration::from_millis(200);
