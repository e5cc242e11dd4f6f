//! Threads in addition to the program's.
//!
//! JUSTIFICATION: blocking a thread's signals has no wrapper in the standard library.

use std::{
    mem, ptr,
    thread::{Builder, JoinHandle},
};

/// Starts a thread with all signals blocked: they are the program's.
pub fn spawn(work: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    // SAFETY: sets of signals are integers, for which zeroes are valid.
    let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = unsafe { (mem::zeroed(), mem::zeroed()) };
    // SAFETY: the pointers are to locals that live throughout the calls.
    unsafe {
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
    }
    let thread = Builder::new().name("tidewire-gather".into()).spawn(work);
    // SAFETY: as above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut()) };
    thread
}
