//! The hidden subcommands `sensor-capture`, `sensor-events` and `sensor-spool`: parts of a sensor, which the supervisor starts.

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
};

use clap::Args;
use serde::de::DeserializeOwned;
use tidewire_sensor::supervisor::receive_settings;

use crate::error::CliError;

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
    let failed = |error: io::Error| CliError::Usage(format!("standard input: {error}; use 'tidewire sensor'"));
    let received = receive_settings(input.as_fd()).map_err(failed)?;
    let (line, packets) = received.ok_or_else(|| failed(io::ErrorKind::UnexpectedEof.into()))?;
    let settings: S = serde_json::from_slice(&line).map_err(|error| {
        CliError::Usage(format!("standard input has no settings of this part: {error}; use 'tidewire sensor'"))
    })?;
    let reports = input.as_fd().try_clone_to_owned().map_err(failed)?;
    if let Some(packets) = packets {
        rustix::stdio::dup2_stdin(packets).map_err(|error| failed(error.into()))?;
    }
    Ok(main(settings, reports))
}
