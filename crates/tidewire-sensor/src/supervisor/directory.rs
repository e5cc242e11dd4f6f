//! The directory of a sensor: locked, so that it has one sensor; and left as it was found.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FlockOperation, Mode, OFlags, flock, mkdirat, openat, statat},
    io::Errno,
};
use tidewire_outputs::place::links::{self, Missing};

use super::{error::Error, status::STATUS_SOCKET};
use crate::{EVENTS_SOCKET, QUEUES_SOCKET, RECORD_SOCKET};

/// How often a directory is made that others remove.
const ATTEMPTS: usize = 16;

/// The locked directory. Dropped, its sockets are removed, and the directory if it was made here.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    is_made: bool,
    /// Holds the lock, which needs no file: nothing is left behind by a process that is killed.
    _lock: fs::File,
}

impl Directory {
    /// Locks the directory, made where it is not there, and removes sockets that a killed sensor left.
    pub fn lock(path: &Path) -> Result<Self, Error> {
        let refused = |error: io::Error| Error::Directory { path: path.to_owned(), error };
        // Of the last component, no link is followed.
        let (Some(above), Some(name)) = (parent(path), path.file_name()) else {
            return Err(refused(io::ErrorKind::InvalidFilename.into()));
        };
        let (above, shown) = links::folder(above, Missing::Refuse).map_err(refused)?;
        let path = &*shown.join(name);
        is_closed(&shown).map_err(refused)?;
        for _ in 0..ATTEMPTS {
            let is_made = match mkdirat(&above, name, Mode::from_raw_mode(0o755)) {
                Ok(()) => true,
                Err(Errno::EXIST) => false,
                Err(error) => return Err(refused(error.into())),
            };
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::RDONLY;
            let lock = match openat(&above, name, flags, Mode::empty()) {
                Ok(lock) => fs::File::from(lock),
                // Its sensor has just ended, and removed it.
                Err(Errno::NOENT) => continue,
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    return Err(refused(io::Error::other("is not a directory, or a symbolic link")));
                }
                Err(error) => return Err(refused(error.into())),
            };
            let found = lock.metadata().map_err(refused)?;
            trusted(&found).map_err(refused)?;
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Err(Error::Running { path: path.to_owned() }),
                Err(error) => return Err(refused(error.into())),
            }
            // The locked directory may have been removed meanwhile, and another one be there.
            let now = statat(&above, name, AtFlags::SYMLINK_NOFOLLOW);
            if !now.is_ok_and(|now| (now.st_dev, now.st_ino) == (found.dev(), found.ino())) {
                continue;
            }
            if is_made {
                // The mask of the process must not keep analyzers of other users out.
                lock.set_permissions(fs::Permissions::from_mode(0o755)).map_err(refused)?;
            }
            let directory = Self { path: path.to_owned(), is_made, _lock: lock };
            directory.clear();
            return Ok(directory);
        }
        Err(refused(io::Error::other("is removed again and again by others")))
    }

    /// The path of the status socket.
    pub fn status_socket(&self) -> PathBuf {
        self.path.join(STATUS_SOCKET)
    }

    fn clear(&self) {
        for socket in [STATUS_SOCKET, QUEUES_SOCKET, EVENTS_SOCKET, RECORD_SOCKET] {
            self.remove(socket);
        }
    }

    /// Removes a socket, as that of a part that was killed; anything else stays.
    pub fn remove(&self, name: &str) {
        use std::os::unix::fs::FileTypeExt as _;
        let path = self.path.join(name);
        if fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.file_type().is_socket()) {
            let _ = fs::remove_file(path);
        }
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
fn trusted(metadata: &fs::Metadata) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    if metadata.uid() != own && metadata.uid() != 0 {
        let owner = metadata.uid();
        return Err(io::Error::other(format!("belongs to another user ({owner}), who could replace its sockets")));
    }
    if metadata.mode() & 0o022 != 0 {
        return Err(io::Error::other("other users may write to it, and could replace its sockets; use chmod go-w"));
    }
    Ok(())
}

/// The folder that a path's last component is in.
fn parent(path: &Path) -> Option<&Path> {
    path.parent().map(|parent| if parent.as_os_str().is_empty() { Path::new(".") } else { parent })
}

/// Refuses a folder on whose path other users could put another directory in the place of ours.
fn is_closed(folder: &Path) -> io::Result<()> {
    let (own, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let folder = folder.canonicalize()?;
    for folder in folder.ancestors() {
        let metadata = fs::metadata(folder)?;
        let (owner, mode) = (metadata.uid(), metadata.mode());
        let is_of_others = owner != own && owner != 0;
        // In a sticky one no other user can move our files.
        let is_open = mode & 0o1000 == 0
            && (mode & 0o002 != 0 || mode & 0o020 != 0 && metadata.gid() != 0 && metadata.gid() != group);
        if is_of_others || is_open {
            let folder = folder.display();
            let what = format!("other users may write to {folder}, and could replace it; name another --directory");
            return Err(io::Error::other(what));
        }
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

    #[test]
    fn what_others_can_replace_is_refused() {
        let above = tempfile::tempdir().expect("a folder");
        let open = above.path().join("open");
        fs::create_dir(&open).expect("a folder");
        fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).expect("a mode");
        let error = Directory::lock(&open.join("deep")).expect_err("anybody may write above").to_string();
        assert!(error.contains("other users may write to"), "{error}");
        fs::set_permissions(&open, fs::Permissions::from_mode(0o1777)).expect("a mode");
        drop(Directory::lock(&open.join("deep")).expect("no other user may move it"));
        let (real, link) = (above.path().join("real"), above.path().join("link"));
        fs::create_dir(&real).expect("a folder");
        std::os::unix::fs::symlink(&real, &link).expect("a link");
        for end in ["", "/", "/."] {
            assert!(Directory::lock(&above.path().join(format!("link{end}"))).is_err(), "{end}");
        }
        // Another user's link before the last component, in a folder of all.
        std::os::unix::fs::symlink(&real, open.join("link")).expect("a link");
        drop(Directory::lock(&open.join("link/deep")).expect("one's own link"));
        if std::os::unix::fs::lchown(open.join("link"), Some(12_345), None).is_err() {
            return println!("skipped: links of other users need root");
        }
        let error = Directory::lock(&open.join("link/deep")).expect_err("another user's link").to_string();
        assert!(error.contains("is a link of another user (12345)"), "{error}");
    }

    #[test]
    fn sensors_that_follow_each_other_never_share_it() {
        let above = tempfile::tempdir().expect("a folder");
        let path = above.path().join("sensor");
        let holders = std::sync::atomic::AtomicUsize::new(0);
        let of_one = || {
            let mut locked = 0;
            for _ in 0..2000 {
                if let Ok(directory) = Directory::lock(&path) {
                    use std::sync::atomic::Ordering::SeqCst;
                    assert_eq!(holders.fetch_add(1, SeqCst), 0, "two have it");
                    assert!(path.exists());
                    locked += 1;
                    holders.fetch_sub(1, SeqCst);
                    drop(directory);
                }
            }
            locked
        };
        let locked: usize = std::thread::scope(|scope| {
            let all: Vec<_> = (0..3).map(|_| scope.spawn(of_one)).collect();
            all.into_iter().map(|one| one.join().expect("no panic")).sum()
        });
        assert!(locked > 0);
        // One that another one made and could not lock stays: it was found, not made.
        drop(Directory::lock(&path).expect("it is not locked"));
    }
}
