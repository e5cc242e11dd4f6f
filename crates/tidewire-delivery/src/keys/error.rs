//! Why keys and certificates cannot be used or made. Every message names the file.

use std::{
    io,
    path::{Path, PathBuf},
};

/// Why a key or a certificate cannot be used or made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The environment's.
    #[error("{}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The caller's: others may read or change a secret.
    #[error("{}: other users may read or change this key (mode {mode:04o}); run: chmod 600 {0}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The caller's: a secret that belongs to another user, who may change it.
    #[error("{}: this key belongs to another user (number {owner}); run: chown {own} {0}", path.display())]
    Owner {
        /// Which file.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who needs it.
        own: u32,
    },
    /// The file's: it has not what is needed, or something else.
    #[error("{}: {what}", path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// The error, and a remedy.
        what: String,
    },
    /// The caller's: a name that is not possible.
    #[error("'{}': {what}", name.escape_debug())]
    Name {
        /// The name.
        name: String,
        /// The names that are possible.
        what: &'static str,
    },
    /// The library that makes certificates refuses.
    #[error("the certificate cannot be made: {0}")]
    Made(#[from] rcgen::Error),
    /// No key, or only a part of what is needed, is configured.
    #[error("{0}")]
    Missing(&'static str),
}

impl KeyError {
    pub(super) fn file(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::File { path: path.to_owned(), source }
    }

    pub(super) fn content(path: &Path, what: impl Into<String>) -> Self {
        Self::Content { path: path.to_owned(), what: what.into() }
    }
}
