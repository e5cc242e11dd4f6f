//! The process that ends the instances if `tidewire run` is killed, and the parts of a sensor if its supervisor is.

use std::{env, ffi::OsString, io};

use clap::Args;
use tidewire_sensor::processes::watchdog::{self, Watchdog};

use crate::error::{self, CliError};

/// End the processes whose ids are read, if the input ends without a word
#[derive(Args, Debug)]
pub struct Options {}

/// Runs the watchdog.
#[expect(clippy::unnecessary_wraps, reason = "as every subcommand")]
pub fn run(_options: &Options) -> Result<u8, CliError> {
    tidewire_sensor::processes::hide();
    watchdog::guard(io::stdin().lock());
    Ok(error::OK)
}

/// The command that runs it.
pub fn command() -> io::Result<[OsString; 2]> {
    Ok([env::current_exe()?.into(), "run-watchdog".into()])
}

/// Starts it.
pub fn start() -> io::Result<Watchdog> {
    Watchdog::start(&command()?)
}
