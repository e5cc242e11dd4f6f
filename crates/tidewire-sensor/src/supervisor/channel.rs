//! The socket between supervisor and capture: the configuration one way, events the other way.

use std::{
    io::{self, ErrorKind, Read as _, Write as _},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    time::Duration,
};

use crate::{config::SensorConfig, report::CaptureEvent};

/// Longest event.
const EVENT_BYTES_MAX: usize = 16 << 20;
/// Time that a new capture has to read its configuration.
const CONFIG_TIME: Duration = Duration::from_secs(30);

/// Our end of the socket.
#[derive(Debug)]
pub struct Channel {
    stream: UnixStream,
    /// An event that has begun.
    rest: Vec<u8>,
    closed: bool,
}

impl Channel {
    /// Our end, and the one that the capture gets as its standard input.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = UnixStream::pair()?;
        Ok((Self { stream: ours, rest: Vec::new(), closed: false }, theirs.into()))
    }

    /// Sends the configuration.
    pub fn configure(&mut self, config: &SensorConfig) -> io::Result<()> {
        let mut line = serde_json::to_vec(config)?;
        line.push(b'\n');
        self.stream.set_write_timeout(Some(CONFIG_TIME))?;
        self.stream.write_all(&line)?;
        self.stream.set_nonblocking(true)
    }

    /// Whether more may come.
    pub fn is_open(&self) -> bool {
        !self.closed
    }

    /// The events that have arrived.
    ///
    /// # Errors
    /// What arrives is no event.
    pub fn events(&mut self) -> Result<Vec<CaptureEvent>, String> {
        let mut room = vec![0; 64 << 10];
        let mut events = Vec::new();
        while !self.closed {
            match self.stream.read(&mut room) {
                Ok(0) => self.closed = true,
                Ok(bytes) => self.rest.extend_from_slice(room.get(..bytes).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => self.closed = true,
            }
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                events.push(serde_json::from_slice(&line).map_err(|error| format!("not an event: {error}"))?);
            }
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
        channel.stream.set_nonblocking(true).expect("a socket");
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
}
