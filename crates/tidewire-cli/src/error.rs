//! Errors of a run, and the exit codes they become.

use std::{
    fmt::{self, Display},
    io::{self, Write as _},
};

#[cfg(feature = "live")]
use tidewire::live::LiveError;
use tidewire::{Error, FileError, legible::legible};
use tidewire_outputs::OutputError;

#[cfg(feature = "live")]
use crate::advice;
use crate::progress;

/// Success.
pub const OK: u8 = 0;
/// `match`: no pattern found. `follow`: no such stream. `recall`: no packet. `check-steering`: a flow is split.
pub const NOT_FOUND: u8 = 1;
/// The command line, the configuration file or an expression is invalid.
pub const USAGE: u8 = 2;
/// An input is damaged or unreadable; everything before the damage was processed.
pub const INPUT: u8 = 3;
/// The output cannot be written.
pub const OUTPUT: u8 = 4;
/// Ended by a signal before the end of its files.
pub const INTERRUPTED: u8 = 130;

/// The help's section on exit codes.
pub const EXIT_CODES: &str = "\
Exit status:
  0    success; also when Ctrl-C or SIGTERM ends a capture from interfaces
  1    not found (match: no pattern; follow: no such stream;
       recall: no packet);
       check-steering: a flow is split; keys show: a certificate is not valid
  2    invalid command line, configuration file or filter expression;
       no such interface
  3    an input is damaged or unreadable (packets before the damage were
       processed); an interface cannot be opened
  4    the output cannot be written
  130  interrupted while reading files; packets read so far were processed.
       Also where an output took nothing: no process reads the pipe";

/// The reason why a command ends early.
#[derive(Debug)]
pub enum CliError {
    /// Invalid usage; the message says what is wrong and what would be right.
    Usage(String),
    /// An unreadable input.
    Input(String),
    /// An output that cannot be written.
    Output(String),
    /// The reader of our output closed the pipe.
    ClosedPipe,
    /// A signal ended the run; the message says what is not there.
    Interrupted(String),
}

impl CliError {
    /// Invalid usage, as an error of a library describes it.
    pub fn usage(error: impl Display) -> Self {
        Self::Usage(error.to_string())
    }

    /// Converts a failed write to standard output.
    pub fn from_output(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        Self::Output(format!("cannot write the output: {error}"))
    }

    /// The same of two failures.
    pub fn graver(self, second: Self) -> Self {
        match (self, second) {
            (Self::ClosedPipe, second) => second,
            (first, Self::ClosedPipe) => first,
            (first, second) => {
                second.report();
                first
            }
        }
    }

    /// Prints the message and returns the exit code. A closed pipe counts as success.
    pub fn report(&self) -> u8 {
        let (message, code) = match self {
            Self::ClosedPipe => return OK,
            Self::Usage(message) => (message, USAGE),
            Self::Input(message) => (message, INPUT),
            Self::Output(message) => (message, OUTPUT),
            Self::Interrupted(message) => (message, INTERRUPTED),
        };
        notify(message);
        code
    }
}

/// The end of a run whose output is complete, or is not, and that comes to `code` otherwise.
pub fn concluded(written: Result<(), CliError>, code: Result<u8, CliError>) -> Result<u8, CliError> {
    let (code, ended) = match code {
        Ok(code) => (code, Ok(())),
        Err(error) => (OK, Err(error)),
    };
    graver(written, ended).map(|()| code)
}

/// Of what two parts of a run came to, what the run comes to: a failure counts before success, and a reader that closed our output,
/// who wanted no more, before no failure. Of two failures the first counts, and the other is said now.
pub fn graver(first: Result<(), CliError>, second: Result<(), CliError>) -> Result<(), CliError> {
    match (first, second) {
        (Err(first), Err(second)) => Err(first.graver(second)),
        (first, second) => first.and(second),
    }
}

impl Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClosedPipe => f.write_str("the output was closed"),
            Self::Usage(message) | Self::Input(message) | Self::Output(message) | Self::Interrupted(message) => {
                f.write_str(message)
            }
        }
    }
}

/// Prints a message on standard error. Control characters are escaped: messages quote file names, interfaces, filters and keys,
/// which must not control the terminal or imitate another message. A failed write is ignored; the exit code remains.
pub fn notify(message: impl Display) {
    progress::remove();
    let _ = writeln!(io::stderr(), "tidewire: {}", escaped(&message.to_string()));
}

/// Escapes control characters. Indented lines, which point at a position, stay lines; any other line break is part of a name.
fn escaped(message: &str) -> String {
    let mut parts = message.split("\n  ");
    let first = legible(parts.next().unwrap_or_default()).into_owned();
    parts.fold(first, |text, part| text + "\n  " + &legible(part))
}

impl From<OutputError> for CliError {
    fn from(error: OutputError) -> Self {
        match error {
            OutputError::Usage(message) => Self::Usage(message),
            OutputError::Write(message) => Self::Output(message),
            OutputError::Closed => Self::ClosedPipe,
        }
    }
}

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        #[cfg(feature = "live")]
        let hint = match &error {
            Error::Live(error) => advice::hint(error),
            error => error.hint(),
        };
        #[cfg(not(feature = "live"))]
        let hint = error.hint();
        let text = match hint {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        };
        match &error {
            Error::File(FileError::Read { path, cause, .. }) if cause.kind() == io::ErrorKind::Interrupted => {
                let name = path.display().to_string();
                let name = if name == "-" { "standard input" } else { &name };
                Self::Interrupted(format!("interrupted; nothing was read: {name} gave nothing"))
            }
            Error::Filter(_) | Error::Setting { .. } => Self::Usage(text),
            #[cfg(feature = "live")]
            Error::Live(
                LiveError::Filter(_)
                | LiveError::NoInterface { .. }
                | LiveError::Setting(_)
                | LiveError::Steering(_)
                | LiveError::Callback(_),
            ) => Self::Usage(text),
            _ => Self::Input(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn only_lines_that_point_at_a_place_are_lines() {
        let pointed = "line 1, column 5: what\n  tcp x\n      ^\n  do this";
        assert_eq!(escaped(pointed), pointed);
        assert_eq!(escaped("a\ntidewire: forged\r\n b\u{1b}[2J"), "a\\ntidewire: forged\\r\\n b\\u{1b}[2J");
        assert_eq!(escaped("a\n  \u{9b}b"), "a\n  \\u{9b}b");
    }
}
