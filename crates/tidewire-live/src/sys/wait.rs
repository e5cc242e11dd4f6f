//! Waiting for rings, and on which processor.

use std::{io, os::fd::BorrowedFd, time::Duration};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
    time::{ClockId, clock_gettime},
};

/// Waits until one of the descriptors is readable (or in error), at most this long. A signal ends it early, too.
///
/// # Errors
/// What the kernel says, other than that a signal came.
pub fn readable(descriptors: &[BorrowedFd<'_>], most: Duration) -> io::Result<()> {
    let mut entries: Vec<_> = descriptors.iter().map(|one| PollFd::from_borrowed_fd(*one, PollFlags::IN)).collect();
    let timeout =
        Timespec { tv_sec: most.as_secs().try_into().unwrap_or(i64::MAX), tv_nsec: most.subsec_nanos().into() };
    match poll(&mut entries, Some(&timeout)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The clock of the frames' timestamps.
pub use tidewire_types::clock::wall_ns as now_ns;

/// Nanoseconds of the monotonic clock, which eBPF programs read.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Wall clock and monotonic clock at one time, to a microsecond where the thread is not interrupted again and again: a thread that
/// loses its processor between two readings would shift every time that is converted with them.
#[must_use]
pub fn both_clocks() -> (u64, u64) {
    const APART_MAX_NS: u64 = 1_000;
    const READINGS: usize = 8;
    let read = || {
        let (before, wall, after) = (monotonic_ns(), now_ns(), monotonic_ns());
        (after.saturating_sub(before), wall, before.midpoint(after))
    };
    let mut best = read();
    for _ in 1..READINGS {
        if best.0 <= APART_MAX_NS {
            break;
        }
        best = best.min(read());
    }
    (best.1, best.2)
}

/// Lets the calling thread run on one CPU only: the `index`-th of those that it may use, counted round.
///
/// # Errors
/// What the kernel says.
pub fn pin(index: usize) -> io::Result<usize> {
    let cpus = processors()?;
    let Some(&cpu) = cpus.get(index % cpus.len().max(1)) else { return Err(io::ErrorKind::NotFound.into()) };
    stay_on(cpu).map(|()| cpu)
}

/// The processors that the calling thread may use, ascending.
///
/// # Errors
/// What the kernel says; more than 1,024 processors.
pub fn processors() -> io::Result<Vec<usize>> {
    let allowed = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect())
}

/// Keeps the calling thread on one processor. System calls only: what runs between fork and exec may call it.
///
/// # Errors
/// What the kernel says; `InvalidInput` beyond the 1,024 processors that a set has.
pub fn stay_on(cpu: usize) -> io::Result<()> {
    let mut one = CpuSet::new();
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    one.set(cpu);
    Ok(sched_setaffinity(None, &one)?)
}
