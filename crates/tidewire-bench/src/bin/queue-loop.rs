//! A queue in shared memory under load: one process publishes, others read.
//!
//! `queue-loop pair BYTES …` publishes records and starts the readers itself; `queue-loop read …` is one of them, or attaches to
//! the queue of a running sensor and works on each record. Both print one JSON object. `queue-loop
//! capture` is the capture of a sensor without its supervisor.
#![forbid(unsafe_code)]

use std::{io, os::fd::AsFd as _, process::ExitCode};

use clap::{Parser, Subcommand};
use tidewire_bench::sensor::ends::{Publishing, Reading};

/// A queue under load
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Publish records to readers that this process starts
    Pair(Publishing),
    /// Read a queue to its end, or until SIGTERM
    Read(Reading),
    /// The capture of a sensor: its configuration is a line of JSON on standard input, a socket, to which events are written
    Capture,
}

/// The capture as `tidewire sensor` starts it, alone.
fn capture() -> Result<u8, String> {
    let socket = io::stdin().as_fd().try_clone_to_owned().map_err(|error| error.to_string())?;
    let mut line = String::new();
    io::stdin().read_line(&mut line).map_err(|error| error.to_string())?;
    let config = serde_json::from_str(&line).map_err(|error| error.to_string())?;
    Ok(tidewire_sensor::capture::main(config, socket))
}

fn main() -> ExitCode {
    let figures = match Arguments::parse().command {
        Command::Pair(publishing) => publishing.run(),
        Command::Read(reading) => reading.run().and_then(|figures| figures.json()),
        Command::Capture => match capture() {
            Ok(code) => return code.into(),
            Err(error) => Err(error),
        },
    };
    match figures {
        Ok(figures) => {
            println!("{figures}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("queue-loop: {error}");
            ExitCode::FAILURE
        }
    }
}
