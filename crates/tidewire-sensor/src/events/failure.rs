//! Failures that end the event processor before it is stopped.

use std::fmt::Display;

use tidewire_event_store::{Broken, Error};

use super::report::EventsStatus;

/// The exit code of a mistake in the settings.
pub(super) const SETTINGS: u8 = 2;
/// The exit code where the store cannot be opened, or the machine lacks something.
pub(super) const ENVIRONMENT: u8 = 3;

/// Advice where the store is damaged.
const AGAIN: &str = "the store is opened again, and recovered; what was not stored is sent again";

/// Why, what to do about it, and the exit code.
#[derive(Debug)]
pub(super) struct Failure {
    pub code: u8,
    pub text: String,
    pub hint: Option<String>,
    /// The last figures, if it had begun to end.
    pub status: Option<Box<EventsStatus>>,
}

impl Failure {
    pub(super) fn new(code: u8, text: impl Display) -> Self {
        Self { code, text: text.to_string(), hint: None, status: None }
    }

    /// The store is damaged, or was replaced, while it was open.
    pub(super) fn broken(broken: Broken) -> Self {
        let hint = (!broken.is_link).then(|| AGAIN.to_owned());
        Self { hint, ..Self::new(ENVIRONMENT, broken.cause) }
    }

    /// The figures at the end.
    pub(super) fn with(mut self, status: EventsStatus) -> Self {
        self.status = Some(Box::new(status));
        self
    }

    /// Adds a remedy.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let hint = match &error {
            Error::Locked { .. } => Some("another sensor uses it: give each a store of its own"),
            Error::NotAStore { .. } | Error::Version { .. } => Some("name another store"),
            // The error says what to do.
            Error::NoLog { .. } | Error::File { what: "refused", .. } | Error::Replaced { link: Some(_), .. } => None,
            Error::Broken { .. } | Error::Replaced { .. } => Some(AGAIN),
            _ => Some("check the disk and the permissions of its directory"),
        };
        Self { hint: hint.map(str::to_owned), ..Self::new(ENVIRONMENT, error) }
    }
}
