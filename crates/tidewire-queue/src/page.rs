//! A reader's page: the one piece of memory that a reader writes and the server reads. The server takes every word for what it
//! is, a number that the reader may have made up: it is shown, and decides whether a wake-up is worth a system call.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::atomic::{AtomicU64, Ordering, fence},
};

use rustix::fs::{SealFlags, fcntl_add_seals, fcntl_get_seals, fstat};

use crate::sys::{Access, Mapping, memory_file};

/// Bytes of the file: a whole page on every machine.
const PAGE_BYTES: usize = 1 << 16;

/// Words of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    /// An odd number while the others are being written.
    Version = 0,
    Sequence = 1,
    Read = 2,
    Passed = 3,
    Missed = 4,
    MissedBytes = 5,
    Lost = 6,
    LostBytes = 7,
    /// How the reader waits ([`Waits`]).
    Waits = 16,
}

/// How often figures are read again that the reader changed meanwhile.
const TRIES: usize = 8;

/// Progress that a reader reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Sequence of the record that it reads next. Since its first record: `read` + `passed` + `missed` + `lost`.
    pub sequence: u64,
    /// Records that it read.
    pub read: u64,
    /// Records of other members of its group, or of other groups only.
    pub passed: u64,
    /// Records whose payload it missed, and of which it knows the head.
    pub missed: u64,
    /// Bytes of payload of the records that it missed.
    pub missed_bytes: u64,
    /// Records that it lost without knowing what they were.
    pub lost: u64,
    /// Bytes of payload of these, each payload rounded up to 8.
    pub lost_bytes: u64,
}

/// How a reader waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Not at all.
    No = 0,
    /// On the futex.
    Futex = 1,
    /// Until its socket is readable.
    Socket = 2,
}

#[derive(Debug)]
pub(crate) struct Page {
    mapping: Mapping,
    file: OwnedFd,
}

impl Page {
    /// A page for one reader, made by the server. It says that the reader begins with record `first`.
    pub(crate) fn new(first: u64) -> io::Result<Self> {
        let file = memory_file("tidewire-reader", PAGE_BYTES as u64)?;
        let mapping = Mapping::new(&file, PAGE_BYTES, PAGE_BYTES, Access::Write)?;
        // The reader cannot make it shrink or read-only under the server.
        fcntl_add_seals(&file, SealFlags::SEAL)?;
        let page = Self { mapping, file };
        page.word(Word::Sequence).store(first, Ordering::Relaxed);
        Ok(page)
    }

    /// The page that a server sent.
    pub(crate) fn open(file: OwnedFd) -> io::Result<Self> {
        let is_whole = u64::try_from(fstat(&file)?.st_size) == Ok(PAGE_BYTES as u64);
        // A page that shrinks would be a fault (SIGBUS) of any process that writes to it.
        if !is_whole || !fcntl_get_seals(&file)?.contains(SealFlags::SHRINK) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its page for the reader is invalid"));
        }
        let mapping = Mapping::new(&file, PAGE_BYTES, PAGE_BYTES, Access::Write)?;
        Ok(Self { mapping, file })
    }

    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn word(&self, word: Word) -> &AtomicU64 {
        &self.mapping.words()[word as usize]
    }

    /// The record that the reader reads next, as it says. What it read before that comes before whatever is written after this.
    pub(crate) fn sequence(&self) -> u64 {
        self.word(Word::Sequence).load(Ordering::Acquire)
    }

    /// The reader's figures, all of one moment; `None`: it is just changing them (or was stopped while it did).
    pub(crate) fn progress(&self) -> Option<Progress> {
        let load = |word| self.word(word).load(Ordering::Relaxed);
        for _ in 0..TRIES {
            let version = self.word(Word::Version).load(Ordering::Acquire);
            let progress = Progress {
                sequence: load(Word::Sequence),
                read: load(Word::Read),
                passed: load(Word::Passed),
                missed: load(Word::Missed),
                missed_bytes: load(Word::MissedBytes),
                lost: load(Word::Lost),
                lost_bytes: load(Word::LostBytes),
            };
            fence(Ordering::Acquire);
            if version.is_multiple_of(2) && load(Word::Version) == version {
                return Some(progress);
            }
            std::hint::spin_loop();
        }
        None
    }

    /// Whether the reader ever wrote its figures.
    pub(crate) fn has_progress(&self) -> bool {
        self.word(Word::Version).load(Ordering::Relaxed) != 0
    }

    pub(crate) fn set_progress(&self, progress: &Progress) {
        let store = |word, value| self.word(word).store(value, Ordering::Relaxed);
        let version = self.word(Word::Version).load(Ordering::Relaxed) | 1;
        store(Word::Version, version);
        // Also for the payloads that were read: a publisher that holds overwrites them when it sees the new sequence.
        fence(Ordering::Release);
        store(Word::Sequence, progress.sequence);
        store(Word::Read, progress.read);
        store(Word::Passed, progress.passed);
        store(Word::Missed, progress.missed);
        store(Word::MissedBytes, progress.missed_bytes);
        store(Word::Lost, progress.lost);
        store(Word::LostBytes, progress.lost_bytes);
        self.word(Word::Version).store(version.wrapping_add(1), Ordering::Release);
    }

    /// How the reader waits, or is about to. A server that looks too early finds it in its next turn.
    pub(crate) fn waits(&self) -> Waits {
        match self.word(Word::Waits).load(Ordering::SeqCst) {
            0 => Waits::No,
            2 => Waits::Socket,
            _ => Waits::Futex,
        }
    }

    pub(crate) fn set_waits(&self, waits: Waits) {
        self.word(Word::Waits).store(waits as u64, Ordering::SeqCst);
    }
}
