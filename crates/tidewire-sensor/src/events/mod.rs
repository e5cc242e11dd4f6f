//! The event processor of a sensor: receives events, folds them, stores them, and says what is durable.
//!
//! ```text
//! main thread     receives (Server), folds (Folder), cuts records every 20 ms or 1,000, acknowledges durable events
//! "events" thread stores what was cut (Writer), removes what is too old or too much, joins the records of closed folds
//! ```
//!
//! Nothing is dropped here: where the store is slow, full or broken, events are not read, and analyzers wait.
//!
//! ```text
//!  capture: Inline analyzers ─ a socket pair ─┐
//!  analyzers: Events ─ events.sock ───────────┴► event processor ─► Store ◄─ reads ─ spooler ─► collector, folder, Kafka
//!                   ◄─ acknowledged after COMMIT ─┘      ▲                      │
//!                                                        └── delivered up to ───┘
//! ```

mod failure;
mod intake;
mod own;
mod processor;
pub mod report;
mod run;
mod seal;
mod settings;
mod triggers;
mod words;

use std::{os::fd::OwnedFd, time::Duration};

pub use settings::{EventsSettings, KindSettings};

use crate::reporter::{Reporter, Writer};
use failure::Failure;
use report::EventsReport;
use run::Run;

/// How long the last lines may take to be written.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Runs the event processor of a sensor until SIGTERM or SIGINT comes, or the other end of `to` is closed. [`EventsReport`]s are
/// written to it, one a line; it is a pipe or a stream socket. Returns the exit code: 0; after [`EventsReport::Failed`] 2 (the
/// settings) or 3 (the store, the environment).
///
/// It is the whole of a process: it handles signals, sets the nice value, and what it gives up does not come back.
#[must_use]
pub fn main(settings: EventsSettings, to: OwnedFd) -> u8 {
    let reporter = Reporter::<EventsReport>::default();
    let Ok(mut writer) = Writer::new(to, reporter.clone()) else { return failure::ENVIRONMENT };
    let run = Run { settings: &settings, reporter: reporter.clone(), writer: &mut writer };
    let (code, last) = match run.run() {
        Ok(status) => (0, EventsReport::Finished(status)),
        Err(Failure { code, text, hint, status }) => (code, EventsReport::Failed { text, hint, status }),
    };
    reporter.send(last);
    writer.write_for(LAST_LINES);
    code
}
