//! How a run can go wrong, and what the shell is told.

use std::{
    fmt::{self, Display},
    io::{self, Write as _},
};

#[cfg(feature = "live")]
use tidewire::live::LiveError;
use tidewire::{Error, legible::legible};

use crate::progress;

/// Nothing went wrong.
pub const OK: u8 = 0;
/// `match`: no pattern was found. `follow`: there is no such stream. `check-steering`: a flow is split.
pub const NOT_FOUND: u8 = 1;
/// The command line, the configuration file or an expression is wrong.
pub const USAGE: u8 = 2;
/// An input is damaged or unreadable; everything before was processed.
pub const INPUT: u8 = 3;
/// The output could not be written.
pub const OUTPUT: u8 = 4;
/// Ended by Ctrl-C, or another signal, before the end of its files.
pub const INTERRUPTED: u8 = 130;

/// What the help says of exit codes.
pub const EXIT_CODES: &str = "\
Exit status:
  0    done; a capture from interfaces also where Ctrl-C or SIGTERM ended it
  1    nothing found (match: no pattern; follow: no such stream), or a flow is split (check-steering)
  2    wrong usage: command line, configuration file, filter expression, no such interface
  3    an input is damaged or unreadable, what came before was processed; an interface cannot be opened
  4    the output could not be written
  130  interrupted while reading files; what was read by then was processed";

/// Why a command ends early.
#[derive(Debug)]
pub enum CliError {
    /// The caller's: a message that says what is wrong and what would be right.
    Usage(String),
    /// The input's.
    Input(String),
    /// The output's.
    Output(String),
    /// Whoever read our output has seen enough.
    ClosedPipe,
}

impl CliError {
    /// A write to the standard output that failed.
    pub fn from_output(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        Self::Output(format!("the output cannot be written: {error}"))
    }

    /// The exit code, after the message was printed. A pipe that was closed is no failure of ours.
    pub fn report(&self) -> u8 {
        let (message, code) = match self {
            Self::ClosedPipe => return OK,
            Self::Usage(message) => (message, USAGE),
            Self::Input(message) => (message, INPUT),
            Self::Output(message) => (message, OUTPUT),
        };
        notify(message);
        code
    }
}

impl Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ClosedPipe => f.write_str("the output was closed"),
            Self::Usage(message) | Self::Input(message) | Self::Output(message) => f.write_str(message),
        }
    }
}

/// Tells people something, on standard error: messages quote names of files, interfaces, filters and keys, which must not command
/// the terminal or look like another message. Where that cannot be written, the exit code has to do.
pub fn notify(message: impl Display) {
    progress::remove();
    let _ = writeln!(io::stderr(), "tidewire: {}", escaped(&message.to_string()));
}

/// A message with everything escaped that is no text. Lines that point at a place are indented and stay lines; any other
/// line break is part of a name.
fn escaped(message: &str) -> String {
    let mut parts = message.split("\n  ");
    let first = legible(parts.next().unwrap_or_default()).into_owned();
    parts.fold(first, |text, part| text + "\n  " + &legible(part))
}

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        let text = match error.hint() {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        };
        match &error {
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
