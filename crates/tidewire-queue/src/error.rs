//! Why a queue cannot be made, opened or read.

use std::{io, path::PathBuf};

use crate::{protocol::Refusal, ring::Corrupt};

/// Why a queue cannot be made, opened or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The environment's: the kernel refused memory.
    #[error("{what}: {source}")]
    Memory {
        /// The operation.
        what: &'static str,
        /// The error of the kernel.
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
        /// The error of the kernel.
        source: io::Error,
    },
    /// The caller's environment: a variable that says where to attach is missing or wrong.
    #[error(
        "the environment variable {variable} must be set to {what}; the sensor sets it for analyzers that it starts"
    )]
    Environment {
        /// The variable.
        variable: &'static str,
        /// The valid values.
        what: &'static str,
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
        /// [`Geometry::record_bytes_max`](crate::Geometry::record_bytes_max).
        max: u64,
    },
}

impl Error {
    /// For `map_err`: the kernel refused `what`.
    pub(crate) fn memory(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Memory { what, source }
    }
}
