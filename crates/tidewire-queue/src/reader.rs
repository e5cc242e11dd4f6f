//! The reading end of a queue.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    path::Path,
    sync::atomic::Ordering,
    time::Duration,
};

use rustix::{
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, socket_with,
        sockopt::{Timeout, set_socket_timeout},
    },
};

use crate::{
    error::Error,
    layout::{Ended, Geometry},
    memory::QueueMemory,
    page::{Page, Progress},
    protocol::{Answer, MESSAGE_BYTES_MAX, Refusal, Request, is_name},
    ring::{Cursor, Next},
    socket::{receive, send},
    sys::wait,
};

/// A reading end: one process's, or one thread's, position in a queue.
#[derive(Debug)]
pub struct Reader {
    memory: QueueMemory,
    cursor: Cursor,
    progress: Progress,
    attachment: Option<Attachment>,
}

/// What a server gave to a reader.
#[derive(Debug)]
struct Attachment {
    socket: OwnedFd,
    page: Page,
}

/// How long a server may take to answer.
const ANSWER_TIME: Duration = Duration::from_secs(5);
/// How often a reader that reads without a pause writes how far it is.
const PROGRESS_RECORDS: u64 = 64;

impl Reader {
    /// Maps a queue for reading, to begin with record `sequence`, or with the next one to be published.
    ///
    /// Everything that the file states is checked: a hostile producer can withhold records or send wrong ones, and nothing else.
    ///
    /// # Errors
    /// [`Error::NotAQueue`], [`Error::Memory`].
    pub fn open(file: impl AsFd, sequence: Option<u64>) -> Result<Self, Error> {
        let memory = QueueMemory::open(file)?;
        let cursor = Cursor::at(sequence.unwrap_or_else(|| memory.published()));
        Ok(Self { memory, cursor, progress: Progress::default(), attachment: None })
    }

    /// Attaches to the queue of a server, under a name that the server shows. The reader begins with the next record to be published,
    /// and its end is noticed by the server.
    ///
    /// # Errors
    /// [`Error::Server`]: no server answers there. [`Error::Refused`]. Otherwise as [`open`](Self::open).
    pub fn attach(path: &Path, queue: &str, name: &str) -> Result<Self, Error> {
        let server = |source: io::Error| Error::Server { path: path.to_owned(), source };
        let request = Request { queue: queue.to_owned(), name: name.to_owned() };
        if !is_name(queue) || !is_name(name) {
            return Err(Refusal::Request("names are 1 to 64 letters, digits, '.', '-' and '_'".into()).into());
        }
        let (answer, mut descriptors, socket) = ask(path, &request.write()).map_err(server)?;
        let first = match Answer::parse(&answer) {
            Some(Answer::Attached { first, .. }) => first,
            Some(Answer::Refused(why)) => return Err(why.into()),
            None => return Err(server(io::Error::other("its answer cannot be understood: another version?"))),
        };
        let (Some(page), Some(queue), None) = (descriptors.pop(), descriptors.pop(), descriptors.pop()) else {
            return Err(server(io::Error::other("its answer has not the two descriptors of a queue and a page")));
        };
        let page = Page::open(page).map_err(server)?;
        let mut reader = Self::open(queue, Some(first))?;
        reader.attachment = Some(Attachment { socket, page });
        reader.write_progress();
        Ok(reader)
    }

    /// How far the reader is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress { sequence: self.cursor.sequence(), ..self.progress }
    }

    fn write_progress(&self) {
        if let Some(attachment) = &self.attachment {
            attachment.page.set_progress(&self.progress());
        }
    }

    /// The queue's sizes.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        self.memory.geometry()
    }

    /// The queue's random number.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.memory.epoch()
    }

    /// The sequence of the record to be read next. Since the first one that this reader could read, all before it were read,
    /// missed or lost.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.cursor.sequence()
    }

    /// Records that are published.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.memory.published()
    }

    /// The next record, or what became of it; never waits. A record's payload is appended to `out`.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn next(&mut self, out: &mut Vec<u8>) -> Result<Next, Error> {
        let next = self.cursor.next(&self.memory.words(), out)?;
        match next {
            Next::Record(_) => self.progress.read += 1,
            Next::Missed(record) => {
                self.progress.missed += 1;
                self.progress.missed_bytes += u64::from(record.bytes);
            }
            Next::Lost { records, .. } => self.progress.lost = self.progress.lost.saturating_add(records),
            Next::Empty | Next::Ended(_) => {}
        }
        if matches!(next, Next::Empty | Next::Ended(_)) || self.progress.read.is_multiple_of(PROGRESS_RECORDS) {
            self.write_progress();
        }
        Ok(next)
    }

    /// As [`next`](Self::next), and where nothing is there, waits for at most `timeout` until the server wakes readers. A
    /// publisher that died is [`Ended::Gone`], after the last record.
    ///
    /// # Errors
    /// As [`next`](Self::next), and what the kernel says.
    pub fn next_timeout(&mut self, out: &mut Vec<u8>, timeout: Duration) -> Result<Next, Error> {
        let seen = self.memory.wake_word().load(Ordering::Acquire);
        let next = self.next(out)?;
        if next != Next::Empty {
            return Ok(next);
        }
        self.set_waiting(true);
        // A record that was published before the server could see that this reader waits.
        let next = self.next(out)?;
        if next == Next::Empty {
            wait(self.memory.wake_word(), seen, timeout).map_err(Error::memory("waiting for a queue"))?;
        }
        self.set_waiting(false);
        if next != Next::Empty {
            return Ok(next);
        }
        match self.next(out)? {
            Next::Empty if self.is_publisher_gone() => match self.next(out)? {
                Next::Empty => Ok(Next::Ended(Ended::Gone)),
                next => Ok(next),
            },
            next => Ok(next),
        }
    }

    fn set_waiting(&self, waits: bool) {
        if let Some(attachment) = &self.attachment {
            attachment.page.set_waiting(waits);
        }
    }

    /// Whether the server's process has ended. It says nothing after its answer.
    fn is_publisher_gone(&self) -> bool {
        let Some(Attachment { socket, .. }) = &self.attachment else { return false };
        match recv(socket, &mut [0_u8; 1], RecvFlags::DONTWAIT | RecvFlags::PEEK) {
            Ok((bytes, _)) => bytes == 0,
            Err(error) => error != Errno::AGAIN && error != Errno::INTR,
        }
    }
}

/// Sends a request, and waits for its answer.
fn ask(path: &Path, request: &[u8]) -> io::Result<(Vec<u8>, Vec<OwnedFd>, OwnedFd)> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_TIME))?;
    set_socket_timeout(&socket, Timeout::Send, Some(ANSWER_TIME))?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    send(socket.as_fd(), request, &[])?;
    let mut answer = vec![0; MESSAGE_BYTES_MAX];
    let (bytes, descriptors) = receive(&socket, &mut answer)?;
    answer.truncate(bytes);
    Ok((answer, descriptors, socket))
}
