//! What is gone without a trace in the store itself: its log, or all of it.

use std::{
    fmt,
    fs::{self, File},
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::Path,
};

use crate::{
    opening::{RECOVERING, beside},
    schema::LOG_BYTES_MAX,
};

/// What a store has lost since it was open last. How much that was is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Its log was removed or emptied after a writer that did not end in order: what was stored last was only there.
    Log,
    /// The store was removed or emptied.
    Store,
}

impl Loss {
    /// `log` or `store`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Store => "store",
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Log => {
                "its log was removed or emptied: the events stored last are missing, and how many is not known"
            }
            Self::Store => "the store that was here was removed or emptied: how many events are missing is not known",
        })
    }
}

/// The files of a store before it is opened, which changes them.
pub(crate) struct Before {
    has_log: bool,
    is_empty: bool,
    /// The id of the store that was here, from the file of its lock.
    known: Option<String>,
}

impl Before {
    pub(crate) fn look(path: &Path, lock: &File) -> Self {
        let has_bytes = |path: &Path| fs::metadata(path).is_ok_and(|found| found.len() > 0);
        let mut noted = [0; NOTE_BYTES];
        let known = lock.read_exact_at(&mut noted, 0).ok().and_then(|()| String::from_utf8(noted.to_vec()).ok());
        // A recovery may have ended between its last two steps.
        let is_empty = !has_bytes(path) && !has_bytes(&beside(path, RECOVERING));
        Self { has_log: has_bytes(&beside(path, "-wal")), is_empty, known }
    }

    /// What is gone. `was_in_use`: the writer before did not end in order.
    pub(crate) fn loss(&self, was_in_use: bool) -> Option<Loss> {
        match (self.is_empty, self.has_log) {
            // Everything may still be in the log.
            (true, false) => self.known.is_some().then_some(Loss::Store),
            (false, false) if was_in_use => Some(Loss::Log),
            _ => None,
        }
    }

    /// Notes beside the store which one it is.
    pub(crate) fn note(&self, lock: &File, id: [u8; 16]) {
        let id = format!("{:032x}", u128::from_be_bytes(id));
        if self.known.as_ref() != Some(&id) {
            // Where this fails, nobody misses the store later, no more.
            let _ = lock.write_all_at(id.as_bytes(), 0).and_then(|()| lock.sync_data());
        }
    }
}

/// An id in hexadecimal digits.
const NOTE_BYTES: usize = 32;

/// The files of an open store: which they are, and how long the log was.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Files {
    store: Option<(u64, u64)>,
    log: Option<Log>,
}

/// A log, by device and number.
#[derive(Clone, Copy, Debug)]
struct Log {
    file: (u64, u64),
    bytes: u64,
}

impl Files {
    pub(crate) fn of_store(path: &Path) -> Self {
        Self { store: fs::metadata(path).ok().map(|file| (file.dev(), file.ino())), log: None }
    }

    /// Notes the log, in which something was written.
    pub(crate) fn note_log(&mut self, path: &Path) {
        self.log = log_of(path);
    }

    /// The log was emptied on purpose.
    pub(crate) fn forget_log(&mut self) {
        self.log = None;
    }

    /// Whether other files have these names now, or none, or the log was cut.
    pub(crate) fn are_replaced(&self, path: &Path) -> bool {
        let is_other = |log: &Log| log_of(path).is_none_or(|now| now.file != log.file);
        Self::of_store(path).store != self.store || self.log.as_ref().is_some_and(is_other) || self.is_log_cut(path)
    }

    /// Whether the log is shorter than it was: what it says of its frames is wrong then.
    pub(crate) fn is_log_cut(&self, path: &Path) -> bool {
        // SQLite itself cuts a log that has grown further.
        let is_cut = |(was, now): (Log, Log)| was.file == now.file && now.bytes < was.bytes.min(LOG_BYTES_MAX);
        self.log.zip(log_of(path)).is_some_and(is_cut)
    }
}

fn log_of(path: &Path) -> Option<Log> {
    let found = fs::metadata(beside(path, "-wal")).ok()?;
    Some(Log { file: (found.dev(), found.ino()), bytes: found.len() })
}
