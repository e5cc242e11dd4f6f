//! Functions that the standard library has for some systems only.

#[cfg(not(unix))]
pub(super) use other::{Identity, Waited, identity, is_pipe, is_socket, open_pipe, read_at, stdin};
#[cfg(unix)]
pub(super) use unix::{Identity, Waited, identity, is_pipe, is_socket, open_pipe, read_at, stdin};

#[cfg(unix)]
mod unix {
    use std::{
        fs::{File, Metadata},
        io,
        os::{
            fd::{AsFd as _, OwnedFd},
            unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _},
        },
        path::Path,
        time::Duration,
    };

    use rustix::{
        event::{PollFd, PollFlags, Timespec, poll},
        fs::{OFlags, fcntl_getfl, fcntl_setfl},
        io::Errno,
    };

    /// Which file it is, whatever its name: device and inode.
    pub(in crate::input) type Identity = (u64, u64);

    pub(in crate::input) fn identity(metadata: &Metadata) -> Identity {
        (metadata.dev(), metadata.ino())
    }

    pub(in crate::input) fn is_socket(metadata: &Metadata) -> bool {
        metadata.file_type().is_socket()
    }

    pub(in crate::input) fn is_pipe(metadata: &Metadata) -> bool {
        metadata.file_type().is_fifo()
    }

    /// Opens a named pipe without waiting for a writer. Until one comes, it is not ready; afterwards it is read as any other.
    pub(in crate::input) fn open_pipe(path: &Path) -> io::Result<File> {
        let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)?;
        fcntl_setfl(&file, fcntl_getfl(&file)? & !OFlags::NONBLOCK)?;
        Ok(file)
    }

    pub(in crate::input) fn read_at(file: &mut File, room: &mut [u8], offset: u64) -> io::Result<usize> {
        file.read_at(room, offset)
    }

    /// Standard input without the standard library's buffer.
    pub(in crate::input) fn stdin() -> Option<File> {
        io::stdin().as_fd().try_clone_to_owned().ok().map(File::from)
    }

    /// A stream that can be waited for.
    pub(in crate::input) struct Waited(OwnedFd);

    impl Waited {
        pub(in crate::input) fn of(file: &File) -> Option<Self> {
            file.try_clone().ok().map(|file| Self(file.into()))
        }

        /// Waits until there is something to read, at most so long; false: there is nothing. What cannot be waited for is read.
        pub(in crate::input) fn wait(&self, most: Duration) -> bool {
            let timeout = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() };
            match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&timeout)) {
                Ok(ready) => ready > 0,
                Err(error) => error != Errno::INTR,
            }
        }
    }
}

#[cfg(any(not(unix), test))]
#[cfg_attr(unix, expect(dead_code, reason = "compiled here so that it compiles elsewhere"))]
mod other {
    use std::{
        fs::{File, Metadata},
        io::{self, Read as _, Seek as _, SeekFrom},
        path::Path,
        time::{Duration, SystemTime},
    };

    /// Which file it is, as far as it shows: when it was made.
    pub(in crate::input) type Identity = Option<SystemTime>;

    pub(in crate::input) fn identity(metadata: &Metadata) -> Identity {
        metadata.created().ok()
    }

    pub(in crate::input) fn is_socket(_: &Metadata) -> bool {
        false
    }

    pub(in crate::input) fn is_pipe(_: &Metadata) -> bool {
        false
    }

    pub(in crate::input) fn open_pipe(path: &Path) -> io::Result<File> {
        File::open(path)
    }

    pub(in crate::input) fn read_at(file: &mut File, room: &mut [u8], offset: u64) -> io::Result<usize> {
        file.seek(SeekFrom::Start(offset))?;
        file.read(room)
    }

    /// None: it is read through the standard library's buffer.
    pub(in crate::input) fn stdin() -> Option<File> {
        None
    }

    /// Nothing can be waited for: what cannot be is read.
    pub(in crate::input) enum Waited {}

    impl Waited {
        pub(in crate::input) fn of(_: &File) -> Option<Self> {
            None
        }

        pub(in crate::input) fn wait(&self, _: Duration) -> bool {
            match *self {}
        }
    }
}
