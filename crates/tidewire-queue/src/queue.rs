//! The two ends of a queue: the process that publishes, and those that read.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use rustix::{
    fs::{SealFlags, fcntl_get_seals, fstat},
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv, socket_with,
        sockopt::{Timeout, set_socket_timeout},
    },
};

use crate::{
    layout::{Ended, Geometry, HEADER_BYTES, HEADER_WORDS, MAGIC, Record, SLOT_WORDS, VERSION, Word},
    page::{Page, Progress},
    protocol::{Answer, MESSAGE_BYTES_MAX, Refusal, Request, is_name},
    ring::{Corrupt, Cursor, Next, Producer, Words},
    socket::{receive, send},
    sys::{Access, Mapping, memory_file, seal, wait, wake},
};

/// Why a queue cannot be made, opened or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The environment's: the kernel refused memory.
    #[error("{what}: {source}")]
    Memory {
        /// What was tried.
        what: &'static str,
        /// What the kernel says.
        source: io::Error,
    },
    /// The other side's: the file is no queue, or one of another version.
    #[error("this is no queue that can be read: {0}")]
    NotAQueue(&'static str),
    /// The environment's: no server answers.
    #[error("{}: no server of queues answers: {source}", path.display())]
    Server {
        /// Where.
        path: PathBuf,
        /// What the kernel says.
        source: io::Error,
    },
    /// The server turned the reader away.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The producer's: see [`Corrupt`].
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// The caller's: a payload that does not fit.
    #[error("a payload of {bytes} bytes: at most {max} fit a record of this queue")]
    TooLong {
        /// Its bytes.
        bytes: usize,
        /// [`Geometry::record_bytes_max`].
        max: u64,
    },
}

fn words(mapping: &Mapping, geometry: Geometry) -> Option<Words<'_>> {
    let (header, rest) = mapping.words().split_at_checked(HEADER_WORDS)?;
    let (index, payload) = rest.split_at_checked(usize::try_from(geometry.slots()).ok()?.checked_mul(SLOT_WORDS)?)?;
    Words::new(header, index, payload, geometry)
}

fn sizes(geometry: Geometry) -> Option<(usize, usize)> {
    Some((usize::try_from(geometry.file_bytes()).ok()?, usize::try_from(geometry.payload_at()).ok()?))
}

/// The publishing end. Dropped without [`finish`](Self::finish), it ends the queue as [`Ended::Aborted`].
#[derive(Debug)]
pub struct Publisher {
    shared: Arc<Shared>,
    producer: Producer,
    has_ended: bool,
}

/// A queue's memory, as the process that made it has it: for the publisher and for the thread that serves readers.
#[derive(Debug)]
struct Shared {
    mapping: Mapping,
    file: OwnedFd,
    geometry: Geometry,
}

/// A queue, for the thread that hands it to readers and wakes them (see [`Server`](crate::Server)).
#[derive(Clone, Debug)]
pub struct Offer {
    shared: Arc<Shared>,
}

impl Offer {
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.shared.file.as_fd()
    }

    /// Records published so far.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.shared.mapping.words()[Word::Published as usize].load(Ordering::Acquire)
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.shared.mapping.words()[Word::Epoch as usize].load(Ordering::Relaxed)
    }

    /// Wakes every reader that waits: 7 µs for one, 228 µs for 32, so not a job for a thread that captures.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn wake(&self) -> io::Result<usize> {
        let futex = self.shared.mapping.futex(Word::Wake as usize);
        futex.fetch_add(1, Ordering::Release);
        wake(futex)
    }
}

impl Publisher {
    /// Makes a queue. All of its memory ([`Geometry::file_bytes`]) is there when this returns. `epoch` is a random number, another
    /// one for each queue.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn new(geometry: Geometry, epoch: u64) -> Result<Self, Error> {
        let memory = |what| move |source: io::Error| Error::Memory { what, source };
        let too_large = || Error::Memory { what: "memory of a queue", source: io::ErrorKind::OutOfMemory.into() };
        let (bytes, payload_at) = sizes(geometry).ok_or_else(too_large)?;
        let file = memory_file("tidewire-queue", geometry.file_bytes()).map_err(memory("memory of a queue"))?;
        let mapping = Mapping::new(&file, bytes, payload_at, Access::Write).map_err(memory("mapping a queue"))?;
        seal(&file).map_err(memory("sealing a queue"))?;
        let all = words(&mapping, geometry).ok_or_else(too_large)?;
        for (word, value) in [
            (Word::Version, VERSION),
            (Word::Slots, geometry.slots()),
            (Word::PayloadBytes, geometry.payload_bytes()),
            (Word::Epoch, epoch),
        ] {
            all.word(word).store(value, Ordering::Relaxed);
        }
        all.word(Word::Magic).store(MAGIC, Ordering::Release);
        Ok(Self {
            shared: Arc::new(Shared { mapping, file, geometry }),
            producer: Producer::default(),
            has_ended: false,
        })
    }

    /// The file to hand to readers (`SCM_RIGHTS`). It cannot be mapped for writing again.
    #[must_use]
    pub fn file(&self) -> BorrowedFd<'_> {
        self.shared.file.as_fd()
    }

    /// What a [`Server`](crate::Server) hands to readers, and wakes them by.
    #[must_use]
    pub fn offer(&self) -> Offer {
        Offer { shared: Arc::clone(&self.shared) }
    }

    /// The queue's sizes.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        self.shared.geometry
    }

    /// Records published so far.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.producer.sequence()
    }

    /// Bytes of payload published so far, each payload rounded up to 8.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.producer.position()
    }

    /// Publishes a record with its payload; never waits. The record's `sequence`, `position` and `bytes` are set here.
    ///
    /// # Errors
    /// [`Error::TooLong`]; nothing was published then.
    pub fn publish(&mut self, record: &Record, payload: &[u8]) -> Result<(), Error> {
        let Some(words) = words(&self.shared.mapping, self.shared.geometry) else {
            return Err(Error::NotAQueue("its memory has another size than it states"));
        };
        if self.producer.publish(&words, record, payload) {
            return Ok(());
        }
        Err(Error::TooLong { bytes: payload.len(), max: self.shared.geometry.record_bytes_max() })
    }

    /// Ends the queue: readers find this after the last record.
    pub fn finish(mut self) {
        self.end(Ended::Finished);
    }

    fn end(&mut self, why: Ended) {
        if !std::mem::replace(&mut self.has_ended, true)
            && let Some(words) = words(&self.shared.mapping, self.shared.geometry)
        {
            self.producer.end(&words, why);
            let _ = self.offer().wake();
        }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.end(Ended::Aborted);
    }
}

/// A reading end: one process's, or one thread's, position in a queue.
#[derive(Debug)]
pub struct Reader {
    mapping: Mapping,
    geometry: Geometry,
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
        let memory = |what| move |source: io::Error| Error::Memory { what, source };
        let bytes = fstat(&file).map_err(io::Error::from).map_err(memory("size of a queue"))?.st_size;
        // Without these seals the file could shrink below the mapping, and reading would be a fault (SIGBUS).
        let seals = fcntl_get_seals(&file).map_err(|_| Error::NotAQueue("it is no memory file"))?;
        if !seals.contains(SealFlags::SHRINK) {
            return Err(Error::NotAQueue("its size is not sealed"));
        }
        let header_only =
            Mapping::new(&file, HEADER_BYTES, HEADER_BYTES, Access::Read).map_err(memory("mapping a queue"));
        let geometry = if u64::try_from(bytes).is_ok_and(|bytes| bytes >= HEADER_BYTES as u64) {
            stated(&header_only?)?
        } else {
            return Err(Error::NotAQueue("it is shorter than a header"));
        };
        let (file_bytes, payload_at) =
            sizes(geometry).ok_or(Error::NotAQueue("it is larger than the address space"))?;
        if u64::try_from(bytes).ok() != Some(geometry.file_bytes()) {
            return Err(Error::NotAQueue("its size is not what its header states"));
        }
        let mapping = Mapping::new(&file, file_bytes, payload_at, Access::Read).map_err(memory("mapping a queue"))?;
        let published = mapping.words()[Word::Published as usize].load(Ordering::Acquire);
        let cursor = Cursor::at(sequence.unwrap_or(published));
        Ok(Self { mapping, geometry, cursor, progress: Progress::default(), attachment: None })
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
        self.geometry
    }

    /// The queue's random number.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.mapping.words()[Word::Epoch as usize].load(Ordering::Relaxed)
    }

    /// The sequence of the record to be read next: as many were read, missed or lost before it.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.cursor.sequence()
    }

    /// Records that are published.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.mapping.words()[Word::Published as usize].load(Ordering::Acquire)
    }

    /// The next record, or what became of it; never waits. A record's payload is appended to `out`.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn next(&mut self, out: &mut Vec<u8>) -> Result<Next, Error> {
        let Some(words) = words(&self.mapping, self.geometry) else {
            return Err(Error::NotAQueue("its memory has another size than it states"));
        };
        let next = self.cursor.next(&words, out)?;
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
        let seen = self.mapping.futex(Word::Wake as usize).load(Ordering::Acquire);
        let next = self.next(out)?;
        if next != Next::Empty {
            return Ok(next);
        }
        self.set_waiting(true);
        // A record that was published before the server could see that this reader waits.
        let next = self.next(out)?;
        if next == Next::Empty {
            let futex: &AtomicU32 = self.mapping.futex(Word::Wake as usize);
            wait(futex, seen, timeout).map_err(|source| Error::Memory { what: "waiting for a queue", source })?;
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

/// The sizes that a header states.
fn stated(header: &Mapping) -> Result<Geometry, Error> {
    let load = |word: Word| header.words()[word as usize].load(Ordering::Relaxed);
    if header.words()[Word::Magic as usize].load(Ordering::Acquire) != MAGIC {
        return Err(Error::NotAQueue("it does not begin as one"));
    }
    if load(Word::Version) != VERSION {
        return Err(Error::NotAQueue("its layout has another version"));
    }
    Geometry::stated(load(Word::Slots), load(Word::PayloadBytes))
        .ok_or(Error::NotAQueue("its header states impossible sizes"))
}
