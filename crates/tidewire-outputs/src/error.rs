//! Why an output cannot be written, and how that is reported while the others continue.

use std::{
    fmt::{self, Arguments, Display},
    io,
};

/// Reports a notice to the user of the run; the outputs themselves print nothing.
pub type Notify = fn(Arguments<'_>);

/// The reason why an output cannot be opened, written or completed.
#[derive(Debug)]
pub enum OutputError {
    /// Format and place do not fit each other; the message says what would.
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

    /// The graver of two failures; the other one is reported. A reader that closed an output is the least of them.
    #[must_use]
    pub fn graver(self, second: Self, notify: Notify) -> Self {
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
    notify: Notify,
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
