//! Why a store cannot be opened, written or read. Every message names the path.

use std::{
    io,
    path::{Path, PathBuf},
};

use rusqlite::{ErrorCode, ffi};
use tidewire_events::DecodeError;

use crate::link::link_in_place;

/// Why a store cannot be opened, written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The environment's: a file beside SQLite's own, or its directory.
    #[error("{}: {what}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// The failed operation.
        what: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// The environment's or the file's: SQLite cannot do it.
    #[error("{}: {what}: {source}{}", path.display(), hint(source))]
    Database {
        /// The store.
        path: PathBuf,
        /// The failed operation.
        what: &'static str,
        /// SQLite's error.
        source: rusqlite::Error,
    },
    /// The caller's: another process writes to it.
    #[error("{}: another process writes to this store; only one may", path.display())]
    Locked {
        /// The store.
        path: PathBuf,
    },
    /// The caller's: a database of something else.
    #[error("{}: this is a database, but no store of events", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
    },
    /// The caller's: written by another version.
    #[error("{}: a store of version {found}; this program knows version {known}", path.display())]
    Version {
        /// The store.
        path: PathBuf,
        /// The version that it states.
        found: i64,
        /// The version that can be read.
        known: i64,
    },
    /// The environment's: the file system cannot share memory between processes, as network file systems cannot.
    #[error("{}: no write-ahead log is possible there (journal mode {mode}): use a local file system", path.display())]
    NoLog {
        /// The store.
        path: PathBuf,
        /// The journal mode that SQLite uses instead.
        mode: String,
    },
    /// The file's: a record whose bytes changed. Opening for writing keeps the others (see [`Recovery`](crate::Recovery)).
    #[error("{}: record {id} is damaged: {what}", path.display())]
    Damaged {
        /// The store.
        path: PathBuf,
        /// The record.
        id: u64,
        /// How.
        what: String,
    },
    /// The caller's: a record that is sealed with a data key that is not stored before it.
    #[error("{}: a record is sealed with a key that was not stored before it", path.display())]
    UnknownKey {
        /// The store.
        path: PathBuf,
    },
    /// The caller's: a record that cannot be read.
    #[error("a record that cannot be stored: {0}")]
    Record(#[from] DecodeError),
    /// The file's: damage was found while it was open. Opening it again recovers it.
    #[error("{}: damaged while it was open: {cause}", path.display())]
    Broken {
        /// The store.
        path: PathBuf,
        /// The damage.
        cause: String,
    },
    /// The environment's: another file has the store's path or its log's, or none, or the log was cut.
    #[error("{}: the store or its log was removed, cut or replaced while it was open{}", path.display(), link.as_ref().map_or_else(String::new, |link| format!("; {link}")))]
    Replaced {
        /// The store.
        path: PathBuf,
        /// The link in its place, in words.
        link: Option<String>,
    },
    /// The writer was stopped before this could be stored.
    #[error("{}: stopped before it could be stored: {cause}", path.display())]
    Stopped {
        /// The store.
        path: PathBuf,
        /// The last failure, or why nothing was tried.
        cause: String,
    },
}

fn hint(error: &rusqlite::Error) -> &'static str {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => " (free space there, or lower the store's size)",
        Some(ErrorCode::ReadOnly) => " (the file or its directory cannot be written by this user)",
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            " (does its directory exist, and may this user write there?)"
        }
        _ => "",
    }
}

impl Error {
    /// A store that is not in its place any more.
    pub(crate) fn replaced(path: &Path) -> Self {
        Self::Replaced { path: path.to_owned(), link: link_in_place(path) }
    }

    /// For `map_err`: the kernel refused `what`.
    pub(crate) fn file(path: &Path, what: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), what, source }
    }

    /// For `map_err`: SQLite cannot do `what`.
    pub(crate) fn database(path: &Path, what: &'static str) -> impl Fn(rusqlite::Error) -> Self {
        move |source| Self::Database { path: path.to_owned(), what, source }
    }

    /// Whether the disk has no room.
    #[must_use]
    pub fn is_full(&self) -> bool {
        match self {
            Self::Database { source, .. } => source.sqlite_error_code() == Some(ErrorCode::DiskFull),
            Self::File { source, .. } => source.kind() == io::ErrorKind::StorageFull,
            _ => false,
        }
    }

    /// Whether the file is damaged, or no database at all.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged { .. } | Self::Broken { .. } => true,
            Self::Database { source, .. } => is_damage(source),
            _ => false,
        }
    }
}

pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    let extended = error.sqlite_error().map(|error| error.extended_code & 0xff);
    matches!(extended, Some(ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB))
        || matches!(error, rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::IntegralValueOutOfRange(..))
}
