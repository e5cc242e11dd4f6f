//! The supervisor of a sensor: starts the event processor, the capture, the analyzers and the spooler, watches them, starts them again, and ends them in order. It
//! reads no packet.
//!
//! One thread, which never waits for a part or for a client: it sleeps until a signal, a report of a part, a client or a time
//! limit is there. Processes are started from it, so that the kernel ends them with it (`PR_SET_PDEATHSIG`). Two things that may
//! take long have threads of their own: writing the log, and reading the configuration again.

mod channel;
mod directory;
mod end;
mod error;
mod hear;
mod log;
mod notify;
mod output;
mod part;
mod plan;
mod recipe;
mod reload;
mod reporting;
mod rereading;
mod rights;
mod run;
mod start;
pub mod status;
mod summary;
mod watch;

use crate::config::SensorConfig;

pub use channel::receive_settings;
pub use error::Error;
pub use recipe::{Recipe, Reread, Rereads};
pub use status::STATUS_SOCKET;

/// Runs a sensor to its end, and returns the exit code: that of a capture that could not begin, 3 if a capture of files failed, 130
/// if a signal ended a capture of files, else 0.
///
/// It is the whole of a process: signals are blocked and read here, capabilities that no part needs are given up, and what its
/// parts leave behind becomes its child.
///
/// # Errors
/// The sensor did not begin.
pub fn run(config: SensorConfig, recipe: Recipe<'_>) -> Result<u8, Error> {
    run::Supervisor::new(config, recipe)?.run()
}
