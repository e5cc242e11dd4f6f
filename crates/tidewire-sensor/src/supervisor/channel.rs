//! The socket between the supervisor and a part: settings one way, reports the other way.

use std::{
    io::{self, ErrorKind, IoSlice, IoSliceMut, Read as _, Write as _},
    marker::PhantomData,
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
        recvmsg, sendmsg,
    },
};
use serde::{Serialize, de::DeserializeOwned};

/// Longest report.
const REPORT_BYTES_MAX: usize = 16 << 20;
/// Bytes that are read at a time, so that a part that writes without end does not keep us from everything else.
const READ_BYTES_MAX: usize = 1 << 20;
/// Longest settings.
const SETTINGS_BYTES_MAX: usize = 16 << 20;
/// Time that a new part has to read its settings.
const SETTINGS_TIME: Duration = Duration::from_secs(30);

/// Our end of the socket. Nothing here waits for the part.
#[derive(Debug)]
pub struct Channel<R> {
    stream: UnixStream,
    /// The rest of its settings, which it has not read.
    unsent: Vec<u8>,
    /// A descriptor that goes with their first byte.
    passed: Option<OwnedFd>,
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
            passed: None,
            begun: Instant::now(),
            rest: Vec::new(),
            closed: false,
            reports: PhantomData,
        };
        Ok((ours, theirs.into()))
    }

    /// Begins to send the settings, with a descriptor that the part is to have as its standard input.
    pub fn configure(&mut self, settings: &impl Serialize, input: Option<OwnedFd>) -> io::Result<()> {
        self.unsent = serde_json::to_vec(settings)?;
        self.unsent.push(b'\n');
        self.passed = input;
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
            let written = match &self.passed {
                Some(input) => pass(&self.stream, &self.unsent, input.as_fd()),
                None => self.stream.write(&self.unsent),
            };
            match written {
                Ok(bytes) => {
                    self.passed = None;
                    drop(self.unsent.drain(..bytes));
                }
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

/// Writes with a descriptor.
fn pass(stream: &UnixStream, bytes: &[u8], input: BorrowedFd<'_>) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let (mut control, inputs) = (SendAncillaryBuffer::new(&mut space), [input]);
    if !control.push(SendAncillaryMessage::ScmRights(&inputs)) {
        return Err(ErrorKind::InvalidInput.into());
    }
    Ok(sendmsg(stream, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?)
}

/// A part's side: reads the line of its settings, and the descriptor that came with it, from its standard input. `None`: the line does
/// not end.
///
/// # Errors
/// What the kernel says.
pub fn receive_settings(input: BorrowedFd<'_>) -> io::Result<Option<(Vec<u8>, Option<OwnedFd>)>> {
    let (mut line, mut passed, mut room) = (Vec::new(), None, vec![0; 64 << 10]);
    while line.last() != Some(&b'\n') && line.len() < SETTINGS_BYTES_MAX {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        match recvmsg(input, &mut [IoSliceMut::new(&mut room)], &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
            Ok(received) if received.bytes == 0 => return Ok(None),
            // Only this line is ever sent, so that nothing behind it is lost.
            Ok(received) => line.extend_from_slice(room.get(..received.bytes).unwrap_or_default()),
        }
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(mut rights) = message {
                passed = rights.next().or(passed);
            }
        }
    }
    Ok((line.last() == Some(&b'\n')).then_some((line, passed)))
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
    fn settings_come_with_a_descriptor() {
        let (mut channel, theirs) = Channel::<CaptureEvent>::pair().expect("a pair");
        let (reader, mut writer) = io::pipe().expect("a pipe");
        let long = "x".repeat(1 << 20);
        channel.configure(&long, Some(reader.into())).expect("settings");
        let part = std::thread::spawn(move || receive_settings(theirs.as_fd()));
        while channel.is_sending() {
            channel.reports().expect("reports");
        }
        let (line, input) = part.join().expect("no panic").expect("a socket").expect("a line");
        assert_eq!(serde_json::from_slice::<String>(&line).expect("JSON"), long);
        writer.write_all(b"packets").expect("room");
        drop(writer);
        let mut text = String::new();
        File::from(input.expect("a descriptor")).read_to_string(&mut text).expect("the pipe");
        assert_eq!(text, "packets");
        // A supervisor that is gone before the end of the line.
        let (mut channel, theirs) = Channel::<CaptureEvent>::pair().expect("a pair");
        channel.unsent = b"{\"".to_vec();
        channel.reports().expect("reports");
        drop(channel);
        assert!(receive_settings(theirs.as_fd()).expect("a socket").is_none());
    }

    #[test]
    fn a_part_that_reads_nothing_or_writes_without_end_blocks_no_other() {
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
