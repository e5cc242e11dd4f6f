//! The hidden subcommands `sensor-capture`, `sensor-events` and `sensor-spool`: parts of a sensor, which the supervisor starts.

use std::{
    io::{self, BufRead as _, Read as _},
    os::fd::{AsFd as _, OwnedFd},
};

use clap::Args;
use serde::de::DeserializeOwned;

use crate::error::CliError;

/// Longest settings: a line of JSON.
const SETTINGS_BYTES_MAX: u64 = 16 << 20;

/// Capture for a sensor: reads a line of JSON from standard input, a socket, and reports on it
#[derive(Args, Debug)]
pub struct CaptureOptions {}

/// Receive, fold and store events for a sensor: reads a line of JSON from standard input, a socket, and reports on it
#[derive(Args, Debug)]
pub struct EventsOptions {}

/// Deliver stored events for a sensor: reads a line of JSON from standard input, a socket, and reports on it
#[derive(Args, Debug)]
pub struct SpoolOptions {}

/// Runs the capture.
pub fn capture(_options: &CaptureOptions) -> Result<u8, CliError> {
    part(tidewire_sensor::capture::main)
}

/// Runs the event processor.
pub fn events(_options: &EventsOptions) -> Result<u8, CliError> {
    part(tidewire_sensor::events::main)
}

/// Runs the spooler.
pub fn spool(_options: &SpoolOptions) -> Result<u8, CliError> {
    part(|settings, report| tidewire_delivery::main(settings, report, tidewire_sensor::spool::confine))
}

/// Runs a part with its settings.
fn part<S: DeserializeOwned>(main: fn(S, OwnedFd) -> u8) -> Result<u8, CliError> {
    let input = io::stdin();
    let mut line = String::new();
    // Only this line is ever sent, so that nothing that is buffered is lost.
    let read = input.lock().take(SETTINGS_BYTES_MAX).read_line(&mut line);
    read.map_err(|error| CliError::Usage(format!("standard input: {error}; 'tidewire sensor' starts this command")))?;
    let settings: S = serde_json::from_str(&line).map_err(|error| {
        CliError::Usage(format!("standard input has no settings of this part: {error}; use 'tidewire sensor'"))
    })?;
    let reports = input.as_fd().try_clone_to_owned();
    let reports = reports.map_err(|error| CliError::Input(format!("standard input: {error}")))?;
    Ok(main(settings, reports))
}
