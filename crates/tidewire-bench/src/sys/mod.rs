//! System calls of the benchmarks: what a child process used, hardware counters, and libnids.
//!
//! JUSTIFICATION: the standard library does not return a child's resource usage.
#![allow(unsafe_code)]

#[cfg(feature = "nids")]
pub mod nids;
pub mod perf;

use std::{io, mem::MaybeUninit, process::Child};

/// Usage of a process, from the kernel's accounting.
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

impl Usage {
    /// Seconds in user mode and in the kernel together.
    #[must_use]
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

/// Waits for a child and returns what it (and what it waited for) used.
///
/// # Errors
/// The error of `wait4`.
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
