//! Memory that processes share: a sealed memfd, its mapping, and the futex in it.
//!
//! JUSTIFICATION: mappings at chosen addresses and futexes on them have no safe interface.

mod copy;
mod mapping;
mod peer;

pub(crate) use copy::{load as load_bytes, store as store_bytes};
pub(crate) use mapping::{Access, Mapping};
pub use peer::{peer, refuse_descriptors};

use std::{io, os::fd::OwnedFd, time::Duration};

use rustix::{
    event::{PollFd, Timespec, poll},
    fs::{FallocateFlags, MemfdFlags, SealFlags, fallocate, fcntl_add_seals, ftruncate, memfd_create},
    io::Errno,
    thread::futex,
};

/// A memory file of `bytes` bytes, without a name that outlives its descriptors, which can no longer change its size.
pub(crate) fn memory_file(name: &str, bytes: u64) -> io::Result<OwnedFd> {
    let file = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING | MemfdFlags::NOEXEC_SEAL).or_else(
        |error| match error {
            // Linux before 6.3 does not know MFD_NOEXEC_SEAL.
            Errno::INVAL => memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING),
            error => Err(error),
        },
    )?;
    ftruncate(&file, bytes)?;
    // All of it, or an error here: later, want of memory would be a fault (SIGBUS) of the process that touches it first.
    fallocate(&file, FallocateFlags::empty(), 0, bytes)?;
    fcntl_add_seals(&file, SealFlags::GROW | SealFlags::SHRINK)?;
    Ok(file)
}

/// Forbids every writable mapping but those that exist, and any further seal.
pub(crate) fn seal(file: &OwnedFd) -> io::Result<()> {
    Ok(fcntl_add_seals(file, SealFlags::FUTURE_WRITE | SealFlags::SEAL)?)
}

/// A time limit, as system calls take it.
pub fn timespec(time: Duration) -> Timespec {
    Timespec::try_from(time).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
}

/// Waits until a descriptor is ready, a signal arrives, or the time is over.
///
/// # Errors
/// The system call fails.
pub fn wait_ready(fds: &mut [PollFd<'_>], timeout: Duration) -> io::Result<()> {
    match poll(fds, Some(&timespec(timeout))) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Waits until the futex is no longer `seen`, is woken, or the time is over, whatever comes first; may return early.
pub(crate) fn wait(word: &std::sync::atomic::AtomicU32, seen: u32, timeout: Duration) -> io::Result<()> {
    let timeout = timespec(timeout);
    match futex::wait(word, futex::Flags::empty(), seen, Some(&timeout)) {
        Ok(()) | Err(Errno::AGAIN | Errno::TIMEDOUT | Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Wakes every process that waits on the futex.
pub(crate) fn wake(word: &std::sync::atomic::AtomicU32) -> io::Result<usize> {
    Ok(futex::wake(word, futex::Flags::empty(), i32::MAX as u32)?)
}
