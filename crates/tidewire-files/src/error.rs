use std::{fmt, io, path::PathBuf};

/// Where an input is damaged. Everything before it was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// The input, `-` for standard input.
    pub path: PathBuf,
    /// Offset in bytes of the record, block or header that is damaged; in the decompressed stream where there is one.
    pub offset: u64,
    /// Whether the input is compressed, so that `offset` counts decompressed bytes.
    pub compressed: bool,
    /// The mistake there.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.compressed { " of the decompressed data" } else { "" };
        write!(f, "{}: damaged at byte {}{of}: {}", self.path.display(), self.offset, self.what)
    }
}

/// Why a source cannot continue. The text says what to do, and contains what the system says: there is no
/// [`source`](std::error::Error::source) beside it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The caller's: there is no such file.
    #[error("{}: no such file; check the name", path.display())]
    Missing {
        /// The name given.
        path: PathBuf,
    },
    /// The caller's: a directory was named.
    #[error("{}: is a directory; name the capture files in it, as in {}/*.pcap", path.display(), path.display())]
    Directory {
        /// The name given.
        path: PathBuf,
    },
    /// The environment's: the file is there but cannot be opened.
    #[error("{}: cannot be opened: {cause}{}", path.display(), open_hint(cause))]
    Open {
        /// The name given.
        path: PathBuf,
        /// The error of the system.
        cause: io::Error,
    },
    /// The environment's: reading failed.
    #[error("{}: reading failed after byte {offset}: {cause}; what came before was processed", path.display())]
    Read {
        /// The input.
        path: PathBuf,
        /// Bytes of the (decompressed) stream that could be read.
        offset: u64,
        /// The error of the system.
        cause: io::Error,
    },
    /// The file's: it was replaced or cut while it was being read.
    #[error("{}: was replaced or made shorter while it was being read; read a copy that does not change", path.display())]
    Changed {
        /// The input.
        path: PathBuf,
    },
    /// The file's: nothing in it.
    #[error("{}: is empty, without even a file header; was the capture stopped before it began?", path.display())]
    Empty {
        /// The input.
        path: PathBuf,
    },
    /// The caller's: a file of another kind.
    #[error("{}: is not a pcap or pcapng capture; it looks like {looks_like}", path.display())]
    NotACapture {
        /// The input.
        path: PathBuf,
        /// A guess at its format, and a remedy where one is known.
        looks_like: String,
    },
    /// Ours: a capture of a form that is not read.
    #[error("{}: {what}", path.display())]
    Unsupported {
        /// The input.
        path: PathBuf,
        /// The form, and what to do.
        what: String,
    },
    /// The file's: packets with times that 64 bits of nanoseconds since 1970 do not hold. All were delivered, each at the time of the
    /// packet before it.
    #[error("{}: packet {number} has a time before 1970 or after 2554{}; each counts at the time of the packet before it; shift times first, as in editcap -t SECONDS", path.display(), others(*packets))]
    Times {
        /// The input.
        path: PathBuf,
        /// Number of the first of them.
        number: u64,
        /// How many there are.
        packets: u64,
    },
    /// The file's: truncated or damaged. Everything before was delivered.
    #[error("{0}; everything before it was processed")]
    Damaged(Damage),
}

/// How many other packets have no time.
fn others(packets: u64) -> String {
    match packets.saturating_sub(1) {
        0 => String::new(),
        1 => ", and so has one behind it".into(),
        others => format!(", and so have {others} behind it"),
    }
}

/// Remedy for a file that cannot be opened.
fn open_hint(error: &io::Error) -> &'static str {
    /// `EMFILE`, which the standard library has no name for: the same on Linux, BSD and macOS.
    const TOO_MANY_OPEN_FILES: i32 = 24;
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::PermissionDenied, _) => "; check its permissions",
        (_, Some(TOO_MANY_OPEN_FILES)) if cfg!(unix) => "; allow this process more open files (ulimit -n)",
        _ => "",
    }
}
