//! AF_XDP sockets (Documentation/networking/af_xdp.rst, include/uapi/linux/if_xdp.h) and the rings that they share with the
//! kernel.
//!
//! JUSTIFICATION: neither AF_XDP's socket options nor its mapped rings have a wrapper in the standard library.
#![allow(unsafe_code)]

mod cursor;
mod rings;

/// Types that loom replaces (`sanitize/`).
mod atomic {
    pub(super) use std::sync::atomic::{AtomicU32, Ordering};
}

use std::{
    io,
    mem::size_of,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

use rustix::{
    fs::{MemfdFlags, ftruncate, memfd_create},
    net::{AddressFamily, RecvFlags, SocketFlags, SocketType, socket_with},
};

pub(crate) use rings::{FillRing, RxRing};

use super::{arena::ArenaRegion, net};

/// A flag that kernels before 6.6 do not know: frames of several buffers (`XDP_USE_SG`).
const USE_SG: u16 = libc::XDP_USE_SG;
/// Frames that one round of busy polling may take from the driver.
const BUSY_POLL_BUDGET: i32 = 64;

/// How a socket is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Binding {
    /// The driver writes into our memory, or the bind fails; else the kernel copies, whatever the driver can.
    pub zero_copy: bool,
    /// Frames may come in several buffers.
    pub frags: bool,
}

/// Counts of the kernel for a socket (`struct xdp_statistics`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    /// Frames that were dropped because no buffer was free or they were too long.
    pub dropped: u64,
    /// Buffers given to the kernel that were outside of the memory.
    pub invalid: u64,
    /// Frames that found the receive ring full.
    pub ring_full: u64,
    /// How often no buffer was free; sockets that share a fill ring share this count.
    pub fill_empty: u64,
}

/// An AF_XDP socket.
#[derive(Debug)]
pub(crate) struct XskSocket(OwnedFd);

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

impl XskSocket {
    /// Opens one, bound to nothing yet.
    ///
    /// # Errors
    /// What the kernel says: `EPERM` without CAP_NET_RAW, `EAFNOSUPPORT` where it was built without.
    pub fn open() -> io::Result<Self> {
        Ok(Self(net::out_of_the_way(socket_with(AddressFamily::XDP, SocketType::RAW, SocketFlags::CLOEXEC, None)?)))
    }

    /// Makes the first `bytes` of a place the memory that frames are put into, in chunks of this size (`XDP_UMEM_REG`).
    ///
    /// # Errors
    /// What the kernel says: `ENOBUFS` where more memory would be locked than is allowed. The range is not in the place.
    pub fn register(&self, place: &ArenaRegion, bytes: usize, chunk_bytes: u32) -> io::Result<()> {
        if bytes > place.len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: the structure is plain integers, for which zeroes are valid.
        let mut memory: libc::xdp_umem_reg = unsafe { std::mem::zeroed() };
        memory.addr = place.address() as u64;
        memory.len = bytes as u64;
        memory.chunk_size = chunk_bytes;
        // The kernel holds on to the pages themselves: what is mapped there later is not written to.
        self.set(libc::XDP_UMEM_REG, &memory)
    }

    /// Makes the fill ring (of a power of 2 entries), and the completion ring without which no socket can be bound.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn fill_ring(&self, entries: u32) -> io::Result<FillRing> {
        const COMPLETION_ENTRIES: u32 = 64;
        self.set(libc::XDP_UMEM_FILL_RING, &entries)?;
        self.set(libc::XDP_UMEM_COMPLETION_RING, &COMPLETION_ENTRIES)?;
        let offsets = self.offsets()?;
        FillRing::map(self.as_fd(), &offsets.fr, entries)
    }

    /// Makes the receive ring (of a power of 2 entries).
    ///
    /// # Errors
    /// What the kernel says.
    pub fn rx_ring(&self, entries: u32) -> io::Result<RxRing> {
        self.set(libc::XDP_RX_RING, &entries)?;
        let offsets = self.offsets()?;
        RxRing::map(self.as_fd(), &offsets.rx, entries)
    }

    fn offsets(&self) -> io::Result<libc::xdp_mmap_offsets> {
        // SAFETY: the structure is plain integers, for which zeroes are valid.
        let mut offsets: libc::xdp_mmap_offsets = unsafe { std::mem::zeroed() };
        let got = self.get(libc::XDP_MMAP_OFFSETS, &mut offsets)?;
        if got < size_of::<libc::xdp_mmap_offsets>() {
            // Before Linux 5.4 there were no flags, by which the kernel says that it wants to be woken up.
            return Err(io::Error::new(io::ErrorKind::Unsupported, "AF_XDP before Linux 5.4"));
        }
        Ok(offsets)
    }

    /// Binds it to a receive queue, with memory and a fill ring of its own.
    ///
    /// # Errors
    /// What the kernel says: `EBUSY` where the queue has other sockets, `EINVAL` where there is no such queue or the kernel
    /// does not know frames of several buffers, `EOPNOTSUPP` where the driver does not support the binding.
    pub fn bind(&self, interface_index: u32, queue: u32, binding: Binding) -> io::Result<()> {
        let copying = if binding.zero_copy { libc::XDP_ZEROCOPY } else { libc::XDP_COPY };
        let frags = if binding.frags { USE_SG } else { 0 };
        self.bind_with(interface_index, queue, libc::XDP_USE_NEED_WAKEUP | copying | frags, 0)
    }

    /// Binds it to the same queue as `first`, sharing its memory and its fill ring.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn bind_beside(&self, first: &Self, interface_index: u32, queue: u32) -> io::Result<()> {
        self.bind_with(interface_index, queue, libc::XDP_SHARED_UMEM, first.0.as_raw_fd() as u32)
    }

    fn bind_with(&self, interface_index: u32, queue: u32, flags: u16, shared: u32) -> io::Result<()> {
        let address = libc::sockaddr_xdp {
            sxdp_family: libc::AF_XDP as u16,
            sxdp_flags: flags,
            sxdp_ifindex: interface_index,
            sxdp_queue_id: queue,
            sxdp_shared_umem_fd: shared,
        };
        let length = size_of::<libc::sockaddr_xdp>() as libc::socklen_t;
        // SAFETY: the pointer is to an address of the length given, which lives throughout the call.
        check(unsafe { libc::bind(self.0.as_raw_fd(), (&raw const address).cast(), length) }).map(drop)
    }

    /// Whether the driver writes into our memory.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn is_zero_copy(&self) -> io::Result<bool> {
        let mut options = libc::xdp_options { flags: 0 };
        self.get(libc::XDP_OPTIONS, &mut options)?;
        Ok(options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0)
    }

    /// Counts since it was opened.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn statistics(&self) -> io::Result<Statistics> {
        // SAFETY: the structure is plain integers, for which zeroes are valid.
        let mut raw: libc::xdp_statistics = unsafe { std::mem::zeroed() };
        self.get(libc::XDP_STATISTICS, &mut raw)?;
        Ok(Statistics {
            dropped: raw.rx_dropped,
            invalid: raw.rx_invalid_descs,
            ring_full: raw.rx_ring_full,
            fill_empty: raw.rx_fill_ring_empty_descs,
        })
    }

    /// Lets the application's own calls run the driver: for so many microseconds while it finds nothing.
    ///
    /// # Errors
    /// What the kernel says: `EPERM` without CAP_NET_ADMIN; before 5.11 it does not know it.
    pub fn busy_poll(&self, microseconds: u32) -> io::Result<()> {
        const SO_BUSY_POLL: i32 = 46;
        const SO_PREFER_BUSY_POLL: i32 = 69;
        const SO_BUSY_POLL_BUDGET: i32 = 70;
        let microseconds = i32::try_from(microseconds).unwrap_or(i32::MAX);
        self.set_at(libc::SOL_SOCKET, SO_PREFER_BUSY_POLL, &1_i32)?;
        self.set_at(libc::SOL_SOCKET, SO_BUSY_POLL, &microseconds)?;
        self.set_at(libc::SOL_SOCKET, SO_BUSY_POLL_BUDGET, &BUSY_POLL_BUDGET)
    }

    /// Has the driver look at the fill ring, and the card, now.
    pub fn wake(&self) {
        // Its errors (nothing there, busy, interface down) are reported by other calls.
        let _ = rustix::net::recv(&self.0, &mut [0_u8; 0], RecvFlags::DONTWAIT);
    }

    /// The error that the kernel noted for it, once; `ENETDOWN` when its interface is gone.
    ///
    /// # Errors
    /// The error noted.
    pub fn error(&self) -> io::Result<()> {
        let mut error = 0_i32;
        self.get_at(libc::SOL_SOCKET, libc::SO_ERROR, &mut error)?;
        if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
    }

    fn set<T>(&self, name: libc::c_int, value: &T) -> io::Result<()> {
        self.set_at(libc::SOL_XDP, name, value)
    }

    fn set_at<T>(&self, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
        let length = size_of::<T>() as libc::socklen_t;
        // SAFETY: the pointer is to a value of the length given, which lives throughout the call.
        check(unsafe { libc::setsockopt(self.0.as_raw_fd(), level, name, (&raw const *value).cast(), length) })
            .map(drop)
    }

    fn get<T>(&self, name: libc::c_int, value: &mut T) -> io::Result<usize> {
        self.get_at(libc::SOL_XDP, name, value)
    }

    /// Only for values that are valid whatever bytes they have; returns how many were written.
    fn get_at<T>(&self, level: libc::c_int, name: libc::c_int, value: &mut T) -> io::Result<usize> {
        let mut length = size_of::<T>() as libc::socklen_t;
        // SAFETY: the pointers are to a value of the length given and to that length, and live throughout the call.
        let got =
            unsafe { libc::getsockopt(self.0.as_raw_fd(), level, name, (&raw mut *value).cast(), &raw mut length) };
        check(got).map(|_| length as usize)
    }
}

impl AsFd for XskSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Memory that can be mapped in several places at once, of zeroes.
///
/// # Errors
/// What the kernel says.
pub(crate) fn shared_memory(bytes: usize) -> io::Result<OwnedFd> {
    let descriptor = memfd_create("tidewire-frames", MemfdFlags::CLOEXEC)?;
    ftruncate(&descriptor, bytes as u64)?;
    Ok(descriptor)
}

/// The 8 bytes at an offset of a place, as a number, and zeroes in their place; `None` where they are not inside it.
pub(crate) fn take_number(place: &mut ArenaRegion, at: usize) -> Option<u64> {
    if at.checked_add(8).is_none_or(|end| end > place.len()) {
        return None;
    }
    // SAFETY: the range is inside a mapped place, and any bytes are a number. The caller owns the buffer that it lies in:
    // there is no other reader or writer.
    unsafe {
        let number = place.address().add(at).cast::<u64>();
        let taken = number.read_unaligned();
        number.write_unaligned(0);
        Some(taken)
    }
}

/// Copies bytes from one place to another; false where either range is not inside its place.
pub(crate) fn copy(from: (&ArenaRegion, usize), to: (&mut ArenaRegion, usize), bytes: usize) -> bool {
    let inside = |at: usize, length: usize| at.checked_add(bytes).is_some_and(|end| end <= length);
    if !inside(from.1, from.0.len()) || !inside(to.1, to.0.len()) {
        return false;
    }
    // SAFETY: both ranges are inside mapped places; those of an arena do not overlap, and the target is borrowed mutably.
    unsafe { std::ptr::copy_nonoverlapping(from.0.address().add(from.1), to.0.address().add(to.1), bytes) };
    true
}
