//! The directory of a sensor: locked, so that it has one sensor; and left as it was found.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FlockOperation, Mode, OFlags, flock, open},
    io::Errno,
};

use super::{error::Error, status::STATUS_SOCKET};
use crate::QUEUES_SOCKET;

/// The locked directory. Dropped, its sockets are removed, and the directory if it was made here.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    is_made: bool,
    /// Holds the lock, which needs no file: nothing is left behind by a process that is killed.
    _lock: std::os::fd::OwnedFd,
}

impl Directory {
    /// Locks the directory, made where it is not there, and removes sockets that a killed sensor left.
    pub fn lock(path: &Path) -> Result<Self, Error> {
        let refused = |error: io::Error| Error::Directory { path: path.to_owned(), error };
        let is_made = match fs::DirBuilder::new().mode(0o755).create(path) {
            // The mask of the process must not keep analyzers of other users out.
            Ok(()) => fs::set_permissions(path, fs::Permissions::from_mode(0o755)).map(|()| true).map_err(refused)?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(refused(error)),
        };
        trusted(path).map_err(refused)?;
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let lock = open(path, flags, Mode::empty()).map_err(|error| refused(error.into()))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(Error::Running { path: path.to_owned() }),
            Err(error) => return Err(refused(error.into())),
        }
        let directory = Self { path: path.to_owned(), is_made, _lock: lock };
        directory.clear();
        Ok(directory)
    }

    /// The path of the status socket.
    pub fn status_socket(&self) -> PathBuf {
        self.path.join(STATUS_SOCKET)
    }

    fn clear(&self) {
        for socket in [STATUS_SOCKET, QUEUES_SOCKET] {
            self.remove(socket);
        }
    }

    /// Removes a socket; anything else stays.
    fn remove(&self, name: &str) {
        use std::os::unix::fs::FileTypeExt as _;
        let path = self.path.join(name);
        if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.file_type().is_socket()) {
            let _ = fs::remove_file(path);
        }
    }

    /// Removes the socket of a capture that was killed.
    pub fn remove_queues_socket(&self) {
        self.remove(QUEUES_SOCKET);
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        self.clear();
        if self.is_made {
            // Where something else is in it, it stays.
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Refuses a directory in which other users could put sockets of their own.
fn trusted(path: &Path) -> io::Result<()> {
    let metadata = fs::metadata(path)?;
    let own = rustix::process::geteuid().as_raw();
    if !metadata.is_dir() {
        return Err(io::Error::other("is not a directory"));
    }
    if metadata.uid() != own && metadata.uid() != 0 {
        let owner = metadata.uid();
        return Err(io::Error::other(format!("belongs to another user ({owner}), who could replace its sockets")));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(io::Error::other("other users may write to it, and could replace its sockets; use chmod go-w"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sensor_has_it_and_nothing_is_left() {
        let above = tempfile::tempdir().expect("a folder");
        let path = above.path().join("sensor");
        let first = Directory::lock(&path).expect("it");
        assert_eq!(fs::metadata(&path).expect("it").mode() & 0o777, 0o755);
        assert!(matches!(Directory::lock(&path), Err(Error::Running { .. })));
        let stale = std::os::unix::net::UnixListener::bind(path.join(QUEUES_SOCKET)).expect("a socket");
        drop(stale);
        drop(first);
        assert!(!path.exists());
        fs::create_dir(&path).expect("made before");
        fs::write(path.join(STATUS_SOCKET), "a file").expect("no socket");
        drop(Directory::lock(&path).expect("it"));
        assert!(path.join(STATUS_SOCKET).exists(), "what is no socket stays");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("a mode");
        let error = Directory::lock(&path).expect_err("anybody may write").to_string();
        assert!(error.contains("chmod go-w"), "{error}");
        assert!(Directory::lock(Path::new("/proc/no/such")).is_err());
    }
}
