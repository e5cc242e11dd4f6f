//! What is gone without a trace in the store itself: its log, or all of it.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::Path,
};

use crate::{
    opening::{RECOVERING, beside, has_bytes},
    schema::LOG_BYTES_MAX,
};

/// What a store has lost since it was open last. How much that was is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Its log was removed or cut: what was stored last was only there.
    Log,
    /// The store was removed, emptied or replaced.
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
            Self::Log => "its log was removed or cut: the events stored last are missing, and how many is not known",
            Self::Store => {
                "the store that was here was removed, emptied or replaced: how many events are missing is not known"
            }
        })
    }
}

/// The files of a store before it is opened, which changes them.
pub(crate) struct Before {
    has_log: bool,
    is_empty: bool,
    /// The id of the store that was here, from the file of its lock.
    known: Option<String>,
    /// What the writer before knew to be lost.
    noted: Option<Loss>,
}

impl Before {
    pub(crate) fn look(path: &Path, lock: &File) -> Self {
        let (mut id, mut mark) = ([0; ID_BYTES as usize], [0]);
        let known = lock.read_exact_at(&mut id, 0).ok().and_then(|()| String::from_utf8(id.to_vec()).ok());
        let noted = lock.read_exact_at(&mut mark, ID_BYTES).ok();
        let noted =
            noted.and_then(|()| [Loss::Log, Loss::Store].into_iter().find(|loss| self::mark(Some(*loss)) == mark[0]));
        // A recovery may have ended between its last two steps.
        let is_empty = !has_bytes(path) && !has_bytes(&beside(path, RECOVERING));
        Self { has_log: has_bytes(&beside(path, "-wal")), is_empty, known, noted }
    }

    /// What is gone. `was_in_use`: the writer before did not end in order; `id`: of the store that is here now; `is_recovered`: what
    /// that is about is in its account.
    pub(crate) fn loss(&self, was_in_use: bool, id: [u8; 16], is_recovered: bool) -> Option<Loss> {
        let is_other = self.known.as_ref().is_some_and(|known| *known != digits(id));
        let found = match self.is_empty || is_other {
            true => self.known.is_some().then_some(Loss::Store),
            false => (was_in_use && !self.has_log).then_some(Loss::Log),
        };
        self.noted.or(found.filter(|_| !is_recovered))
    }

    /// Notes beside the store which one it is.
    pub(crate) fn note(&self, lock: &File, id: [u8; 16]) {
        if self.known.as_ref() != Some(&digits(id)) || self.noted.is_some() {
            // Where this fails, nobody misses the store later, no more.
            let _ = write_note(lock, id, None);
        }
    }
}

/// Notes what is lost for the next opening, or that nothing is. (The file of the lock may have been removed as well.)
pub(crate) fn note_loss(path: &Path, id: [u8; 16], loss: Option<Loss>) -> io::Result<()> {
    let open = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(beside(path, ".lock"));
    write_note(&open?, id, loss)
}

/// An id, and behind it what is lost.
fn write_note(lock: &File, id: [u8; 16], loss: Option<Loss>) -> io::Result<()> {
    let mut note = digits(id).into_bytes();
    note.push(mark(loss));
    lock.write_all_at(&note, 0)?;
    lock.sync_data()
}

fn digits(id: [u8; 16]) -> String {
    format!("{:032x}", u128::from_be_bytes(id))
}

/// How a loss is noted.
fn mark(loss: Option<Loss>) -> u8 {
    match loss {
        None => b' ',
        Some(Loss::Log) => b'l',
        Some(Loss::Store) => b's',
    }
}

/// An id in hexadecimal digits.
const ID_BYTES: u64 = 32;

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

    /// Notes the log, in which something was written, or which was emptied on purpose.
    pub(crate) fn note_log(&mut self, path: &Path) {
        self.log = log_of(path);
    }

    /// Whether other files have these names now, or none, or the log was cut.
    pub(crate) fn are_replaced(&self, path: &Path) -> bool {
        !self.has_store(path) || self.log.is_some() && !self.has_log(path) || self.is_log_cut(path)
    }

    /// Whether the store itself still has its name.
    pub(crate) fn has_store(&self, path: &Path) -> bool {
        Self::of_store(path).store == self.store
    }

    /// Whether its log still has its name.
    pub(crate) fn has_log(&self, path: &Path) -> bool {
        self.log.zip(log_of(path)).is_some_and(|(was, now)| was.file == now.file)
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
