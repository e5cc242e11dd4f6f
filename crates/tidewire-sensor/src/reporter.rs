//! Lines of JSON to the supervisor, who may not read them: nothing here waits for it.

use std::{
    collections::VecDeque,
    io,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::{Errno, write},
};

use serde::Serialize;

/// Lines that wait for a supervisor that does not read, at most. Later ones are counted only.
const WAITING_MAX: usize = 256;

/// A line that a part reports.
pub(crate) trait Report: Serialize {
    /// Whether it has figures: only the newest of these wait.
    fn is_status(&self) -> bool;
    /// Whether none follows: it always has room.
    fn is_last(&self) -> bool;
    /// A warning.
    fn warning(text: String) -> Self;
}

/// Where all threads of a part leave what they report. One of them writes it ([`Writer`]).
#[derive(Debug)]
pub(crate) struct Reporter<R>(Arc<Mutex<Waiting<R>>>);

#[derive(Debug)]
struct Waiting<R> {
    lines: VecDeque<R>,
    /// Lines that had no room.
    left_out: u64,
}

impl<R> Clone for Reporter<R> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<R> Default for Reporter<R> {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Waiting { lines: VecDeque::new(), left_out: 0 })))
    }
}

impl<R: Report> Reporter<R> {
    fn waiting(&self) -> MutexGuard<'_, Waiting<R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a line.
    pub(crate) fn send(&self, line: R) {
        let mut waiting = self.waiting();
        if line.is_status() {
            waiting.lines.retain(|other| !other.is_status());
        }
        if waiting.lines.len() < WAITING_MAX || line.is_last() {
            waiting.lines.push_back(line);
        } else {
            waiting.left_out += 1;
        }
    }

    /// Leaves a warning.
    pub(crate) fn warn(&self, text: impl Into<String>) {
        self.send(R::warning(text.into()));
    }

    /// The next line. What was left out is reported as soon as there is room again.
    fn next(&self) -> Option<R> {
        let mut waiting = self.waiting();
        if let Some(line) = waiting.lines.pop_front() {
            return Some(line);
        }
        let left_out = std::mem::take(&mut waiting.left_out);
        let text = format!("{left_out} events were left out: those before them were not read");
        (left_out != 0).then(|| R::warning(text))
    }
}

/// Writes lines to the supervisor, without waiting.
#[derive(Debug)]
pub(crate) struct Writer<R> {
    to: OwnedFd,
    lines: Reporter<R>,
    /// A line that was begun, and how much of it was written.
    line: Vec<u8>,
    written: usize,
    is_gone: bool,
}

impl<R: Report> Writer<R> {
    /// Writes to a pipe or a stream socket.
    ///
    /// # Errors
    /// What the kernel says.
    pub(crate) fn new(to: OwnedFd, lines: Reporter<R>) -> io::Result<Self> {
        fcntl_setfl(&to, fcntl_getfl(&to)? | OFlags::NONBLOCK)?;
        Ok(Self { to, lines, line: Vec::new(), written: 0, is_gone: false })
    }

    /// Whether the supervisor has closed its end.
    pub(crate) fn is_gone(&mut self) -> bool {
        let mut ends = [PollFd::new(&self.to, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        if poll(&mut ends, Some(&now)).is_ok() {
            self.is_gone |= ends[0].revents().intersects(PollFlags::HUP | PollFlags::ERR);
        }
        self.is_gone
    }

    /// Writes what can be written now. `true`: nothing is left, or the reader is gone.
    pub(crate) fn write(&mut self) -> bool {
        while !self.is_gone {
            if self.written == self.line.len() {
                let Some(line) = self.lines.next() else { return true };
                self.written = 0;
                self.line.clear();
                // Writing to memory cannot fail, nor can these types.
                let _ = serde_json::to_writer(&mut self.line, &line);
                self.line.push(b'\n');
            }
            match write(&self.to, &self.line[self.written..]) {
                Ok(bytes) => self.written += bytes,
                Err(Errno::AGAIN) => return false,
                Err(Errno::INTR) => {}
                Err(_) => self.is_gone = true,
            }
        }
        true
    }

    /// Writes the rest, for at most `most`.
    pub(crate) fn write_for(&mut self, most: Duration) {
        let begun = Instant::now();
        while !self.write() && begun.elapsed() < most {
            let mut ends = [PollFd::new(&self.to, PollFlags::OUT)];
            let little = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
            let _ = poll(&mut ends, Some(&little));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead as _, BufReader},
        os::unix::net::UnixStream,
    };

    use super::*;
    use crate::report::CaptureEvent;

    #[test]
    fn a_supervisor_that_does_not_read_costs_events_and_no_time() {
        let (here, there) = UnixStream::pair().unwrap();
        let events = Reporter::<CaptureEvent>::default();
        let mut writer = Writer::new(here.into(), events.clone()).unwrap();
        let mut sent = 0_u64;
        while writer.write() {
            events.warn("x".repeat(4096));
            sent += 1;
        }
        for _ in 0..2 * WAITING_MAX {
            events.warn("more");
            sent += 1;
        }
        assert!(!writer.write() && !writer.is_gone());
        let reader = std::thread::spawn(move || {
            let lines = BufReader::new(there).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
            lines.collect::<Vec<CaptureEvent>>()
        });
        writer.write_for(Duration::from_secs(60));
        events.send(CaptureEvent::Failed { text: "the end".into(), hint: None });
        writer.write_for(Duration::from_secs(60));
        drop(writer);
        let read = reader.join().unwrap();
        let left_out = read.iter().find_map(|event| match event {
            CaptureEvent::Warning { text } if text.contains("left out") => text.split(' ').next()?.parse::<u64>().ok(),
            _ => None,
        });
        assert_eq!(read.len() as u64 - 2 + left_out.expect("some were"), sent);
        assert!(matches!(read.last(), Some(CaptureEvent::Failed { .. })));
    }

    #[test]
    fn the_end_of_a_supervisor_is_noticed() {
        let (here, there) = UnixStream::pair().unwrap();
        let events = Reporter::<CaptureEvent>::default();
        let mut writer = Writer::new(here.into(), events.clone()).unwrap();
        assert!(!writer.is_gone());
        drop(there);
        assert!(writer.is_gone());
        events.warn("unread");
        assert!(writer.write());
    }
}
