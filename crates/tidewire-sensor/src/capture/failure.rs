//! Why a capture ends before its input does.

use std::fmt::Display;

use tidewire::Error;

use crate::producer::QueuesError;

/// The exit code of a mistake in the configuration.
pub(super) const CONFIGURATION: u8 = 2;
/// The exit code where an input cannot be opened, or the machine lacks something.
pub(super) const ENVIRONMENT: u8 = 3;

/// Why, what to do about it, and the exit code.
#[derive(Debug)]
pub(super) struct Failure {
    pub code: u8,
    pub text: String,
    pub hint: Option<String>,
}

impl Failure {
    pub(super) fn new(code: u8, text: impl Display) -> Self {
        Self { code, text: text.to_string(), hint: None }
    }

    /// All of it, for where only a text goes.
    pub(super) fn words(self) -> String {
        match self.hint {
            Some(hint) => format!("{}; {hint}", self.text),
            None => self.text,
        }
    }

    /// Adds a remedy.
    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::Filter(_) | Error::Setting(_) => CONFIGURATION,
            _ => ENVIRONMENT,
        };
        let hint = error.hint();
        Self { hint, ..Self::new(code, error) }
    }
}

impl From<QueuesError> for Failure {
    fn from(error: QueuesError) -> Self {
        let (code, hint) = match &error {
            QueuesError::Memory { .. } => (ENVIRONMENT, "give the queue less memory or fewer records"),
            QueuesError::Name { .. } => {
                (CONFIGURATION, "names are 1 to 64 letters, digits, '.', '-' and '_', and differ")
            }
        };
        Self::new(code, error).hint(hint)
    }
}
