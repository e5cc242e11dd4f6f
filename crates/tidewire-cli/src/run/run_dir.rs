//! The directory of a run, for counters and the library's names, with a random name.
//!
//! Its parent directories are often writable for all users (`/dev/shm`, `/tmp`), and the run may be root's. So no name is
//! predictable, no path is followed through a link, and only what was opened and checked is removed.

use std::{
    env, io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, mkdirat, open, openat, statat,
    unlinkat,
};
use tidewire_types::{hex, random::random_bytes};

/// Prefix of directory names; 128 random bits follow.
const PREFIX: &str = "tidewire-run-";
/// The file with the counters.
pub const COUNTERS: &str = "counters";
/// The folder with the library under libpcap's names.
pub const NAMES: &str = "lib";
/// Attempts to create one: another run may remove a new directory as abandoned before it is locked.
const TRIES: u32 = 16;

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);

/// A run's directory, removed on drop. Its lock shows other runs that it is in use.
#[derive(Debug)]
pub struct RunDir {
    pub path: PathBuf,
    name: String,
    parent: OwnedFd,
    /// Holds the lock.
    _folder: OwnedFd,
}

impl RunDir {
    /// Creates the directory in shared memory, and removes those that killed runs of this user left there.
    ///
    /// # Errors
    /// No parent directory is suitable: the last error.
    pub fn make() -> io::Result<Self> {
        let own = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_absolute());
        let mut result = Err(io::ErrorKind::NotFound.into());
        for above in own.into_iter().chain([PathBuf::from("/dev/shm"), env::temp_dir()]) {
            result = Self::make_in(&above);
            if result.is_ok() {
                break;
            }
        }
        result
    }

    fn make_in(above: &Path) -> io::Result<Self> {
        let above = above.canonicalize()?;
        trusted(&above)?;
        let parent = open(&above, FOLDER, Mode::empty())?;
        sweep(&parent);
        for _ in 0..TRIES {
            let name = random_name()?;
            // Readable for others: programs change their user before they load libraries.
            mkdirat(&parent, &name, Mode::from_raw_mode(0o755))?;
            let Ok(folder) = openat(&parent, &name, FOLDER, Mode::empty()) else { continue };
            let is_ours = flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() && exists(&folder);
            if is_ours {
                return Ok(Self { path: above.join(&name), name, parent, _folder: folder });
            }
        }
        Err(io::Error::other(format!("{}: another process removes what is made there", above.display())))
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        remove(&self.parent, &self.name);
    }
}

fn random_name() -> io::Result<String> {
    random_bytes::<16>().map(|random| format!("{PREFIX}{}", hex::encode(&random)))
}

/// Whether a directory still has a name.
fn exists(folder: &OwnedFd) -> bool {
    fstat(folder).is_ok_and(|stat| stat.st_nlink > 0)
}

/// Refuses a directory whose entries other users than this one and root could replace: programs load libraries from there. A
/// sticky directory may be writable for all: entries belong to their creators.
fn trusted(folder: &Path) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    let foreign_root = foreign_root();
    for above in folder.ancestors() {
        let stat = statat(CWD, above, AtFlags::SYMLINK_NOFOLLOW)?;
        let is_owned = stat.st_uid == 0 || stat.st_uid == own || Some(stat.st_uid) == foreign_root;
        let is_closed = stat.st_mode & 0o022 == 0 || stat.st_mode & 0o1000 != 0;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory || !is_owned || !is_closed {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!(
                    "{}: another user could replace what is made there; name a folder of your own in XDG_RUNTIME_DIR",
                    above.display()
                ),
            ));
        }
    }
    Ok(())
}

/// The user that seems to own root's files in a user namespace without the host's root (user_namespaces(7)); `None` elsewhere.
fn foreign_root() -> Option<u32> {
    let map = std::fs::read_to_string("/proc/self/uid_map").ok()?;
    let is_whole = map.lines().any(|line| line.split_whitespace().take(2).eq(["0", "0"]));
    let overflow = std::fs::read_to_string("/proc/sys/kernel/overflowuid").ok()?;
    overflow.trim().parse().ok().filter(|_| !is_whole)
}

/// Removes directories with our names that killed runs of this user left: those without a lock.
fn sweep(parent: &OwnedFd) {
    let own = rustix::process::geteuid().as_raw();
    let Ok(entries) = Dir::read_from(parent) else { return };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().to_str() else { continue };
        let is_name = name.strip_prefix(PREFIX).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
        // Links and other files are not opened.
        let Some(folder) = openat(parent, name, FOLDER, Mode::empty()).ok().filter(|_| is_name) else { continue };
        let is_own = fstat(&folder).is_ok_and(|stat: Stat| stat.st_uid == own);
        if is_own && flock(&folder, FlockOperation::NonBlockingLockExclusive).is_ok() {
            remove(parent, name);
        }
    }
}

/// Removes a run's directory and the files that runs create; with other files in it, it stays.
fn remove(parent: &OwnedFd, name: &str) {
    let Ok(folder) = openat(parent, name, FOLDER, Mode::empty()) else { return };
    let _ = unlinkat(&folder, COUNTERS, AtFlags::empty());
    if let Ok(names) = openat(&folder, NAMES, FOLDER, Mode::empty()) {
        for name in super::library::NAMES {
            let _ = unlinkat(&names, *name, AtFlags::empty());
        }
        let _ = unlinkat(&folder, NAMES, AtFlags::REMOVEDIR);
    }
    // If another directory has this name meanwhile, it is removed only if it is empty.
    let _ = unlinkat(parent, name, AtFlags::REMOVEDIR);
}
