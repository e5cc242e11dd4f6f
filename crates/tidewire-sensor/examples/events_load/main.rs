//! What the event processor does under floods: `events_load [SECONDS [FLOOD]]`, in `make bench-events`.
//!
//! Four processes stand for analyzers and emit as fast as they can. The event processor is a process as in a sensor, with a store in
//! `TIDEWIRE_BENCH_DIR` (default: the current directory), whose disk counts. Measured are events acknowledged a second from the first
//! to the last acknowledgment, the processor time of the event processor alone, the most memory it had, and the bytes of its store.
//! Each row ends with a check: the store has exactly what was emitted.

mod analyzer;
mod flood;
mod measure;

use std::{env, os::fd::AsFd as _, path::PathBuf, process::ExitCode};

use tidewire_sensor::events::{self, EventsSettings};

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let first = arguments.next();
    let rest: Vec<String> = arguments.collect();
    let done = match first.as_deref() {
        Some("--processor") => return processor(),
        Some("--analyzer") => analyzer::run(&rest),
        seconds => seconds
            .map_or(Ok(10), str::parse)
            .map_err(Failure::from)
            .and_then(|seconds| measure::all(&directory(), seconds, rest.first().map_or("", String::as_str))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("events_load: {error}");
            ExitCode::FAILURE
        }
    }
}

fn directory() -> PathBuf {
    env::var_os("TIDEWIRE_BENCH_DIR").map_or_else(|| ".".into(), PathBuf::from)
}

/// The event processor, as the supervisor starts it.
fn processor() -> ExitCode {
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line).is_ok();
    let settings: Option<EventsSettings> = serde_json::from_str(&line).ok().filter(|_| read);
    let (Some(settings), Ok(to)) = (settings, std::io::stdin().as_fd().try_clone_to_owned()) else {
        return ExitCode::FAILURE;
    };
    events::main(settings, to).into()
}
