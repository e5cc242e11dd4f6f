//! Clocks that two processes share, and the core a thread runs on.

use rustix::{
    thread::{CpuSet, sched_setaffinity},
    time::{ClockId, clock_gettime},
};

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// The same clock in every process, nanoseconds.
pub(super) fn now_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// CPU time of this process so far, nanoseconds.
pub(super) fn process_cpu_ns() -> u64 {
    nanoseconds(ClockId::ProcessCPUTime)
}

/// CPU time of this thread so far, nanoseconds.
pub(super) fn thread_cpu_ns() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

/// Keeps this thread on a core.
pub(super) fn pin(core: usize) -> Result<(), String> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).map_err(|error| format!("core {core}: {error}"))
}
