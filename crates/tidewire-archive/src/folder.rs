//! Directories of the file system as places for segments.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use crate::{FolderFile, Storage};

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
}

impl Storage for Folder {
    type File = FolderFile;

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn create(&self, name: &str) -> io::Result<FolderFile> {
        // Packets are for their recorder's group at most.
        let path = self.path(name);
        let file = OpenOptions::new().create_new(true).read(true).write(true).mode(0o640).open(&path)?;
        Ok(FolderFile::new(file, &path))
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
