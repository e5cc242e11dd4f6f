//! A live handle over Tidewire's rings, with the semantics of pcap(3PCAP).
//!
//! JUSTIFICATION: the program's callback and its buffers are pointers of the C ABI, and the state of a read must be reachable
//! from inside that callback.
//!
//! The reading thread owns [`Reader`]; rings are behind a lock that is taken once for each batch, so that another thread can
//! read statistics and set filters. Packets stay in the kernel's memory until the next read.

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
    event::{Event, Gathered},
    types::{PacketHeader, Pcap},
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

/// A live capture.
pub struct Live {
    rings: Arc<Mutex<Rings>>,
    /// Memory of the rings.
    arena: Arc<Arena>,
    /// The thread that collects and sorts packets, if any.
    gather_thread: Option<GatherThread>,
    /// Used only by the reading thread and within its callbacks.
    reader: UnsafeCell<Reader>,
    dead_handle: DeadHandle,
    settings: Settings,
    nonblocking: Cell<bool>,
    /// Descriptors of the rings, in the order of devices.
    descriptors: Vec<RawFd>,
    /// Sends frames if the rings' sockets cannot.
    sender: Option<Sender>,
    /// The process that opened it: a child must not detach what both use.
    process: u32,
    /// Set while a batch is partly delivered, so that [`Live::selectable`] is readable.
    left: Event,
    marked: Cell<bool>,
    selectable: OnceCell<Gathered>,
}

// SAFETY: as with the system's library, one thread at a time reads, and what it reads with is not touched by others; the rest
// is behind a lock, atomic, or set by the program while it knows that no thread reads.
unsafe impl Sync for Live {}

/// Settings, fixed at activation.
struct Settings {
    snap: u32,
    timeout: Option<Duration>,
    nanoseconds: bool,
    /// Whether its counts are published.
    publishes: bool,
    /// Deliver packets at once, at any cost.
    is_immediate: bool,
    /// Descriptors do not show that a device is gone (AF_XDP).
    is_silent: bool,
    /// Members of the handle's groups, if known.
    members: Option<u32>,
    /// Devices, indexed by [`tidewire_wire::Frame::interface`].
    devices: Vec<Interface>,
}

/// The state of reading.
struct Reader {
    /// Packets of the batch, in order of arrival.
    packets: Vec<Packet>,
    /// The order of delivery, and the position in it.
    order: Order,
    /// Target of the header pointer of `pcap_next_ex`.
    header: PacketHeader,
    /// Collects and sorts packets before delivery.
    locality: Option<Locality>,
    /// A filter that the kernel did not accept, or that was set while the next batch was collected.
    user_filter: Option<UserFilter>,
    /// An error that occurred after packets had been delivered: the next read reports it.
    trouble: Option<String>,
}

impl Drop for Live {
    fn drop(&mut self) {
        let taken = self.reader.get_mut().order.taken();
        if self.process != std::process::id() {
            self.publish_last(taken);
            // Closed in a child: sockets and programs stay attached for the parent.
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
    /// This is a child of the process whose thread collects.
    fn rings(&self) -> Result<MutexGuard<'_, Rings>, String> {
        self.gather_thread.as_ref().map_or(Ok(()), GatherThread::check)?;
        Ok(self.rings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The system's handle with the link type.
    fn dead_handle(&self) -> *mut Pcap {
        self.dead_handle.handle()
    }
}
