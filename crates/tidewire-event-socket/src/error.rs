//! Why an event was not taken.

use std::{io, path::PathBuf, time::Duration};

use tidewire_events::EventError;

/// Why an event was not taken, or is not known to be durable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EventsError {
    /// The caller's: the event breaks a limit or a rule.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The caller's: the event is another analyzer's.
    #[error("an event of the analyzer '{}' cannot be emitted as '{name}'", analyzer.escape_debug())]
    Analyzer {
        /// The analyzer of the event.
        analyzer: String,
        /// The name of this client.
        name: String,
    },
    /// The caller's: invalid name of an analyzer.
    #[error("'{}' is no name of an analyzer: expected 1 to 64 letters, digits, '.', '-' and '_', and not 'tidewire'", .0.escape_debug())]
    Name(String),
    /// The environment's: a variable that the sensor sets is not there.
    #[error("the environment variable {0} is not set: a sensor sets it for the programs that it starts")]
    Environment(&'static str),
    /// The socket cannot be reached.
    #[error("{}: {source}{}", path.display(), hint(source))]
    Connect {
        /// The socket.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The event processor refuses this client.
    #[error("the event processor refuses: {0}")]
    Refused(String),
    /// The limit of waiting is over.
    #[error("not acknowledged after {} s{}", waited.as_secs_f64(), because(last))]
    Timeout {
        /// How long.
        waited: Duration,
        /// The last obstacle, if any.
        last: Option<String>,
    },
    /// The thread that sends could not be started.
    #[error("no thread can be started: {0}")]
    Thread(io::Error),
}

fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => " (does a sensor with events run there?)",
        io::ErrorKind::PermissionDenied => " (the sensor's setting 'users' says who may)",
        _ => "",
    }
}

fn because(last: &Option<String>) -> String {
    last.as_ref().map(|last| format!(": {last}")).unwrap_or_default()
}
