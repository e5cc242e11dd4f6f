//! Ctrl-C and its like: the first ends reading, the second everything.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tidewire::Stop;

use crate::{
    error::{self, CliError},
    progress,
};

/// Nobody wonders before whether Ctrl-C was noticed.
const PATIENCE: Duration = Duration::from_secs(1);

pub static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether reading has ended.
pub static DONE: AtomicBool = AtomicBool::new(false);

/// What gives the terminal back, where it was taken, before everything ends.
pub static GIVE_BACK: OnceLock<fn()> = OnceLock::new();

/// The first Ctrl-C ends reading, as soon as the read that is under way comes back: of a pipe that may be never, which is
/// told. A second one ends everything. SIGTERM and SIGHUP do the same.
pub fn on_interrupt(stop: &Stop, is_live: bool) -> Result<(), CliError> {
    let stop = stop.clone();
    let handler = move || {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            if let Some(give_back) = GIVE_BACK.get() {
                give_back();
            }
            progress::remove();
            std::process::exit(i32::from(error::INTERRUPTED));
        }
        stop.stop();
        if is_live {
            return;
        }
        std::thread::spawn(|| {
            std::thread::sleep(PATIENCE);
            if !DONE.load(Ordering::Relaxed) {
                error::notify("interrupted; waiting for the input to continue or end (Ctrl-C again: end at once)");
            }
        });
    };
    ctrlc::set_handler(handler).map_err(|error| CliError::Output(format!("signals cannot be handled: {error}")))
}
