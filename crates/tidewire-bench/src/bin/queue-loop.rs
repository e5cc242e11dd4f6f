//! A queue in shared memory under load: one process publishes, others read.
//!
//! `queue-loop pair BYTES …` publishes records and starts the readers itself; `queue-loop read …` is one of them, or attaches to
//! the queue of a running sensor and works on each record. Both print one JSON object.
#![forbid(unsafe_code)]

use std::process::ExitCode;

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
}

fn main() -> ExitCode {
    let figures = match Arguments::parse().command {
        Command::Pair(publishing) => publishing.run(),
        Command::Read(reading) => reading.run().and_then(|figures| figures.json()),
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
