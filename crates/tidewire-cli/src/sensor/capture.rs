//! `tidewire sensor-capture`: the capture of a sensor, which the supervisor starts.

use std::{
    io::{self, BufRead as _, Read as _},
    os::fd::AsFd as _,
};

use clap::Args;
use tidewire_sensor::config::SensorConfig;

use crate::error::CliError;

/// Longest configuration: a line of JSON.
const CONFIG_BYTES_MAX: u64 = 16 << 20;

/// Capture for a sensor: reads a line of JSON from standard input, a socket, and reports on it
#[derive(Args, Debug)]
pub struct Options {}

/// Runs the subcommand.
pub fn run(_options: &Options) -> Result<u8, CliError> {
    let input = io::stdin();
    let mut line = String::new();
    // Only this line is ever sent, so that nothing that is buffered is lost.
    let read = input.lock().take(CONFIG_BYTES_MAX).read_line(&mut line);
    read.map_err(|error| CliError::Usage(format!("standard input: {error}; 'tidewire sensor' starts this command")))?;
    let config: SensorConfig = serde_json::from_str(&line).map_err(|error| {
        CliError::Usage(format!("standard input is no configuration of a sensor: {error}; use 'tidewire sensor'"))
    })?;
    let events = input.as_fd().try_clone_to_owned();
    let events = events.map_err(|error| CliError::Input(format!("standard input: {error}")))?;
    Ok(tidewire_sensor::capture::main(config, events))
}
