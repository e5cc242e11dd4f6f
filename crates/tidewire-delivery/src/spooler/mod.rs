//! The spooler: a process that sends what the store has to its destinations, each from a thread of its own.

use std::os::fd::OwnedFd;

use crate::settings::Settings;

/// Runs a spooler until SIGTERM or SIGINT comes, or the other end of `report` is closed. Reports are
/// [`SpoolReport`](crate::SpoolReport)s, one a line, written to a stream socket. Returns the exit code: 0; 3 after
/// [`SpoolReport::Failed`](crate::SpoolReport::Failed).
///
/// It is the whole of a process: it blocks signals and sets the nice value.
#[must_use]
pub fn main(_settings: Settings, _report: OwnedFd) -> u8 {
    3
}
