//! Output for programs: fast formatting of numbers and JSON, to a standard output that may close at any time.

use std::io::{self, Write};

#[cfg(feature = "live")]
pub use tidewire_exports::json::push_string;
pub use tidewire_exports::json::{Object, push_number};
use tidewire_outputs::place::streams;
pub use tidewire_types::hex::encode as hex;

use crate::{error::CliError, progress, terminal::is_terminal};

/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 256 << 10;

/// Standard output, on which writing fails where the program began with none that takes anything (see [`streams`]).
pub struct Stdout;

impl Stdout {
    /// Whether there is one.
    ///
    /// # Errors
    /// It was closed, or is for reading only.
    pub fn check() -> io::Result<()> {
        streams::check()
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Self::check()?;
        streams::write(&mut io::stdout(), bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        streams::flush(&mut io::stdout())
    }
}

/// Buffered standard output. A closed pipe ends the program quietly (see [`CliError::ClosedPipe`]).
pub struct Out {
    inner: Stdout,
    buffer: Vec<u8>,
    /// Set for the last output of a run: after a reader went away, other failures are still reported.
    is_last: bool,
    is_closed: bool,
}

impl Out {
    /// Standard output.
    pub fn stdout() -> Self {
        Self { inner: Stdout, buffer: Vec::with_capacity(BUFFER_BYTES + (8 << 10)), is_last: false, is_closed: false }
    }

    /// Standard output for the result of a run that is over: where its reader closes it, the rest is dropped, and that is no error.
    pub fn last() -> Self {
        Self { is_last: true, ..Self::stdout() }
    }

    /// Whether its reader closed it, so that nothing more needs to be printed.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// The buffer, to append text.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Appends a line of text.
    pub fn line(&mut self, line: &str) -> Result<(), CliError> {
        self.buffer.extend_from_slice(line.as_bytes());
        self.buffer.push(b'\n');
        self.settle()
    }

    /// Writes the buffer if it is large enough.
    pub fn settle(&mut self) -> Result<(), CliError> {
        if self.buffer.len() >= BUFFER_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes the buffer.
    pub fn flush(&mut self) -> Result<(), CliError> {
        if progress::is_shown() && is_terminal() {
            progress::remove();
        }
        if self.is_closed {
            self.buffer.clear();
            return Ok(());
        }
        let written = self.inner.write_all(&self.buffer).and_then(|()| self.inner.flush());
        self.buffer.clear();
        match written {
            Err(error) if self.is_last && error.kind() == io::ErrorKind::BrokenPipe => {
                self.is_closed = true;
                Ok(())
            }
            written => written.map_err(CliError::from_output),
        }
    }
}
