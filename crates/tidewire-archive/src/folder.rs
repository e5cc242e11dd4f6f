//! Directories of the file system as places for segments.
//!
//! A directory is opened once, and its files are accessed by its handle: whatever gets its name meanwhile, and whatever another user puts
//! on the way there, nothing is written elsewhere.

use std::{
    fs::File,
    io,
    os::{
        fd::OwnedFd,
        unix::fs::{FileExt as _, MetadataExt as _},
    },
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat, fstat, fsync, open, openat, renameat, statat, unlinkat};

use crate::{FolderFile, Reserve, Storage, read_at::no_link, reserve::is_in_memory};

/// Bytes of a file that are copied at once where it lost its name.
const RESTORED_AT_ONCE: usize = 1 << 20;

/// A directory of the file system.
#[derive(Clone, Debug)]
pub struct Folder {
    /// For messages.
    path: PathBuf,
    /// Another one once the directory was removed and made again.
    handle: Arc<Mutex<Arc<OwnedFd>>>,
}

impl Folder {
    /// Opens the directory at this path, which exists.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Self> {
        let path = path.into();
        Ok(Self::of(opened(&path)?, path))
    }

    /// A directory that is open (for reading). `path`: for messages.
    pub(crate) fn of(handle: OwnedFd, path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), handle: Arc::new(Mutex::new(Arc::new(handle))) }
    }

    /// The open directory.
    pub(crate) fn handle(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.handle.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Goes on in another directory.
    pub(crate) fn replace(&self, other: &Self) {
        *self.handle.lock().unwrap_or_else(PoisonError::into_inner) = other.handle();
    }

    /// Device and number of the directory.
    pub(crate) fn identity(&self) -> io::Result<(u64, u64)> {
        let found = fstat(self.handle())?;
        Ok((found.st_dev, found.st_ino))
    }

    /// Its path.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.path
    }

    /// Whether it is worth the while to [`reserve`](Self::reserve) space in it: its files are memory.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        is_in_memory(&self.handle())
    }

    /// Allocates so many bytes for a segment to come, as long as `goes_on` says so. `None`: its files are no memory, or little is free.
    #[must_use]
    pub fn reserve(&self, bytes: u64, goes_on: impl Fn() -> bool) -> Option<Reserve> {
        Reserve::new(&self.handle(), bytes, goes_on)
    }

    /// Creates a file: what was reserved, if that is in this directory.
    pub(crate) fn create_with(&self, name: &str, reserve: Option<&Reserve>) -> io::Result<FolderFile> {
        match reserve.map(|reserve| reserve.link(&self.handle(), name)) {
            Some(Ok(file)) => Ok(FolderFile::plain(file)),
            Some(Err(error)) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // The directory was replaced, or this system names no such file.
            Some(Err(_)) | None => self.create(name),
        }
    }

    /// A file that was not there. Packets are for their recorder's group at most.
    fn new_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
        Ok(openat(self.handle(), name, flags, Mode::from_raw_mode(0o640))?.into())
    }

    /// Opens a file to write to it; `is_made`: which is made where it is not there.
    pub(crate) fn open_to_write(&self, name: &str, is_made: bool) -> io::Result<File> {
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
        let flags = if is_made { flags | OFlags::CREATE } else { flags };
        let file = openat(self.handle(), name, flags, Mode::from_raw_mode(0o640));
        file.map(File::from).map_err(|error| no_link(error.into()))
    }

    /// Opens a regular file, as [`open_regular`](crate::read_at::open_regular) does.
    pub(crate) fn open_regular(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        let file = openat(self.handle(), name, flags, Mode::empty());
        crate::read_at::regular(file.map(File::from).map_err(|error| no_link(error.into()))?)
    }

    /// Metadata of a file, or of a link.
    pub(crate) fn stat(&self, name: &str) -> io::Result<Stat> {
        Ok(statat(self.handle(), name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Bytes of a regular file; `None`: there is none of this name.
    pub(crate) fn bytes_of(&self, name: &str) -> Option<u64> {
        let found =
            self.stat(name).ok().filter(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile);
        found.and_then(|found| u64::try_from(found.st_size).ok())
    }

    /// Names of its files, in no order; others than UTF-8 are left out.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(self.handle())? {
            let entry = entry?;
            names
                .extend(entry.file_name().to_str().ok().filter(|name| !matches!(*name, "." | "..")).map(str::to_owned));
        }
        Ok(names)
    }
}

/// Opens a directory.
pub(crate) fn opened(path: &Path) -> io::Result<OwnedFd> {
    Ok(open(path, OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY, Mode::empty())?)
}

impl Storage for Folder {
    type File = FolderFile;

    fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn create(&self, name: &str) -> io::Result<FolderFile> {
        Ok(FolderFile::new(self.new_file(name)?, &self.handle(), name))
    }

    fn create_small(&self, name: &str) -> io::Result<FolderFile> {
        Ok(FolderFile::plain(self.new_file(name)?))
    }

    fn has(&self, name: &str) -> bool {
        self.stat(name).is_ok()
    }

    fn restore(&self, name: &str, file: &mut FolderFile) -> io::Result<Option<FolderFile>> {
        let file = file.written()?;
        let own = file.metadata()?;
        match self.stat(name) {
            Ok(found) if (found.st_dev, found.st_ino) == (own.dev(), own.ino()) => return Ok(None),
            // One that could not be restored to its end.
            Ok(_) => self.remove(name)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let restored = self.new_file(name)?;
        let (mut piece, mut at) = (vec![0; RESTORED_AT_ONCE], 0);
        loop {
            let bytes = file.read_at(&mut piece, at)?;
            let Some(read) = piece.get(..bytes).filter(|read| !read.is_empty()) else { break };
            restored.write_all_at(read, at)?;
            at += bytes as u64;
        }
        restored.sync_data()?;
        Ok(Some(FolderFile::plain(restored)))
    }

    fn is_named(&self, name: &str, file: &FolderFile) -> bool {
        match (self.stat(name), file.metadata()) {
            (Ok(found), Ok(own)) => (found.st_dev, found.st_ino) == (own.dev(), own.ino()),
            _ => false,
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let handle = self.handle();
        Ok(renameat(&*handle, from, &*handle, to)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(self.handle(), name, AtFlags::empty())?)
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(fsync(self.handle())?)
    }
}
