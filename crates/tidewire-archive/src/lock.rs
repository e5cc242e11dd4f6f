//! The lock of a directory: it has one recorder.

use std::{os::fd::OwnedFd, path::Path, thread, time::Duration};

use rustix::{
    fs::{FlockOperation, flock},
    io::Errno,
};

use crate::{Error, folder::opened};

/// How often a lock is tried again, and after which pause: a recorder that has just ended may not be gone, and a program that the
/// same process is starting has its locks until it is executed.
const LOCK_ATTEMPTS: u32 = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// Locks an open directory. `path`: for messages.
pub(crate) fn locked(directory: &OwnedFd, path: &Path) -> Result<(), Error> {
    let mut attempts = LOCK_ATTEMPTS;
    loop {
        match flock(directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) if attempts > 0 => {
                attempts -= 1;
                thread::sleep(LOCK_PAUSE);
            }
            Err(Errno::WOULDBLOCK) => {
                return Err(Error::Locked { path: path.to_owned() });
            }
            Err(error) => return Err(Error::io(path, "locking")(error.into())),
        }
    }
}

/// Whether a recorder has a directory.
pub(crate) fn is_locked(path: &Path) -> bool {
    // A recorder that begins at this moment tries again.
    opened(path).is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK))
}
