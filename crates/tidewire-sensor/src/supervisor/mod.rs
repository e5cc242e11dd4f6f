//! The supervisor of a sensor: starts the event processor, the capture, the analyzers and the spooler, watches them, starts them again, and ends them in order. It
//! reads no packet.
//!
//! One thread, which never waits for a part or for a client: it sleeps until a signal, a report of a part, a client or a time
//! limit is there. Processes are started from it, so that the kernel ends them with it (`PR_SET_PDEATHSIG`). Two things that may
//! take long have threads of their own: writing the log, and reading the configuration again.
//!
//! One thread and no packet: `run.rs` sleeps in `poll` until a signal (signalfd), an event of the capture, a client of
//! the status socket or a time limit is there; `watch.rs` decides what follows from events and ends of processes,
//! `end.rs` ends everything in order, `reload.rs` applies a new configuration to the analyzers (`plan.rs`) that a
//! thread has read (`rereading.rs`: filters compile for long), `part.rs` is one process. The capture's standard input
//! is a socket: the configuration goes one way as a line of JSON, events come the other way (`channel.rs`), and its end
//! shows the capture that the supervisor is gone. Processes are started with their rights between fork and exec
//! (`tidewire-live/src/sys/process.rs`), die with the supervisor (`PR_SET_PDEATHSIG`), or by the watchdog
//! (`processes/watchdog.rs`) where their user changed. `config/` finds every mistake in one pass; what it asks of the
//! machine is behind a trait (`config/system.rs`), so that its tests are the same everywhere.

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
