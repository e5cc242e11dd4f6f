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

use crate::report::CaptureEvent;

/// Events that wait for a supervisor that does not read, at most. Later ones are counted only.
const WAITING_MAX: usize = 256;

/// Where all threads of the capture leave their events. The thread that serves readers writes them ([`Writer`]).
#[derive(Clone, Debug, Default)]
pub(crate) struct Events(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<CaptureEvent>,
    /// Events that had no room.
    left_out: u64,
}

impl Events {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves an event. Of figures only the newest wait.
    pub(crate) fn send(&self, event: CaptureEvent) {
        let mut waiting = self.waiting();
        if matches!(event, CaptureEvent::Status(_)) {
            waiting.events.retain(|other| !matches!(other, CaptureEvent::Status(_)));
        }
        let is_last = matches!(event, CaptureEvent::Finished(_) | CaptureEvent::Failed { .. });
        if waiting.events.len() < WAITING_MAX || is_last {
            waiting.events.push_back(event);
        } else {
            waiting.left_out += 1;
        }
    }

    /// Leaves a warning.
    pub(crate) fn warn(&self, text: impl Into<String>) {
        self.send(CaptureEvent::Warning { text: text.into() });
    }

    /// The next event. What was left out is reported as soon as there is room again.
    fn next(&self) -> Option<CaptureEvent> {
        let mut waiting = self.waiting();
        if let Some(event) = waiting.events.pop_front() {
            return Some(event);
        }
        let left_out = std::mem::take(&mut waiting.left_out);
        let text = format!("{left_out} events were left out: nobody read those before them");
        (left_out != 0).then_some(CaptureEvent::Warning { text })
    }
}

/// Writes events to the supervisor, without waiting.
#[derive(Debug)]
pub(crate) struct Writer {
    to: OwnedFd,
    events: Events,
    /// A line that was begun, and how much of it was written.
    line: Vec<u8>,
    written: usize,
    is_gone: bool,
}

impl Writer {
    /// Writes to a pipe or a stream socket.
    ///
    /// # Errors
    /// What the kernel says.
    pub(crate) fn new(to: OwnedFd, events: Events) -> io::Result<Self> {
        fcntl_setfl(&to, fcntl_getfl(&to)? | OFlags::NONBLOCK)?;
        Ok(Self { to, events, line: Vec::new(), written: 0, is_gone: false })
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

    /// Writes what can be written now. `true`: nothing is left, or nobody reads it any more.
    pub(crate) fn write(&mut self) -> bool {
        while !self.is_gone {
            if self.written == self.line.len() {
                let Some(event) = self.events.next() else { return true };
                self.written = 0;
                self.line.clear();
                // Writing to memory cannot fail, nor can these types.
                let _ = serde_json::to_writer(&mut self.line, &event);
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

    #[test]
    fn a_supervisor_that_does_not_read_costs_events_and_no_time() {
        let (here, there) = UnixStream::pair().unwrap();
        let events = Events::default();
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
        let events = Events::default();
        let mut writer = Writer::new(here.into(), events.clone()).unwrap();
        assert!(!writer.is_gone());
        drop(there);
        assert!(writer.is_gone());
        events.warn("nobody reads this");
        assert!(writer.write());
    }
}
