//! Inputs of the supervisor from the program that it is a part of.

use std::{ffi::OsString, os::fd::OwnedFd, sync::Arc};

use super::status::SensorStatus;
use crate::config::{Mistake, SensorConfig};

/// The configuration as it is now, with warnings about it, or its mistakes.
pub type Reread = Result<(SensorConfig, Vec<Mistake>), Vec<Mistake>>;
/// Reads it, on a thread of its own.
pub type Rereads = dyn Fn() -> Reread + Send + Sync;

/// Inputs of the supervisor besides the configuration.
pub struct Recipe<'a> {
    /// The command that calls [`crate::capture::main`] with the configuration from its standard input, and that socket.
    pub capture: Vec<OsString>,
    /// The capture's standard input once it has read that: packets, where a file of it is `-`.
    pub input: Option<OwnedFd>,
    /// The command that calls [`crate::events::main`] in the same way.
    pub events: Vec<OsString>,
    /// The command that calls [`tidewire_delivery::main`] in the same way.
    pub spool: Vec<OsString>,
    /// The command that calls [`crate::processes::watchdog::guard`] with its standard input.
    pub watchdog: Vec<OsString>,
    /// Where the metrics are served, for the status.
    pub metrics: Option<String>,
    /// Reads the configuration again (SIGHUP).
    pub reread: Arc<Rereads>,
    /// Reports what happens, a line each.
    pub log: fn(&str),
    /// Called with the status when it has changed, at most four times a second.
    pub publish: &'a mut dyn FnMut(&SensorStatus),
}
