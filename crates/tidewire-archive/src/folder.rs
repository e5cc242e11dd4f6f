//! Directories of the file system as places for segments.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use crate::{FolderFile, Reserve, Storage, reserve::is_in_memory};

/// Bytes of a file that are copied at once where it lost its name.
const RESTORED_AT_ONCE: usize = 1 << 20;

/// A directory of the file system.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The directory at this path, which exists.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Its path.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.0
    }

    /// Whether it is worth the while to [`reserve`](Self::reserve) space in it: its files are memory.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        is_in_memory(&self.0)
    }

    /// Allocates so many bytes for a segment to come, as long as `goes_on` says so. `None`: its files are no memory, or little is free.
    #[must_use]
    pub fn reserve(&self, bytes: u64, goes_on: impl Fn() -> bool) -> Option<Reserve> {
        Reserve::new(&self.0, bytes, goes_on)
    }

    /// Creates a file: what was reserved, if that is in this directory.
    pub(crate) fn create_with(&self, name: &str, reserve: Option<&Reserve>) -> io::Result<FolderFile> {
        let path = self.path(name);
        match reserve.map(|reserve| reserve.link(&path)) {
            Some(Ok(file)) => Ok(FolderFile::plain(file)),
            Some(Err(error)) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // The directory was replaced, or this system names no such file.
            Some(Err(_)) | None => self.create(name),
        }
    }
}

/// A file that was not there. Packets are for their recorder's group at most.
fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().create_new(true).read(true).write(true).mode(0o640).open(path)
}

impl Storage for Folder {
    type File = FolderFile;

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn create(&self, name: &str) -> io::Result<FolderFile> {
        let path = self.path(name);
        Ok(FolderFile::new(new_file(&path)?, &path))
    }

    fn create_small(&self, name: &str) -> io::Result<FolderFile> {
        Ok(FolderFile::plain(new_file(&self.path(name))?))
    }

    fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    fn restore(&self, name: &str, file: &mut FolderFile) -> io::Result<Option<FolderFile>> {
        let path = self.path(name);
        let file = file.written()?;
        let own = file.metadata()?;
        match fs::symlink_metadata(&path) {
            Ok(found) if (found.dev(), found.ino()) == (own.dev(), own.ino()) => return Ok(None),
            // One that could not be restored to its end.
            Ok(_) => fs::remove_file(&path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let restored = new_file(&path)?;
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
        match (fs::symlink_metadata(self.path(name)), file.metadata()) {
            (Ok(found), Ok(own)) => (found.dev(), found.ino()) == (own.dev(), own.ino()),
            _ => false,
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        File::open(&self.0)?.sync_all()
    }
}
