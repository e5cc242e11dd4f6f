//! A live handle of ours: rings of Tidewire's, read as pcap(3PCAP) promises.
//!
//! JUSTIFICATION: the program's callback and its buffers are pointers of the C ABI, and the state of a read must be reachable
//! from inside that callback.
//!
//! What the reading thread works on ([`Reader`]) is its own; rings are behind a lock that is taken once a batch, so that
//! statistics and filters can be asked for by another thread. Packets lie where the kernel put them until the read after.

mod batch;
mod dead_handle;
mod gather_thread;
mod getters;
mod locality;
mod open;
mod order;
mod read;
mod rings;
mod sender;
mod setters;
mod stats_publisher;
mod user_filter;

use std::{
    cell::{Cell, OnceCell, UnsafeCell},
    os::fd::RawFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tidewire_live::{Interface, sys::arena::Arena};

use crate::{
    abi::types::{PacketHeader, Pcap},
    event::{Event, Gathered},
};
use dead_handle::DeadHandle;
use gather_thread::GatherThread;
use locality::Locality;
pub use locality::{thread_ns, wanted};
use order::{Order, Packet};
pub use read::Amount;
use rings::Rings;
use sender::Sender;
use user_filter::UserFilter;

/// A capture.
pub struct Live {
    rings: Arc<Mutex<Rings>>,
    /// The rings' memory.
    arena: Arc<Arena>,
    /// A thread gathers and sorts packets.
    gather_thread: Option<GatherThread>,
    /// What only the thread that reads touches, and what is called inside its callbacks.
    reader: UnsafeCell<Reader>,
    dead_handle: DeadHandle,
    settings: Settings,
    nonblocking: Cell<bool>,
    /// The rings' descriptors, in the devices' order.
    descriptors: Vec<RawFd>,
    /// Sends, where the rings' sockets cannot.
    sender: Option<Sender>,
    /// The process that opened it: another one, its child, must not take off what both use.
    process: u32,
    /// Set while a batch is not delivered to its end, so that who waits for [`Live::selectable`] comes back.
    left: Event,
    marked: Cell<bool>,
    selectable: OnceCell<Gathered>,
}

// SAFETY: as with the system's library, one thread at a time reads, and what it reads with is not touched by others; the rest
// is behind a lock, atomic, or set by the program while it knows that nobody reads.
unsafe impl Sync for Live {}

/// What was decided when the handle was activated.
struct Settings {
    snap: u32,
    timeout: Option<Duration>,
    nanoseconds: bool,
    /// Somebody wants to know its counts.
    publishes: bool,
    /// Packets are wanted at once, whatever that costs.
    is_immediate: bool,
    /// Descriptors do not show that a device is gone (AF_XDP).
    is_silent: bool,
    /// Members of the handle's groups, where that is known.
    members: Option<u32>,
    /// Devices, in the order of their numbers in [`tidewire_wire::Frame::interface`].
    devices: Vec<Interface>,
}

/// The state of reading.
struct Reader {
    /// Packets of the batch, as they were gathered.
    packets: Vec<Packet>,
    /// In which order they are delivered, and how far that went.
    order: Order,
    /// What `pcap_next_ex` points to.
    header: PacketHeader,
    /// Packets are gathered and sorted before they are delivered.
    locality: Option<Locality>,
    /// A filter that the kernel did not take, or that was set while packets were gathered for the next batch.
    user_filter: Option<UserFilter>,
    /// What a read found wrong after it had delivered packets: the next one says it.
    trouble: Option<String>,
}

impl Drop for Live {
    fn drop(&mut self) {
        let taken = self.reader.get_mut().order.taken();
        if self.process != std::process::id() {
            self.publish_last(taken);
            // Closed in a child: sockets and programs stay as they are for the parent.
            std::mem::forget(Arc::clone(&self.rings));
            if let Some(gather_thread) = &self.gather_thread {
                gather_thread.forget();
            }
            return;
        }
        if let Some(gather_thread) = &self.gather_thread {
            gather_thread.stop();
        }
        self.publish_last(taken);
    }
}

impl Live {
    /// # Errors
    /// In a child of the process whose thread gathers.
    fn rings(&self) -> Result<MutexGuard<'_, Rings>, String> {
        self.gather_thread.as_ref().map_or(Ok(()), GatherThread::check)?;
        Ok(self.rings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The system's handle that knows the link type and what follows from it.
    fn dead_handle(&self) -> *mut Pcap {
        self.dead_handle.handle()
    }
}
