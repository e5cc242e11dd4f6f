//! Space for a segment to come, where files are memory: finding pages takes three quarters of the time of writing them there. Done on
//! another thread, for another file, it delays no write.

use std::{
    fs::File,
    io,
    os::fd::{AsFd as _, AsRawFd as _, OwnedFd},
};

use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags, fallocate, fstatfs, linkat, openat};

/// `f_type` of a tmpfs (statfs(2)).
const TMPFS_MAGIC: u64 = 0x0102_1994;
/// Bytes allocated between two looks at whether the file is wanted already: ten milliseconds.
const PIECE_BYTES: u64 = 32 << 20;
/// As many times as much must be free: others write there too.
const FREE_MIN: u64 = 2;

/// A file without a name, with space: the next segment. Nothing is left of it if it does not become one.
#[derive(Debug)]
pub struct Reserve(File);

impl Reserve {
    /// Allocates so many bytes in a directory as long as `goes_on` says so. `None`: it is on a disk, where that gains nothing, or there is
    /// little space.
    pub(crate) fn new(directory: &OwnedFd, bytes: u64, goes_on: impl Fn() -> bool) -> Option<Self> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let file: File = openat(directory, ".", flags, Mode::from_raw_mode(0o640)).ok()?.into();
        let system = fstatfs(&file).ok()?;
        let free = u64::try_from(system.f_bsize).ok()?.saturating_mul(system.f_bavail);
        if system.f_type as u64 != TMPFS_MAGIC || free / FREE_MIN < bytes {
            return None;
        }
        let mut done = 0;
        while done < bytes && goes_on() {
            let piece = PIECE_BYTES.min(bytes - done);
            // Its length stays 0: no reader sees what was not written.
            fallocate(&file, FallocateFlags::KEEP_SIZE, done, piece).ok()?;
            done += piece;
        }
        Some(Self(file))
    }

    /// Links it under a name that no file of a directory has.
    pub(crate) fn link(&self, directory: &OwnedFd, name: &str) -> io::Result<File> {
        // The only way to name such a file without privileges (open(2), O_TMPFILE).
        let own = format!("/proc/self/fd/{}", self.0.as_fd().as_raw_fd());
        linkat(CWD, own, directory, name, AtFlags::SYMLINK_FOLLOW)?;
        self.0.try_clone()
    }
}

/// Whether files of a directory are memory.
pub(crate) fn is_in_memory(directory: &OwnedFd) -> bool {
    fstatfs(directory).is_ok_and(|system| system.f_type as u64 == TMPFS_MAGIC)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

    use super::*;
    use crate::{Directory, Settings, folder::opened};

    fn folder(parent: &str) -> Option<tempfile::TempDir> {
        tempfile::tempdir_in(parent).ok().filter(|folder| is_in_memory(&opened(folder.path()).expect("open")))
    }

    #[test]
    fn what_was_reserved_and_not_written_is_free_again() {
        let Some(folder) = folder("/dev/shm") else {
            eprintln!("skipped: /dev/shm is no file system in memory, or closed");
            return;
        };
        let directory = Directory::open(folder.path(), &Settings::default(), 1).expect("a directory");
        let reserve = directory.storage().reserve(3 << 20, || true).expect("space");
        let name = directory.begin(1, 0);
        let mut writer = directory.create_with(&name, Some(&reserve)).expect("a segment");
        let found = || fs::metadata(writer_path(folder.path(), &name)).expect("its file");
        assert_eq!((found().len(), found().blocks() * 512), (0, 3 << 20), "it is the file that was reserved");
        writer.write(&[7; 5000]).expect("written");
        assert_eq!(writer.finish().expect("finished").0, 5000);
        assert_eq!((found().len(), found().blocks() * 512), (5000, 8192));
    }

    fn writer_path(directory: &Path, name: &crate::SegmentName) -> std::path::PathBuf {
        directory.join(name.hidden())
    }

    #[test]
    fn a_file_that_is_in_the_way_is_replaced() {
        let Some(folder) = folder("/dev/shm") else {
            eprintln!("skipped: /dev/shm is no file system in memory, or closed");
            return;
        };
        let directory = Directory::open(folder.path(), &Settings::default(), 1).expect("a directory");
        let reserve = directory.storage().reserve(1 << 20, || true).expect("space");
        let name = directory.begin(1, 0);
        fs::write(writer_path(folder.path(), &name), b"an attempt that failed").expect("written");
        directory.create_with(&name, Some(&reserve)).expect("a segment").write(b"new").expect("written");
        assert_eq!(fs::read(writer_path(folder.path(), &name)).expect("read"), b"new");
    }

    #[test]
    fn nothing_is_reserved_on_a_disk_or_where_there_is_no_room() {
        let root = opened(Path::new("/")).expect("open");
        if !is_in_memory(&root) {
            assert!(Reserve::new(&root, 1 << 20, || true).is_none());
        }
        let Some(folder) = folder("/dev/shm") else { return };
        let handle = opened(folder.path()).expect("open");
        assert!(Reserve::new(&handle, 1 << 60, || true).is_none());
        let empty = Reserve::new(&handle, 1 << 20, || false).expect("a file");
        assert_eq!(empty.0.metadata().expect("known").blocks(), 0, "it was wanted before");
    }
}
