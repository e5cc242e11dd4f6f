//! The socket between the supervisor and a part: settings one way, reports the other way.

use std::{
    io::{self, ErrorKind, Read as _, Write as _},
    marker::PhantomData,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    time::{Duration, Instant},
};

use serde::{Serialize, de::DeserializeOwned};

/// Longest report.
const REPORT_BYTES_MAX: usize = 16 << 20;
/// What is read at a time, so that a part that writes without end does not keep us from everything else.
const READ_BYTES_MAX: usize = 1 << 20;
/// Time that a new part has to read its settings.
const SETTINGS_TIME: Duration = Duration::from_secs(30);

/// Our end of the socket. Nothing here waits for the part.
#[derive(Debug)]
pub struct Channel<R> {
    stream: UnixStream,
    /// What it has not read of its settings.
    unsent: Vec<u8>,
    begun: Instant,
    /// A report that has begun.
    rest: Vec<u8>,
    closed: bool,
    reports: PhantomData<fn() -> R>,
}

impl<R: DeserializeOwned> Channel<R> {
    /// Our end, and the one that the part gets as its standard input.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let (stream, theirs) = UnixStream::pair()?;
        stream.set_nonblocking(true)?;
        let ours = Self {
            stream,
            unsent: Vec::new(),
            begun: Instant::now(),
            rest: Vec::new(),
            closed: false,
            reports: PhantomData,
        };
        Ok((ours, theirs.into()))
    }

    /// Begins to send the settings.
    pub fn configure(&mut self, settings: &impl Serialize) -> io::Result<()> {
        self.unsent = serde_json::to_vec(settings)?;
        self.unsent.push(b'\n');
        Ok(())
    }

    /// Whether more may come.
    pub fn is_open(&self) -> bool {
        !self.closed
    }

    /// Whether something is to be sent.
    pub fn is_sending(&self) -> bool {
        !self.closed && !self.unsent.is_empty()
    }

    /// Sends what fits.
    fn send(&mut self) -> Result<(), String> {
        while self.is_sending() {
            match self.stream.write(&self.unsent) {
                Ok(bytes) => drop(self.unsent.drain(..bytes)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock && self.begun.elapsed() < SETTINGS_TIME => break,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err("nothing, and did not read its settings".into());
                }
                // It has ended, and may have said why.
                Err(_) => self.unsent.clear(),
            }
        }
        Ok(())
    }

    /// The reports that have arrived; not all of them if they are many.
    ///
    /// # Errors
    /// What arrives is no report, or the part does not read its settings; in words.
    pub fn reports(&mut self) -> Result<Vec<R>, String> {
        self.send()?;
        let mut room = vec![0; 64 << 10];
        let mut reports = Vec::new();
        let mut read = 0;
        while !self.closed && read < READ_BYTES_MAX {
            let begun = self.rest.len();
            match self.stream.read(&mut room) {
                Ok(0) => self.closed = true,
                Ok(bytes) => {
                    read += bytes;
                    self.rest.extend_from_slice(room.get(..bytes).unwrap_or_default());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.closed = true,
            }
            let mut done = 0;
            let ends = self.rest.iter().enumerate().skip(begun).filter(|(_, byte)| **byte == b'\n');
            for end in ends.map(|(end, _)| end) {
                let line = self.rest.get(done..end).unwrap_or_default();
                reports.push(serde_json::from_slice(line).map_err(|error| format!("what is no report: {error}"))?);
                done = end + 1;
            }
            self.rest.drain(..done);
            if self.rest.len() > REPORT_BYTES_MAX {
                return Err(format!("a report of more than {REPORT_BYTES_MAX} bytes"));
            }
        }
        Ok(reports)
    }
}

impl<R> AsFd for Channel<R> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;
    use crate::report::CaptureEvent;

    #[test]
    fn reports_come_in_pieces_and_rubbish_is_refused() {
        let (mut channel, theirs) = Channel::<CaptureEvent>::pair().expect("a pair");
        let mut theirs = File::from(theirs);
        theirs.write_all(b"{\"event\":\"warning\",\"text\":\"a\"}\n{\"event\":\"war").expect("room");
        let text = |text: &str| CaptureEvent::Warning { text: text.into() };
        assert_eq!(channel.reports(), Ok(vec![text("a")]));
        theirs.write_all(b"ning\",\"text\":\"b\"}\n").expect("room");
        assert_eq!(channel.reports(), Ok(vec![text("b")]));
        theirs.write_all(b"\xff\n").expect("room");
        assert!(channel.reports().is_err() && channel.is_open());
        drop(theirs);
        assert_eq!(channel.reports(), Ok(vec![]));
        assert!(!channel.is_open());
    }

    #[test]
    fn a_part_that_reads_nothing_or_writes_without_end_keeps_nobody() {
        let (mut channel, theirs) = Channel::<CaptureEvent>::pair().expect("a pair");
        // More than a socket holds.
        channel.unsent = vec![b' '; 16 << 20];
        assert_eq!(channel.reports(), Ok(vec![]));
        assert!(channel.is_sending());
        channel.begun -= SETTINGS_TIME;
        assert!(channel.reports().expect_err("it is late").contains("settings"));
        channel.unsent.clear();
        let mut theirs = File::from(theirs);
        let writer = std::thread::spawn(move || {
            let line = b"{\"event\":\"warning\",\"text\":\"a\"}\n".repeat(1000);
            while theirs.write_all(&line).is_ok() {}
        });
        for _ in 0..100 {
            assert!(channel.reports().expect("reports").len() <= READ_BYTES_MAX / 30 + (64 << 10));
        }
        drop(channel);
        writer.join().expect("it ends");
    }
}
