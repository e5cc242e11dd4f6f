//! Lines of a pipe, each awaited with a time limit.

use std::{
    io::{BufRead as _, BufReader, Read},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Instant,
};

use crate::PATIENCE;

/// Lines that a program writes; a thread reads them, so that the program never blocks.
pub struct Lines {
    queue: Receiver<String>,
}

impl Lines {
    /// Reads a pipe until it is closed. Invalid UTF-8 is replaced.
    pub fn new(pipe: impl Read + Send + 'static) -> Self {
        let (sender, queue) = channel();
        thread::spawn(move || {
            let (mut pipe, mut line) = (BufReader::new(pipe), Vec::new());
            while matches!(pipe.read_until(b'\n', &mut line), Ok(1..)) {
                let text = String::from_utf8_lossy(&line).trim_end_matches('\n').to_owned();
                if sender.send(text).is_err() {
                    // The receiver is gone; the writer continues.
                    let _ = std::io::copy(&mut pipe, &mut std::io::sink());
                    return;
                }
                line.clear();
            }
        });
        Self { queue }
    }

    /// The next line, or `None` at the end.
    ///
    /// # Panics
    /// No line arrives within [`PATIENCE`]; the message names `what`.
    pub fn next(&self, what: &str) -> Option<String> {
        match self.queue.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no line within {PATIENCE:?}: {what}"),
        }
    }

    /// The first line that contains this text; earlier lines are dropped.
    ///
    /// # Panics
    /// It does not arrive within [`PATIENCE`], or the pipe is closed; the message has all lines.
    pub fn until(&self, text: &str) -> String {
        let begun = Instant::now();
        let mut before = Vec::new();
        loop {
            match self.queue.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
                Ok(line) if line.contains(text) => return line,
                Ok(line) => before.push(line),
                Err(RecvTimeoutError::Disconnected) => panic!("it ended without '{text}': {before:?}"),
                Err(RecvTimeoutError::Timeout) => panic!("'{text}' does not come within {PATIENCE:?}: {before:?}"),
            }
        }
    }

    /// All lines until the pipe is closed.
    ///
    /// # Panics
    /// It is not closed within [`PATIENCE`].
    pub fn rest(&self) -> Vec<String> {
        let begun = Instant::now();
        let mut all = Vec::new();
        loop {
            match self.queue.recv_timeout(PATIENCE.saturating_sub(begun.elapsed())) {
                Ok(line) => all.push(line),
                Err(RecvTimeoutError::Disconnected) => return all,
                Err(RecvTimeoutError::Timeout) => panic!("the pipe is not closed within {PATIENCE:?}: {all:?}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_in_turn_and_end() {
        let lines = Lines::new(&b"one\ntwo\nthree\nfour"[..]);
        assert_eq!(lines.next("a line").as_deref(), Some("one"));
        assert_eq!(lines.until("hre"), "three");
        assert_eq!(lines.rest(), ["four"]);
        assert_eq!(lines.next("nothing"), None);
    }
}
