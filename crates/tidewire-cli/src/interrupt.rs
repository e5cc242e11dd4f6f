//! Signals: the first ends reading, the second ends the process.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use tidewire::Stop;

use crate::{
    error::{self, CliError},
    progress,
};

/// Time until a user wonders whether Ctrl-C was noticed.
const PATIENCE: Duration = Duration::from_secs(1);

/// Signals within this time are one: a terminal that is closed, and programs such as timeout(1), send it to a process and to its group.
const ONE_SIGNAL: Duration = Duration::from_millis(200);

/// When the first one came.
static FIRST: OnceLock<Instant> = OnceLock::new();

pub static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Whether reading has ended.
pub static DONE: AtomicBool = AtomicBool::new(false);

/// Restores the terminal before the process ends.
pub static GIVE_BACK: OnceLock<fn()> = OnceLock::new();

/// The first Ctrl-C, SIGTERM or SIGHUP ends reading as soon as the current read returns. With a pipe that may be never, which
/// is reported. A second signal ends the process.
pub fn on_interrupt(stop: &Stop, is_live: bool) -> Result<(), CliError> {
    let stop = stop.clone();
    let handler = move || {
        let first = FIRST.get_or_init(Instant::now);
        if INTERRUPTED.load(Ordering::Relaxed) && first.elapsed() < ONE_SIGNAL {
            return;
        }
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            if let Some(give_back) = GIVE_BACK.get() {
                give_back();
            }
            progress::remove();
            std::process::exit(i32::from(error::INTERRUPTED));
        }
        stop.stop();
        if is_live {
            progress::hide_echo();
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
