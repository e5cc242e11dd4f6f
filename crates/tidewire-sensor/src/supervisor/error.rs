//! Why a sensor does not begin.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use super::status;

/// Why there is no sensor.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another one has the directory.
    #[error("{}: a sensor runs already{}", path.display(), owner(path))]
    Running {
        /// The directory.
        path: PathBuf,
    },
    /// The directory cannot be used.
    #[error("{}: {error}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// An analyzer is to run as another user, which this process may not bring about.
    #[error("analyzer {analyzer} is to run as user {user}")]
    User {
        /// Its name.
        analyzer: String,
        /// The user.
        user: u32,
    },
    /// The system refuses something else.
    #[error("{what}: {error}")]
    System {
        /// What.
        what: &'static str,
        /// Why.
        error: io::Error,
    },
}

impl Error {
    /// A remedy.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Running { .. } => Some("stop it, or use another --directory"),
            Self::Directory { error, .. } if error.kind() == io::ErrorKind::PermissionDenied => {
                Some("run it as root, or use --directory with a directory of yours")
            }
            Self::Directory { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                Some("make the directory above it")
            }
            Self::User { .. } => Some("run the sensor as root, or with cap_setuid and cap_setgid"),
            _ => None,
        }
    }
}

/// The process of the sensor in a directory, as far as it says.
fn owner(path: &Path) -> impl fmt::Display {
    status::ask(path).map_or_else(|_| String::new(), |status| format!(", process {}", status.process))
}

/// An error of the system while doing this.
pub(super) fn system(what: &'static str) -> impl Fn(io::Error) -> Error {
    move |error| Error::System { what, error }
}
