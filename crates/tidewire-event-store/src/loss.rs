//! Losses without a trace in the store itself: of its log, or of all of it.

use std::{
    fmt,
    fs::{self, File},
    io,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::Path,
};

use crate::{
    lock,
    opening::{LOCK, RECOVERING, beside, has_bytes},
    schema::LOG_BYTES_MAX,
};

/// Loss since the store was open last. Its extent is unknown.
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
    /// A loss that the previous writer noted.
    noted: Option<Loss>,
    /// The log, and what the writer before noted of it.
    log: Option<Log>,
    noted_log: Option<NotedLog>,
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
        let (log, noted_log) = (log_of(path), NotedLog::read(lock));
        Self { has_log: has_bytes(&beside(path, "-wal")), is_empty, known, noted, log, noted_log }
    }

    /// Whether the log is shorter than its writer left it: a crash leaves all that was committed, and SQLite cuts only what grew beyond its bound.
    fn is_log_cut(&self) -> bool {
        let is_cut =
            |(log, noted): (Log, NotedLog)| log.file.1 == noted.inode && log.bytes < noted.bytes.min(LOG_BYTES_MAX);
        self.log.zip(self.noted_log).is_some_and(is_cut)
    }

    /// The loss, if any. `was_in_use`: the previous writer did not end in order; `id`: of the store that is here now; `is_recovered`: the
    /// recovery's account covers the loss.
    pub(crate) fn loss(&self, was_in_use: bool, id: [u8; 16], is_recovered: bool) -> Option<Loss> {
        let is_other = self.known.as_ref().is_some_and(|known| *known != digits(id));
        let found = match self.is_empty || is_other {
            true => self.known.is_some().then_some(Loss::Store),
            false => (was_in_use && (!self.has_log || self.is_log_cut())).then_some(Loss::Log),
        };
        self.noted.or(found.filter(|_| !is_recovered))
    }

    /// Notes beside the store which one it is.
    pub(crate) fn note(&self, lock: &File, id: [u8; 16]) {
        if self.known.as_ref() != Some(&digits(id)) || self.noted.is_some() {
            // If this fails, a later loss of the store goes unnoticed; nothing else depends on it.
            let _ = write_note(lock, id, None);
        }
        if self.noted_log.is_some() {
            // A note about the log before does not apply to the new one.
            NotedLog::forget(lock);
        }
    }
}

/// How long a log was when something was committed last: in the file of the lock, behind the note of what is lost. It is not synced: what
/// it says of was, before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NotedLog {
    inode: u64,
    bytes: u64,
}

impl NotedLog {
    /// Its length: both numbers and their CRC-32, little-endian.
    const LENGTH: usize = 20;
    const AT: u64 = ID_BYTES + 1;

    fn encode(self) -> [u8; Self::LENGTH] {
        let mut encoded = [0; Self::LENGTH];
        encoded[..8].copy_from_slice(&self.inode.to_le_bytes());
        encoded[8..16].copy_from_slice(&self.bytes.to_le_bytes());
        let checksum = crc32fast::hash(&encoded[..16]);
        encoded[16..].copy_from_slice(&checksum.to_le_bytes());
        encoded
    }

    /// `None`: nothing is noted.
    fn read(lock: &File) -> Option<Self> {
        let mut found = [0; Self::LENGTH];
        lock.read_exact_at(&mut found, Self::AT).ok()?;
        let number = |at: usize| found[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let noted = Self { inode: number(0), bytes: number(8) };
        (noted.encode() == found && noted != Self::default()).then_some(noted)
    }

    fn write(self, lock: &File) -> io::Result<()> {
        lock.write_all_at(&self.encode(), Self::AT)
    }

    /// Takes the note back. Where this fails, the log may be taken for one that was cut, and its loss is reported.
    fn forget(lock: &File) {
        let _ = Self::default().write(lock).and_then(|()| lock.sync_data());
    }
}

/// Notes what is lost for the next opening, or that nothing is. (The file of the lock may have been removed as well.)
pub(crate) fn note_loss(path: &Path, id: [u8; 16], loss: Option<Loss>) -> io::Result<()> {
    let lock = lock::open(&beside(path, LOCK)).map_err(io::Error::other)?;
    write_note(&lock, id, loss)
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
    noted: NotedLog,
}

/// A log, by device and number.
#[derive(Clone, Copy, Debug)]
struct Log {
    file: (u64, u64),
    bytes: u64,
}

impl Files {
    pub(crate) fn of_store(path: &Path) -> Self {
        Self {
            store: fs::metadata(path).ok().map(|file| (file.dev(), file.ino())),
            log: None,
            noted: NotedLog::default(),
        }
    }

    /// Notes the log, in which something was written, or which was emptied on purpose.
    pub(crate) fn note_log(&mut self, path: &Path) {
        self.log = log_of(path);
    }

    /// The same after a commit, for the next writer: what the log has is durable then.
    pub(crate) fn note_commit(&mut self, path: &Path, lock: &File) {
        self.note_log(path);
        let Some(noted) = self.log.map(|log| NotedLog { inode: log.file.1, bytes: log.bytes }) else { return };
        // It grows for some MiB, and is then written from its beginning again.
        if noted != self.noted {
            // Where this fails, a later cut of the log is not noticed; nothing else depends on it.
            let _ = noted.write(lock);
            self.noted = noted;
        }
    }

    /// Takes back what was noted of the log, which is cut on purpose next.
    pub(crate) fn forget_log(&mut self, lock: &File) {
        NotedLog::forget(lock);
        self.noted = NotedLog::default();
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
