//! System calls of the lab: a thread's CPU time, counted allocations, sockets that listen with unusual options, and
//! sockets that connect without waiting.
//!
//! JUSTIFICATION: the standard library neither reads a thread's CPU clock, nor sets these options, nor connects without
//! waiting.
#![allow(unsafe_code)]

pub mod connect;
pub mod counting;
pub mod listen;

/// CPU time of this thread so far, nanoseconds.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a local that lives throughout the call. The clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
