//! The lab's system calls: what a process cost, what a thread has used so far, and what is allocated.
//!
//! JUSTIFICATION: the standard library neither returns a child's resource usage nor reads a thread's CPU clock.
#![allow(unsafe_code)]

pub mod counting;
pub mod listen;
#[cfg(feature = "nids")]
pub mod nids;
pub mod perf;

use std::{io, mem::MaybeUninit, process::Child};

/// What a process used, from the kernel's accounting.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Seconds in user mode.
    pub user_s: f64,
    /// Seconds in the kernel on its behalf.
    pub system_s: f64,
    /// Greatest resident set, bytes.
    pub peak_bytes: u64,
    /// Exit status, as a shell shows it (128 + signal where one ended it).
    pub status: i32,
}

/// Waits for a child and returns what it (and what it waited for) used.
///
/// # Errors
/// What the kernel says.
pub fn wait(child: &Child) -> io::Result<Usage> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let id = i32::try_from(child.id()).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: both pointers are to locals that live throughout the call; rusage is plain integers, so zeroes are valid.
    let (waited, usage) = unsafe { (libc::wait4(id, &raw mut status, 0, usage.as_mut_ptr()), usage.assume_init()) };
    if waited != id {
        return Err(io::Error::last_os_error());
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    let status = if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) };
    Ok(Usage {
        user_s: seconds(usage.ru_utime),
        system_s: seconds(usage.ru_stime),
        peak_bytes: usage.ru_maxrss as u64 * 1024,
        status,
    })
}

/// CPU time of this thread so far, nanoseconds.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a local that lives throughout the call. The clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
