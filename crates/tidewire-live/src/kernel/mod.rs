//! The programs in the kernel: they cut directions off, shed by priority, and count what does not reach user space.
//! `bpf/capture.bpf.c` is their source.
//!
//! Every packet takes one way, and is counted at its end ([`KernelCounters`]):
//!
//! ```text
//! entry ── filter? ─► Filter ─► Refused
//!   │                    ▼
//!   └────────────────► Flow ── cut? shed? ─► counted for its direction, and gone
//!                        ▼
//!                     delivered: Steer (─► Unsteered), an AF_XDP socket, the stack, a packet socket
//! ```
//!
//! The flow tables are memory that both sides map: a [`KernelShunt`] makes, reads and ends entries without system calls, and
//! no packet counted for a direction is lost when the entry ends, however the two sides race.
//!
//! One source is compiled twice: for XDP, and as a socket filter for the host's own traffic, which must reach the stack
//! unchanged. Programs call each other through a program array: entry, the user's expression (libpcap's program
//! translated to eBPF, `tidewire-ebpf`), the flow table, delivery, steering. Each packet is counted at exactly one
//! final place, on its own processor. The flow tables use open addressing in array maps, with key and counts of a
//! direction in one cache line (two for IPv6). User space maps them too, so that cutting, reading and ending an entry
//! need no system call. Counting and ending race safely; `kernel/table.rs` states what is guaranteed.

mod atomic;
mod clock;
mod constants;
mod counters;
mod entry;
mod layout;
mod load;
mod settings;
mod shunt;
mod shunts;
mod table;

use std::{ops::Deref, os::fd::BorrowedFd, sync::Arc};

pub use counters::KernelCounters;
pub use layout::Jump;
pub use load::{Kernel, Occupancy};
pub use settings::{KernelSettings, Shed};
pub use shunt::KernelShunt;
pub use shunts::Shunts;

use crate::{
    Error, KernelError, Operation,
    sys::bpf::{Link, XdpMode},
};
use load::ProgramType;

/// The programs as XDP runs them.
#[derive(Clone, Debug)]
pub struct KernelXdp(Arc<Kernel>);

impl KernelXdp {
    /// Loads them.
    ///
    /// # Errors
    /// Capabilities are missing, there is no memory for the tables, or the kernel is too old.
    pub fn load(settings: &KernelSettings) -> Result<Self, Error> {
        Kernel::load(settings, ProgramType::Xdp).map(|kernel| Self(Arc::new(kernel)))
    }

    /// Attaches them to an interface, until the link is dropped or the process ends, however it ends. Filter, steering
    /// program and sockets should be in their places before.
    ///
    /// # Errors
    /// Another program is attached, or the driver cannot run one.
    pub fn attach(&self, interface: u32, mode: XdpMode) -> Result<Link, Error> {
        Link::xdp(self.0.entry()?, interface, mode).map_err(|source| {
            let operation = Operation::AttachXdp { interface: None };
            KernelError::new(operation, format!("attaching XDP to interface {interface}"), source).into()
        })
    }

    /// State that the programs share with engines.
    #[must_use]
    pub fn kernel(&self) -> &Arc<Kernel> {
        &self.0
    }
}

impl Deref for KernelXdp {
    type Target = Arc<Kernel>;
    fn deref(&self) -> &Arc<Kernel> {
        &self.0
    }
}

/// The programs as a packet socket's filter. All sockets of a group share one.
#[derive(Clone, Debug)]
pub struct KernelSocketFilter(Arc<Kernel>);

impl KernelSocketFilter {
    /// Loads them.
    ///
    /// # Errors
    /// As [`KernelXdp::load`].
    pub fn load(settings: &KernelSettings) -> Result<Self, Error> {
        Kernel::load(settings, ProgramType::Socket).map(|kernel| Self(Arc::new(kernel)))
    }

    /// The program that a socket attaches (`SO_ATTACH_BPF`).
    ///
    /// # Errors
    /// None, once the programs are loaded.
    pub fn program(&self) -> Result<BorrowedFd<'_>, Error> {
        self.0.entry()
    }

    /// State that the programs share with engines.
    #[must_use]
    pub fn kernel(&self) -> &Arc<Kernel> {
        &self.0
    }
}

impl Deref for KernelSocketFilter {
    type Target = Arc<Kernel>;
    fn deref(&self) -> &Arc<Kernel> {
        &self.0
    }
}
