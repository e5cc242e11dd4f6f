//! Waiting for rings.
//!
//! JUSTIFICATION: `poll(2)` and the real-time clock's raw reading have no wrapper in the standard library.

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Waits until one of the descriptors is readable (or in error), at most this long. A signal ends it early, too.
///
/// # Errors
/// What the kernel says, other than that a signal came.
pub fn readable(descriptors: &[BorrowedFd<'_>], most: Duration) -> io::Result<()> {
    let entry = |fd: &BorrowedFd<'_>| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut entries: Vec<_> = descriptors.iter().map(entry).collect();
    let nanoseconds = most.subsec_nanos().into();
    let timeout =
        libc::timespec { tv_sec: most.as_secs().try_into().unwrap_or(libc::time_t::MAX), tv_nsec: nanoseconds };
    // SAFETY: the pointers are to a slice with its length beside it, and to a local; there is no signal mask.
    let result = unsafe {
        libc::ppoll(entries.as_mut_ptr(), entries.len() as libc::nfds_t, &raw const timeout, std::ptr::null())
    };
    if result >= 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}

/// Nanoseconds since the epoch, by the clock of the frames' timestamps.
#[must_use]
pub fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64)
}

/// Nanoseconds of the monotonic clock, which eBPF programs read.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a structure that lives throughout the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Lets the calling thread run on one CPU only: the `index`-th of those that it may use, counted round.
///
/// # Errors
/// What the kernel says.
pub fn pin(index: usize) -> io::Result<usize> {
    // SAFETY: the structure is plain integers, for which zeroes are valid.
    let mut allowed: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let bytes = size_of::<libc::cpu_set_t>();
    // SAFETY: the pointer is to a local of the length given.
    if unsafe { libc::sched_getaffinity(0, bytes, &raw mut allowed) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the number is below the set's size.
    let may = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, &allowed) };
    let cpus: Vec<usize> = (0..libc::CPU_SETSIZE as usize).filter(may).collect();
    let Some(&cpu) = cpus.get(index % cpus.len().max(1)) else { return Err(io::ErrorKind::NotFound.into()) };
    // SAFETY: as above.
    let mut one: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the number comes from such a set; the pointer is to a local of the length given.
    let result = unsafe {
        libc::CPU_SET(cpu, &mut one);
        libc::sched_setaffinity(0, bytes, &raw const one)
    };
    if result == 0 { Ok(cpu) } else { Err(io::Error::last_os_error()) }
}
