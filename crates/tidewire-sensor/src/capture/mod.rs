//! The capture part of a sensor: reads packets, gives up its privileges, and serves queues.
//!
//! ```text
//! main thread      opens, confines, then captures (with one worker) or watches the workers
//! service thread   serves the queues, wakes readers, reports, notices the supervisor's end
//! ```
//!
//! The thread that captures never waits for the supervisor, nor for a reader unless a queue is configured to hold.
//!
//! `capture/run.rs` is the order of things: queues with all of their memory, input, confinement
//! (`Confinement::pass_descriptors`), then the threads. The main thread captures; `service.rs` is the other one: it
//! serves and wakes readers, notices the supervisor's end, and writes events (`events.rs`) to a socket that never makes
//! it wait. `producer/run.rs` makes a queue that is alone the engine's handler; several, and one with a filter, are
//! `Applications`. `set.rs` is a queue or a set of them: a mutex for each queue, which workers share; a stream's queue
//! is chosen when it opens, by a keyed hash of its ends or in turn. What is kept of a stream is the queue's `Owners`,
//! from which members of groups, repeated OPENs and gaps of shed bytes follow.

mod events;
mod failure;
mod figures;
mod inline;
mod input;
mod recording;
mod records;
mod run;
mod service;
mod visits;
mod words;

use std::{
    os::fd::OwnedFd,
    sync::{Arc, Mutex},
    time::Duration,
};

use tidewire::Stop;
pub use tidewire_analyzers::Emit;

use crate::{config::SensorConfig, report::CaptureEvent};
use events::{Events, Writer};
use failure::Failure;
use run::{Process, Run};

/// How long the last events may take to be written.
const LAST_EVENTS: Duration = Duration::from_secs(1);

/// Runs the capture of a sensor until its input ends, SIGTERM or SIGINT comes, or the other end of `events` is closed. Events are
/// [`CaptureEvent`]s, one a line, written to a pipe or a stream socket. Returns the exit code: 0; 3 after
/// [`CaptureEvent::Finished`] if parts of a file were damaged or unreadable; after [`CaptureEvent::Failed`] 2 (the configuration) or
/// 3 (an input, the environment).
///
/// With analyzers ([`SensorConfig::inline`]) the standard output is one end of a pair of sockets (`SOCK_SEQPACKET`), at whose
/// other end is the event processor.
///
/// It is the whole of a process: it handles signals, sets the nice value, and what it gives up does not come back.
#[must_use]
pub fn main(config: SensorConfig, events: OwnedFd) -> u8 {
    capture(&config, events, Stop::new(), Process::Own, None)
}

/// As [`main`], as a part of a process that does other things as well: it handles no signals and gives up nothing; `stop`
/// ends it as SIGTERM would. Analyzers of the configuration do not run.
#[must_use]
pub fn run_within(config: &SensorConfig, events: OwnedFd, stop: &Stop) -> u8 {
    capture(config, events, stop.clone(), Process::Shared, None)
}

/// As [`run_within`], with the analyzers of the configuration; their events go to `emit`.
#[must_use]
pub fn run_emitting(config: &SensorConfig, events: OwnedFd, stop: &Stop, emit: Arc<dyn Emit>) -> u8 {
    capture(config, events, stop.clone(), Process::Shared, Some(emit))
}

fn capture(config: &SensorConfig, to: OwnedFd, stop: Stop, process: Process, emit: Option<Arc<dyn Emit>>) -> u8 {
    let events = Events::default();
    let Ok(writer) = Writer::new(to, events.clone()) else { return failure::ENVIRONMENT };
    let writer = Arc::new(Mutex::new(Some(writer)));
    let run = Run { config, stop, process, events: events.clone(), emit, writer: Arc::clone(&writer) };
    let (code, last) = match run.run() {
        Ok((status, code)) => (code, CaptureEvent::Finished(status)),
        Err(Failure { code, text, hint }) => (code, CaptureEvent::Failed { text, hint }),
    };
    events.send(last);
    if let Some(mut writer) = run::take(&writer) {
        writer.write_for(LAST_EVENTS);
    }
    code
}
