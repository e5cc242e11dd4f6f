//! The limit of file sizes (RLIMIT_FSIZE, `ulimit -f`): a write beyond it fails with an error that is reported, instead of ending the
//! process by SIGXFSZ without a word.

use std::sync::atomic::{AtomicBool, Ordering};

use nix::sys::signal::{SigSet, Signal};

/// Whether the signal is blocked by us, not by who started the process.
static IS_OURS: AtomicBool = AtomicBool::new(false);

/// Makes writes of this thread, and of those that it starts, fail.
pub fn fail_beyond() {
    let was_blocked = SigSet::thread_get_mask().is_ok_and(|mask| mask.contains(Signal::SIGXFSZ));
    if !was_blocked && SigSet::from(Signal::SIGXFSZ).thread_block().is_ok() {
        IS_OURS.store(true, Ordering::Relaxed);
    }
}

/// Starts another program, which is not to inherit this.
#[cfg(feature = "live")]
pub fn without<T>(start: impl FnOnce() -> T) -> T {
    let is_ours = IS_OURS.load(Ordering::Relaxed);
    if is_ours {
        let _ = SigSet::from(Signal::SIGXFSZ).thread_unblock();
    }
    let started = start();
    if is_ours {
        let _ = SigSet::from(Signal::SIGXFSZ).thread_block();
    }
    started
}
