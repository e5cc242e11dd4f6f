use std::{io, path::PathBuf};

/// Why an archive cannot be written, read or checked. The text says where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The environment's: a call on a file failed.
    #[error("{}: {what}: {cause}{}", path.display(), hint(cause))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The failed operation.
        what: &'static str,
        /// The system's error.
        cause: io::Error,
    },
    /// The caller's: two recorders in one directory.
    #[error("{}: another recorder writes to this directory; stop it, or name another directory", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// The caller's: no archive there.
    #[error("{}: {what}", path.display())]
    NotAnArchive {
        /// The directory.
        path: PathBuf,
        /// The file that is there instead, and a remedy.
        what: String,
    },
    /// The environment's: this user may not read what is in a directory.
    #[error("{}: permission denied ({what}); run as root or in its group", path.display())]
    Denied {
        /// The directory.
        path: PathBuf,
        /// The part that cannot be read.
        what: String,
    },
    /// The caller's: a file that is indexed in another form only, or is no capture.
    #[error("{}: not indexed: {what}", path.display())]
    NotIndexed {
        /// The file.
        path: PathBuf,
        /// The kind of file, and a remedy.
        what: &'static str,
    },
    /// The file's: written by a newer or an older program.
    #[error("{}: format version {found}; this program reads version {supported}: {}", path.display(), version_hint(*found, *supported))]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u16,
        /// The version that is read.
        supported: u16,
    },
    /// The file's: its bytes are not what was written.
    #[error("{}: damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The damage.
        what: String,
    },
    /// The environment's: a sync failed, and what was to be synced is gone.
    #[error(
        "{}: a sync failed, and what was written from byte {from} on is lost; the segment ends there", path.display()
    )]
    Lost {
        /// The segment.
        path: PathBuf,
        /// Bytes of its file before.
        from: u64,
    },
    /// The caller's: a sealed file, and no identity that opens it.
    #[error("{}: {}", path.display(), sealed_hint(*identities))]
    Sealed {
        /// The file.
        path: PathBuf,
        /// Identities that were named.
        identities: usize,
    },
    /// The caller's: no recipient or identity of age.
    #[error("{0}")]
    Key(String),
    /// The caller's: a query that has no meaning.
    #[error("{0}")]
    Query(String),
    /// Reading packets failed.
    #[error(transparent)]
    File(#[from] tidewire_files::Error),
    /// Tracking flows failed.
    #[error(transparent)]
    Capture(#[from] tidewire::Error),
    /// The caller's: an expression that has no meaning.
    #[error(transparent)]
    Filter(#[from] tidewire_filter::Error),
}

/// Why a sealed file is not opened, and the remedy.
fn sealed_hint(identities: usize) -> &'static str {
    match identities {
        0 => "is encrypted; name the identity that can read it (--identity FILE)",
        1 => "is encrypted for other recipients than the identity that is named; name another one (--identity FILE)",
        _ => "is encrypted for other recipients than the identities that are named; name another one (--identity FILE)",
    }
}

impl From<tidewire_sealing::KeyError> for Error {
    fn from(error: tidewire_sealing::KeyError) -> Self {
        Self::Key(error.to_string())
    }
}

impl Error {
    /// Adds file and purpose to what the system says.
    pub(crate) fn io(path: impl Into<PathBuf>, what: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| Self::Io { path, what, cause }
    }

    pub(crate) fn damaged(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.into(), what: what.into() }
    }

    /// Whether a newer program wrote the file: it is neither read nor written over.
    #[must_use]
    pub fn is_newer(&self) -> bool {
        matches!(self, Self::Version { found, supported, .. } if found > supported)
    }

    /// Whether bytes are gone: to try again is of no use.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// Whether a file or directory is not there.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io { cause, .. } if cause.kind() == io::ErrorKind::NotFound)
    }

    /// Whether the bytes of a file are the reason: it can be made again from the packets.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. })
    }
}

fn hint(cause: &io::Error) -> &'static str {
    match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; free space there",
        io::ErrorKind::PermissionDenied => "; check the permissions",
        io::ErrorKind::NotFound => "; check the name",
        _ => "",
    }
}

fn version_hint(found: u16, supported: u16) -> &'static str {
    if found > supported {
        "read it with a newer tidewire"
    } else {
        "make the index again: tidewire record --index-only DIR"
    }
}
