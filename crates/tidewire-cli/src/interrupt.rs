//! Signals: the first ends reading, and the process where an input or output keeps it from ending; the second ends the process.

mod waiting;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tidewire::Stop;

use crate::{
    error::{self, CliError},
    progress,
};

/// How long a process may wait for something outside of it after a signal: users expect the end within a second.
const PATIENCE: Duration = Duration::from_millis(500);
/// The same for a capture from interfaces, whose threads look for the signal a few times a second.
pub const LIVE_PATIENCE: Duration = Duration::from_millis(800);
/// The same where no input or output is known to be what it waits for: the kernel closes the sockets of many interfaces one after
/// the other, and a thread may wait for another one.
const UNKNOWN_PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked whether the process waits.
const LOOK: Duration = Duration::from_millis(50);
/// Computing time within [`PATIENCE`] that counts as none: of threads that wait and look from time to time.
const COMPUTED_MAX: Duration = Duration::from_millis(10);
/// How long a message may take: standard error may be a pipe without a reader, too.
const MESSAGE: Duration = Duration::from_millis(100);

/// Signals within this time are one: a terminal that is closed, and programs such as timeout(1), send it to a process and to its group.
const ONE_SIGNAL: Duration = Duration::from_millis(200);

/// When the first one came.
static FIRST: OnceLock<Instant> = OnceLock::new();

pub static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Restores the terminal before the process ends.
pub static GIVE_BACK: OnceLock<fn()> = OnceLock::new();

/// A private folder that goes with the process, however a signal ends it.
static PRIVATE: OnceLock<PathBuf> = OnceLock::new();

/// Declares a folder of this process alone: its owner removes it, and an end by a signal does, too.
pub fn remove_at_end(folder: &Path) {
    let _ = PRIVATE.set(folder.to_owned());
}

/// Whether a signal came.
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// An error once a signal came.
pub fn check() -> Result<(), CliError> {
    if is_interrupted() {
        return Err(CliError::Interrupted(
            "interrupted; not everything was read, and what is written is not complete".into(),
        ));
    }
    Ok(())
}

/// The first Ctrl-C, SIGTERM or SIGHUP ends reading at once, and what was read is processed and written. An output that takes nothing
/// ends the process instead, which is reported: files that are not complete keep their hidden names. A second signal ends the process.
pub fn on_interrupt(stop: &Stop, is_live: bool) -> Result<(), CliError> {
    let stop = stop.clone();
    on_signal(if is_live { LIVE_PATIENCE } else { PATIENCE }, move || {
        stop.stop();
        if is_live {
            progress::hide_echo();
        }
    })
}

/// The same for a command without a [`Stop`]: `first` ends it.
pub fn on_signal(patience: Duration, first: impl Fn() + Send + 'static) -> Result<(), CliError> {
    // The thread begins now: a confined process may start none later.
    let watch = thread::spawn(move || {
        while FIRST.get().is_none() {
            thread::park();
        }
        end_where_it_waits(patience);
    });
    let handler = move || {
        let begun = FIRST.get_or_init(Instant::now);
        if INTERRUPTED.load(Ordering::Relaxed) && begun.elapsed() < ONE_SIGNAL {
            return;
        }
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            end();
        }
        first();
        watch.thread().unpark();
    };
    ctrlc::set_handler(handler).map_err(|error| CliError::Output(format!("signals cannot be handled: {error}")))
}

/// Ends the process.
fn end() -> ! {
    if let Some(give_back) = GIVE_BACK.get() {
        give_back();
    }
    progress::remove();
    if let Some(folder) = PRIVATE.get() {
        let _ = fs::remove_dir_all(folder);
    }
    std::process::exit(i32::from(error::INTERRUPTED))
}

/// Ends the process once all its threads have waited for `patience`, one of them for an input or output. Whatever takes longer but
/// computes or uses a disk goes on.
fn end_where_it_waits(patience: Duration) {
    let (mut since, mut computed) = (Instant::now(), waiting::computed());
    let what = loop {
        thread::sleep(LOOK);
        let computed_now = waiting::computed();
        if computed_now.saturating_sub(computed) > COMPUTED_MAX || !waiting::all_threads_wait() {
            (since, computed) = (Instant::now(), computed_now);
        }
        if since.elapsed() < patience {
            continue;
        }
        if let Some(what) = waiting::blocked() {
            break what;
        }
        if since.elapsed() >= UNKNOWN_PATIENCE {
            break "a part of the run does not end".into();
        }
    };
    let report = thread::spawn(move || {
        error::notify(format_args!("interrupted; {what}: what was written before stays, and is not complete"));
    });
    let begun = Instant::now();
    while !report.is_finished() && begun.elapsed() < MESSAGE {
        thread::sleep(Duration::from_millis(1));
    }
    end();
}
