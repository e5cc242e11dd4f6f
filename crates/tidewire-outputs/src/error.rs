//! Why an output cannot be written, and how that is reported while the others continue.

use std::{
    fmt::{self, Arguments, Display},
    io,
    sync::Arc,
};

/// Reports a notice to the user of the run; the outputs themselves print nothing.
pub type Notify = Arc<dyn Fn(Arguments<'_>) + Send + Sync>;

/// The reason why an output cannot be opened, written or completed.
#[derive(Debug)]
pub enum OutputError {
    /// The format cannot be written to this destination; the message names one that can be used.
    Usage(String),
    /// It cannot be written; the message says what of it is there.
    Write(String),
    /// The process that read it closed it.
    Closed,
}

impl OutputError {
    /// A failed write to a stream that `shown` names.
    #[must_use]
    pub fn of_stream(shown: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::Closed;
        }
        Self::Write(format!("{shown}: cannot be written: {error}"))
    }

    /// Returns the more severe of two failures and reports the other one. A reader that closed an output is the least severe.
    #[must_use]
    pub fn graver(self, second: Self, notify: &Notify) -> Self {
        match (self, second) {
            (Self::Closed, second) => second,
            (first, Self::Closed) => first,
            (first, second) => {
                notify(format_args!("{second}"));
                first
            }
        }
    }
}

/// The graver result of two parts ([`OutputError::graver`]).
///
/// # Errors
/// One of the parts failed.
pub fn graver(
    first: Result<(), OutputError>,
    second: Result<(), OutputError>,
    notify: &Notify,
) -> Result<(), OutputError> {
    match (first, second) {
        (Err(first), Err(second)) => Err(first.graver(second, notify)),
        (first, second) => first.and(second),
    }
}

impl Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the output was closed"),
            Self::Usage(message) | Self::Write(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for OutputError {}
