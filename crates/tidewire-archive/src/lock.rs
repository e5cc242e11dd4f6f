//! The lock of a directory: it has one recorder.

use std::{fs::File, path::Path, thread, time::Duration};

use rustix::{
    fs::{FlockOperation, Mode, OFlags, flock, open},
    io::Errno,
};

use crate::Error;

/// How often a lock is tried again, and after which pause: a recorder that has just ended may not be gone, and a program that the
/// same process is starting has its locks until it is executed.
const LOCK_ATTEMPTS: u32 = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Opens and locks a directory.
pub(crate) fn locked(path: &Path) -> Result<File, Error> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
    let lock = open(path, flags, Mode::empty()).map_err(|error| Error::io(path, "opening")(error.into()))?;
    let mut attempts = LOCK_ATTEMPTS;
    loop {
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(File::from(lock)),
            Err(Errno::WOULDBLOCK) if attempts > 0 => {
                attempts -= 1;
                thread::sleep(LOCK_PAUSE);
            }
            Err(Errno::WOULDBLOCK) => return Err(Error::Locked { path: path.to_owned() }),
            Err(error) => return Err(Error::io(path, "locking")(error.into())),
        }
    }
}

/// Whether a recorder has a directory.
pub(crate) fn is_locked(path: &Path) -> bool {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
    // A recorder that begins at this moment tries again.
    open(path, flags, Mode::empty())
        .is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK))
}
