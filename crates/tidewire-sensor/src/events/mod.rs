//! The event processor of a sensor: receives events, folds them, stores them, and says what is durable.

pub mod report;
mod settings;

use std::{os::fd::OwnedFd, time::Duration};

pub use settings::{EventsSettings, KindSettings};

use crate::reporter::{Reporter, Writer};
use report::EventsReport;

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
    let Ok(mut writer) = Writer::new(to, reporter.clone()) else { return 3 };
    let store = settings.store.display();
    reporter.send(EventsReport::Failed { text: format!("{store}: events cannot be stored yet"), hint: None });
    writer.write_for(LAST_LINES);
    3
}
