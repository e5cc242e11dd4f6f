//! Where records go: standard output, or a program's standard input.

use std::process::ExitStatus;

use super::program::{Program, Running};
use crate::{error::CliError, output::Out};

/// Bytes collected before they are written.
const BUFFER_BYTES: usize = 256 << 10;

/// Where records go.
pub enum Sink {
    /// Standard output.
    Out(Out),
    /// A program.
    Program(Fed),
}

/// A program that gets records.
pub struct Fed {
    program: Program,
    running: Option<Running>,
    buffer: Vec<u8>,
    /// Records in the buffer.
    buffered: u64,
    /// Records that were in the buffer when the program ended.
    pub dropped: u64,
}

impl Sink {
    pub fn new(command: Option<&str>) -> Result<Self, CliError> {
        let Some(command) = command else { return Ok(Self::Out(Out::stdout())) };
        let program = Program::new(command);
        let running = Some(program.start()?);
        Ok(Self::Program(Fed { program, running, buffer: Vec::new(), buffered: 0, dropped: 0 }))
    }

    /// The buffer.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        match self {
            Self::Out(out) => out.buffer(),
            Self::Program(fed) => &mut fed.buffer,
        }
    }

    /// The buffer, to append one record.
    pub fn record_buffer(&mut self) -> &mut Vec<u8> {
        if let Self::Program(fed) = self {
            fed.buffered += 1;
        }
        self.buffer()
    }

    /// Writes the buffer if it is large enough; `false`: the program takes no more.
    pub fn settle(&mut self) -> Result<bool, CliError> {
        match self {
            Self::Out(out) => out.settle().map(|()| true),
            Self::Program(fed) if fed.buffer.len() < BUFFER_BYTES => Ok(true),
            Self::Program(fed) => fed.flush(),
        }
    }

    /// Writes the buffer; `false`: the program takes no more, or has ended.
    pub fn flush(&mut self) -> Result<bool, CliError> {
        match self {
            Self::Out(out) => out.flush().map(|()| true),
            Self::Program(fed) => fed.flush(),
        }
    }
}

impl Fed {
    fn flush(&mut self) -> Result<bool, CliError> {
        let Some(running) = &mut self.running else { return Ok(false) };
        let is_written = running.write(&self.buffer)? && !running.has_ended();
        self.dropped += if is_written { 0 } else { self.buffered };
        self.buffered = 0;
        self.buffer.clear();
        Ok(is_written)
    }

    /// Ends the program's input and waits for its end.
    pub fn finish(&mut self) -> Result<Option<ExitStatus>, CliError> {
        self.running.take().map(Running::finish).transpose()
    }

    /// After the program's end: waits, starts it again, and says so. `false`: a signal came.
    pub fn restart(&mut self, say: impl FnOnce(&str)) -> Result<bool, CliError> {
        let ran = self.running.as_ref().map(Running::ran).unwrap_or_default();
        let status = self.finish()?;
        let status = status.map_or_else(|| "it ended".to_owned(), |status| status.to_string());
        let pause = self.program.pause(ran).as_secs_f64();
        say(&format!("the program ended ({status}); it starts again in {pause:.1} s"));
        if !self.program.wait(ran) {
            return Ok(false);
        }
        self.running = Some(self.program.start()?);
        Ok(true)
    }

    pub fn restarts(&self) -> u64 {
        self.program.restarts
    }
}
