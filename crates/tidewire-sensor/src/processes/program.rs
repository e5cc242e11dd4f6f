//! Finds programs as a shell does.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::PathBuf,
};

/// The caller's: a program that cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// A path to a directory.
    #[error("{}: is a directory", path.display())]
    Directory {
        /// The path.
        path: PathBuf,
    },
    /// A file that its owner did not make executable.
    #[error("{}: is not executable; use chmod +x", path.display())]
    NotExecutable {
        /// Its path.
        path: PathBuf,
    },
    /// A file that the system does not show.
    #[error("{}: cannot be run: {source}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A name that no folder of `PATH` has.
    #[error("{}: program not found in PATH", name.to_string_lossy())]
    NotFound {
        /// The name.
        name: OsString,
    },
}

/// The executable file of a program: a path, or a name that is looked up in `PATH`.
///
/// # Errors
/// It cannot be run.
pub fn find(name: &OsStr) -> Result<PathBuf, ProgramError> {
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => Err(ProgramError::Directory { path }),
            Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => Err(ProgramError::NotExecutable { path }),
            Ok(_) => Ok(path),
            Err(source) => Err(ProgramError::File { path, source }),
        };
    }
    let paths = env::var_os("PATH").unwrap_or_default();
    let is_program = |path: &PathBuf| {
        fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    let found = env::split_paths(&paths).map(|folder| folder.join(name)).find(is_program);
    found.ok_or_else(|| ProgramError::NotFound { name: name.to_owned() })
}
