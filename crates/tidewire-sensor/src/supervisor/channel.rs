//! The socket between supervisor and capture: the configuration one way, events the other way.

use std::{
    io::{self, ErrorKind, Read as _, Write as _},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    time::{Duration, Instant},
};

use crate::{config::SensorConfig, report::CaptureEvent};

/// Longest event.
const EVENT_BYTES_MAX: usize = 16 << 20;
/// What is read at a time, so that a capture that writes without end does not keep us from everything else.
const READ_BYTES_MAX: usize = 1 << 20;
/// Time that a new capture has to read its configuration.
const CONFIG_TIME: Duration = Duration::from_secs(30);

/// Our end of the socket. Nothing here waits for the capture.
#[derive(Debug)]
pub struct Channel {
    stream: UnixStream,
    /// What it has not read of its configuration.
    unsent: Vec<u8>,
    begun: Instant,
    /// An event that has begun.
    rest: Vec<u8>,
    closed: bool,
}

impl Channel {
    /// Our end, and the one that the capture gets as its standard input.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let (stream, theirs) = UnixStream::pair()?;
        stream.set_nonblocking(true)?;
        let ours = Self { stream, unsent: Vec::new(), begun: Instant::now(), rest: Vec::new(), closed: false };
        Ok((ours, theirs.into()))
    }

    /// Begins to send the configuration.
    pub fn configure(&mut self, config: &SensorConfig) -> io::Result<()> {
        self.unsent = serde_json::to_vec(config)?;
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
                Err(error) if error.kind() == ErrorKind::WouldBlock && self.begun.elapsed() < CONFIG_TIME => break,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err("nothing, and did not read its configuration".into());
                }
                // It has ended, and may have said why.
                Err(_) => self.unsent.clear(),
            }
        }
        Ok(())
    }

    /// The events that have arrived; not all of them if they are many.
    ///
    /// # Errors
    /// What arrives is no event, or the capture does not read its configuration; in words.
    pub fn events(&mut self) -> Result<Vec<CaptureEvent>, String> {
        self.send()?;
        let mut room = vec![0; 64 << 10];
        let mut events = Vec::new();
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
                events.push(serde_json::from_slice(line).map_err(|error| format!("what is no event: {error}"))?);
                done = end + 1;
            }
            self.rest.drain(..done);
            if self.rest.len() > EVENT_BYTES_MAX {
                return Err(format!("an event of more than {EVENT_BYTES_MAX} bytes"));
            }
        }
        Ok(events)
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn events_come_in_pieces_and_rubbish_is_refused() {
        let (mut channel, theirs) = Channel::pair().expect("a pair");
        let mut theirs = File::from(theirs);
        theirs.write_all(b"{\"event\":\"warning\",\"text\":\"a\"}\n{\"event\":\"war").expect("room");
        let text = |text: &str| CaptureEvent::Warning { text: text.into() };
        assert_eq!(channel.events(), Ok(vec![text("a")]));
        theirs.write_all(b"ning\",\"text\":\"b\"}\n").expect("room");
        assert_eq!(channel.events(), Ok(vec![text("b")]));
        theirs.write_all(b"\xff\n").expect("room");
        assert!(channel.events().is_err() && channel.is_open());
        drop(theirs);
        assert_eq!(channel.events(), Ok(vec![]));
        assert!(!channel.is_open());
    }

    #[test]
    fn a_capture_that_reads_nothing_or_writes_without_end_keeps_nobody() {
        let (mut channel, theirs) = Channel::pair().expect("a pair");
        // More than a socket holds.
        channel.unsent = vec![b' '; 16 << 20];
        assert_eq!(channel.events(), Ok(vec![]));
        assert!(channel.is_sending());
        channel.begun -= CONFIG_TIME;
        assert!(channel.events().expect_err("it is late").contains("configuration"));
        channel.unsent.clear();
        let mut theirs = File::from(theirs);
        let writer = std::thread::spawn(move || {
            let line = b"{\"event\":\"warning\",\"text\":\"a\"}\n".repeat(1000);
            while theirs.write_all(&line).is_ok() {}
        });
        for _ in 0..100 {
            assert!(channel.events().expect("events").len() <= READ_BYTES_MAX / 30 + (64 << 10));
        }
        drop(channel);
        writer.join().expect("it ends");
    }
}
