//! One writer for a store.
//!
//! Two files are locked: the one beside the store, which is there before the store, and the store itself. Who may write in the directory may remove
//! or replace the first while it is held, and the second lock then keeps a second writer away. It is also the same for all names of a store.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::Path,
    thread,
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, OFlags, flock, fstatfs},
    io::Errno,
};

use crate::{
    error::Error,
    opening::{LOCK, beside, beside_options, check_opened, check_owner},
};

/// How often a lock is tried again, and after which pause: a writer that has just ended may not be gone, and a program that the same
/// process is starting has its locks until it is executed.
const LOCK_ATTEMPTS: u32 = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// `f_type` of NFS, SMB (three versions) and 9P (statfs(2)): they make record locks of a lock of the whole file, and these would be in the way of
/// SQLite's.
const RECORD_LOCKS: [u64; 5] = [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x0102_1997];

/// Makes this process the only one that opens the store for writing.
///
/// # Errors
/// Another one does; the file beside the store is not this user's, or no regular file; the system's error.
pub(crate) fn lock(path: &Path) -> Result<File, Error> {
    check_owner(path)?;
    let path_of_lock = beside(path, LOCK);
    // One that is exchanged each time it was locked keeps no process away.
    for _ in 0..LOCK_ATTEMPTS {
        let file = open(&path_of_lock)?;
        wait(path, &path_of_lock, &file)?;
        if has_name(&file, &path_of_lock) {
            return Ok(file);
        }
    }
    let error = io::Error::other("another process removes or replaces it again and again");
    Err(Error::file(&path_of_lock, "locking")(error))
}

/// Opens the file beside a store, which is made where it does not exist.
pub(crate) fn open(path_of_lock: &Path) -> Result<File, Error> {
    let file = beside_options().read(true).open(path_of_lock).map_err(Error::file(path_of_lock, "opening"))?;
    check_opened(path_of_lock, &file)?;
    Ok(file)
}

/// Locks the store itself, if it is there. The handle must be closed after the connection: to close any of a file takes back SQLite's locks.
///
/// # Errors
/// Another writer has locked it; the system's error.
pub(crate) fn lock_store(path: &Path) -> Result<Option<File>, Error> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = match OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(Error::file(path, "opening"))?,
    };
    if fstatfs(&file).is_ok_and(|system| RECORD_LOCKS.contains(&(system.f_type as u64))) {
        return Ok(None);
    }
    wait(path, path, &file)?;
    Ok(Some(file))
}

/// Whether a path is still that of an open file.
pub(crate) fn has_name(file: &File, path: &Path) -> bool {
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    let found = fs::symlink_metadata(path).map(identity);
    file.metadata().map(identity).is_ok_and(|own| found.is_ok_and(|found| found == own))
}

/// Locks a file of the store at this path.
fn wait(path: &Path, locked: &Path, file: &File) -> Result<(), Error> {
    let mut attempts = LOCK_ATTEMPTS;
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) if attempts > 0 => {
                attempts -= 1;
                thread::sleep(LOCK_PAUSE);
            }
            Err(Errno::WOULDBLOCK) => return Err(Error::Locked { path: path.to_owned() }),
            Err(error) => return Err(Error::file(locked, "locking")(error.into())),
        }
    }
}
