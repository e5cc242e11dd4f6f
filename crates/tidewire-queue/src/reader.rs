//! The reading end of a queue.

use std::{
    os::fd::{AsFd, BorrowedFd},
    path::Path,
    sync::atomic::{AtomicU64, Ordering, fence},
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    net::{RecvFlags, recv},
};

use crate::{
    attach::{Attach, Attachment, attach},
    error::Error,
    layout::{Geometry, QueueEnd, Record},
    memory::QueueMemory,
    page::{Progress, Waits},
    ring::{Cursor, Next, Step},
    sys::wait,
};

/// A reading end: one process's, or one thread's, position in a queue.
#[derive(Debug)]
pub struct Reader {
    memory: QueueMemory,
    cursor: Cursor,
    first: u64,
    progress: Progress,
    /// Records until the page is written again.
    until_written: u32,
    /// The record that is being read in place.
    in_place: Option<Record>,
    is_publisher_gone: bool,
    attachment: Option<Attachment>,
}

/// How often a reader that reads without a pause writes how far it is.
const PROGRESS_RECORDS: u32 = 32;
/// How often a reader that waits looks whether the server's process has ended.
const GONE_TIME: Duration = Duration::from_millis(50);
/// Messages that are taken from the socket at once, at most.
const WAKES_MAX: usize = 64;

impl Reader {
    /// Maps a queue for reading, to begin with record `sequence`, or with the next one to be published.
    ///
    /// Everything that the file states is checked: a hostile producer can withhold records or send wrong ones, and nothing else.
    ///
    /// # Errors
    /// [`Error::NotAQueue`], [`Error::Memory`].
    pub fn open(file: impl AsFd, sequence: Option<u64>) -> Result<Self, Error> {
        let memory = QueueMemory::open(file)?;
        let first = sequence.unwrap_or_else(|| memory.published());
        Ok(Self::at(memory, first, Cursor::at(first, None, None), None))
    }

    fn at(memory: QueueMemory, first: u64, cursor: Cursor, attachment: Option<Attachment>) -> Self {
        Self {
            memory,
            cursor,
            first,
            progress: Progress::default(),
            until_written: PROGRESS_RECORDS,
            in_place: None,
            is_publisher_gone: false,
            attachment,
        }
    }

    /// Attaches to the queue of a server. The reader begins with the next record to be published, and its end is noticed by the
    /// server.
    ///
    /// # Errors
    /// [`Error::Server`]: no server answers there. [`Error::Refused`]. Otherwise as [`open`](Self::open).
    pub fn attach(socket: &Path, request: &Attach) -> Result<Self, Error> {
        let (attachment, begin, file) = attach(socket, request)?;
        let memory = QueueMemory::open(file)?;
        if memory.epoch() != begin.epoch {
            return Err(Error::NotAQueue("its epoch is not the one that the server states"));
        }
        let cursor = Cursor::at(begin.first, Some(begin.position), begin.member);
        Ok(Self::at(memory, begin.first, cursor, Some(attachment)))
    }

    /// Attaches as the environment says: see [`Attach::from_environment`].
    ///
    /// # Errors
    /// [`Error::Environment`], and as [`attach`](Self::attach).
    pub fn from_environment() -> Result<Self, Error> {
        let (socket, request) = Attach::from_environment()?;
        Self::attach(&socket, &request)
    }

    /// The queue that the reader attached to, and its request.
    #[must_use]
    pub fn request(&self) -> Option<(&Path, &Attach)> {
        self.attachment.as_ref().map(|attachment| (attachment.path.as_path(), &attachment.request))
    }

    /// Attaches again where this reader did, for a queue that has ended: its successor has another [`epoch`](Self::epoch), and
    /// figures begin at 0. Until it succeeds, this reader stays what it is.
    ///
    /// # Errors
    /// As [`attach`](Self::attach); [`Error::Server`] also if this reader never attached.
    pub fn reattach(&mut self) -> Result<(), Error> {
        let Some((path, request)) = self.request() else {
            let source = std::io::ErrorKind::NotConnected.into();
            return Err(Error::Server { path: Path::new("").to_owned(), source });
        };
        *self = Self::attach(path, request)?;
        Ok(())
    }

    /// How far the reader is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let sequence = self.in_place.map_or(self.cursor.sequence(), |record| record.sequence);
        Progress { sequence, ..self.progress }
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

    /// The first record that this reader could read.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.first
    }

    /// The sequence of the record to be read next. Since [`first`](Self::first), all before it were read, passed, missed or lost.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.cursor.sequence()
    }

    /// Records that are published.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.memory.published()
    }

    /// The next record, or what became of it; never waits. A record's payload is appended to `out`. Records for other members of
    /// groups are passed.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn next(&mut self, out: &mut Vec<u8>) -> Result<Next, Error> {
        self.advance(|cursor, memory| cursor.next(&memory.words(), out))
    }

    /// As [`next`](Self::next), without a copy of the payload, which is at [`words`](Self::words) until it is overwritten. When the
    /// caller is done with it, [`confirm`](Self::confirm) says whether it was intact all the time.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub fn next_in_place(&mut self) -> Result<Next, Error> {
        let next = self.advance(|cursor, memory| cursor.next_in_place(&memory.words()))?;
        if let Next::Record(record) = next {
            self.progress.read -= 1;
            self.in_place = Some(record);
        }
        Ok(next)
    }

    #[inline]
    fn advance(
        &mut self,
        mut step: impl FnMut(&mut Cursor, &QueueMemory) -> Result<Step, crate::ring::Corrupt>,
    ) -> Result<Next, Error> {
        self.confirm();
        let begin = self.cursor.sequence();
        // Position published when the first record of others was passed: a look at the publisher's cache line, so not for each record.
        let mut until = None;
        loop {
            let step = step(&mut self.cursor, &self.memory)?;
            self.progress.lost_bytes = self.progress.lost_bytes.wrapping_add(self.cursor.take_lost_bytes());
            match step {
                Step::Next(next) => {
                    let next = match next {
                        // Everything that it published was read: it was found to have ended before the last look.
                        Next::Empty if self.is_publisher_gone => Next::Ended(QueueEnd::Gone),
                        next => next,
                    };
                    self.count(&next);
                    return Ok(next);
                }
                Step::Passed(records) => {
                    self.progress.passed += records;
                    self.write_progress();
                    // Others' records may come faster than they are passed, and a publisher may state more than there can be.
                    let slots = self.memory.geometry().slots();
                    let until = *until.get_or_insert_with(|| self.memory.published().min(begin.saturating_add(slots)));
                    if self.cursor.sequence() >= until && records != 0 {
                        return Ok(Next::Empty);
                    }
                }
            }
        }
    }

    #[inline]
    fn count(&mut self, next: &Next) {
        match next {
            Next::Record(_) => self.progress.read += 1,
            Next::Missed(record) => {
                self.progress.missed += 1;
                self.progress.missed_bytes += u64::from(record.bytes);
            }
            Next::Lost { records, bytes, .. } => {
                self.progress.lost = self.progress.lost.saturating_add(*records);
                self.progress.lost_bytes = self.progress.lost_bytes.wrapping_add(*bytes);
            }
            Next::Empty | Next::Ended(_) => self.until_written = 1,
        }
        self.until_written -= 1;
        if self.until_written == 0 {
            self.until_written = PROGRESS_RECORDS;
            self.write_progress();
        }
    }

    /// The words of a record's payload, in shared memory: `record.bytes` bytes, which the publisher may be overwriting. What is read
    /// here counts only if [`is_intact`](Self::is_intact) says so afterwards.
    #[must_use]
    pub fn words(&self, record: &Record) -> &[AtomicU64] {
        let bytes = u64::from(record.bytes).min(self.geometry().record_bytes_max());
        self.memory.words().payload(record.position, bytes as usize)
    }

    /// Whether everything that was read of a record's payload before this call is what was published.
    #[must_use]
    pub fn is_intact(&self, record: &Record) -> bool {
        self.cursor.is_intact(&self.memory.words(), record)
    }

    /// Ends reading in place: whether the record was intact until now. It counts as read or as missed; a publisher that holds for
    /// readers may overwrite it from now on. The next call of `next` or `next_in_place` does this as well.
    pub fn confirm(&mut self) -> bool {
        let Some(record) = self.in_place.take() else { return true };
        let is_intact = self.cursor.confirm(&self.memory.words(), &record);
        self.count(&if is_intact { Next::Record(record) } else { Next::Missed(record) });
        is_intact
    }

    /// As [`next`](Self::next), and where nothing is there, waits for at most `timeout` until the server wakes readers. A
    /// publisher that died is [`QueueEnd::Gone`], after the last record.
    ///
    /// # Errors
    /// As [`next`](Self::next), and what the kernel says.
    pub fn next_timeout(&mut self, out: &mut Vec<u8>, timeout: Duration) -> Result<Next, Error> {
        // The clock is read only where there is nothing to read.
        let mut begun = None;
        loop {
            let next = self.next(out)?;
            if next != Next::Empty {
                return Ok(next);
            }
            let left = timeout.saturating_sub(begun.get_or_insert_with(Instant::now).elapsed());
            if left.is_zero() || !self.wait(left)? {
                return Ok(next);
            }
        }
    }

    /// Waits for at most `timeout` until there is something to read, or the publisher has ended. Returns `false` if the time is
    /// over.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn wait(&mut self, timeout: Duration) -> Result<bool, Error> {
        let begun = Instant::now();
        loop {
            let seen = self.memory.wake_word().load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            self.set_waits(Waits::Futex);
            // Whatever was published before the server could see that this reader waits.
            let is_there = self.is_ready() || {
                let left = timeout.saturating_sub(begun.elapsed());
                wait(self.memory.wake_word(), seen, left.min(GONE_TIME))
                    .map_err(Error::memory("waiting for a queue"))?;
                self.is_ready()
            };
            self.set_waits(Waits::No);
            if is_there || self.take_wakes() {
                return Ok(true);
            }
            if begun.elapsed() >= timeout {
                return Ok(false);
            }
        }
    }

    /// Whether [`next`](Self::next) has anything to say.
    fn is_ready(&self) -> bool {
        self.memory.published() != self.cursor.sequence() || self.memory.has_ended() || self.is_publisher_gone
    }

    /// A descriptor for `poll`, the same as long as the reader lives: readable when there is something to read after
    /// [`arm`](Self::arm), or the publisher has died. `None` for a reader that did not attach.
    #[must_use]
    pub fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        self.attachment.as_ref().map(|attachment| attachment.socket.as_fd())
    }

    /// Asks the server to make [`wake_fd`](Self::wake_fd) readable with the next record. Call it before `poll`, and `poll` only if
    /// it returns `true`; `false`: there is something to read already. After `poll`, call [`disarm`](Self::disarm).
    pub fn arm(&mut self) -> bool {
        self.set_waits(Waits::Socket);
        !self.is_ready()
    }

    /// Takes the server's wake-ups from [`wake_fd`](Self::wake_fd).
    pub fn disarm(&mut self) {
        self.set_waits(Waits::No);
        self.take_wakes();
    }

    fn set_waits(&self, waits: Waits) {
        if let Some(attachment) = &self.attachment {
            attachment.page.set_waits(waits);
        }
    }

    /// Takes what the server sent. Returns, and notes, whether the server's process has ended.
    fn take_wakes(&mut self) -> bool {
        let Some(Attachment { socket, .. }) = &self.attachment else { return false };
        for _ in 0..WAKES_MAX {
            match recv(socket, &mut [0_u8; 8], RecvFlags::DONTWAIT) {
                Ok((0, _)) => self.is_publisher_gone = true,
                Ok(_) | Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => {}
                Err(_) => self.is_publisher_gone = true,
            }
            break;
        }
        self.is_publisher_gone
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // Before its socket is closed: the server says then what it read.
        self.confirm();
        self.write_progress();
    }
}

#[cfg(test)]
mod tests;
