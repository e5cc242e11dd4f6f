//! A reader's page: the one piece of memory that a reader writes and the server reads. The server takes every word for what it
//! is, a number that the reader may have made up: it is shown, and decides whether a wake-up is worth a system call.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::fs::{SealFlags, fcntl_get_seals, fstat};

use crate::sys::{Access, Mapping, memory_file};

/// Bytes of the file: a whole page on every machine.
const PAGE_BYTES: usize = 1 << 16;

/// Words of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Sequence = 0,
    Read = 1,
    Missed = 2,
    Lost = 3,
    MissedBytes = 4,
    IsWaiting = 16,
}

/// What a reader says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Sequence of the record that it reads next.
    pub sequence: u64,
    /// Records that it read.
    pub read: u64,
    /// Records that it missed, of which it knows the head.
    pub missed: u64,
    /// Records that it lost without knowing what they were.
    pub lost: u64,
    /// Bytes of payload of the records that it missed.
    pub missed_bytes: u64,
}

#[derive(Debug)]
pub(crate) struct Page {
    mapping: Mapping,
    file: OwnedFd,
}

impl Page {
    /// A page for one reader, made by the server.
    pub(crate) fn new() -> io::Result<Self> {
        let file = memory_file("tidewire-reader", PAGE_BYTES as u64)?;
        let mapping = Mapping::new(&file, PAGE_BYTES, PAGE_BYTES, Access::Write)?;
        Ok(Self { mapping, file })
    }

    /// The page that a server sent.
    pub(crate) fn open(file: OwnedFd) -> io::Result<Self> {
        let is_whole = u64::try_from(fstat(&file)?.st_size) == Ok(PAGE_BYTES as u64);
        // A page that shrinks would be a fault (SIGBUS) of whoever writes to it.
        if !is_whole || !fcntl_get_seals(&file)?.contains(SealFlags::SHRINK) {
            return Err(io::ErrorKind::InvalidData.into());
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

    pub(crate) fn progress(&self) -> Progress {
        let load = |word| self.word(word).load(Ordering::Relaxed);
        Progress {
            sequence: load(Word::Sequence),
            read: load(Word::Read),
            missed: load(Word::Missed),
            lost: load(Word::Lost),
            missed_bytes: load(Word::MissedBytes),
        }
    }

    pub(crate) fn set_progress(&self, progress: &Progress) {
        let store = |word, value| self.word(word).store(value, Ordering::Relaxed);
        store(Word::Sequence, progress.sequence);
        store(Word::Read, progress.read);
        store(Word::Missed, progress.missed);
        store(Word::Lost, progress.lost);
        store(Word::MissedBytes, progress.missed_bytes);
    }

    /// Whether the reader sleeps, or is about to. A server that looks too early finds it in its next turn.
    pub(crate) fn is_waiting(&self) -> bool {
        self.word(Word::IsWaiting).load(Ordering::SeqCst) != 0
    }

    pub(crate) fn set_waiting(&self, waits: bool) {
        self.word(Word::IsWaiting).store(u64::from(waits), Ordering::SeqCst);
    }
}
