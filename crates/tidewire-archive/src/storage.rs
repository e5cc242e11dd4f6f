//! Storage of segments: files of a directory, or in tests a storage that loses unsynced bytes.

#[cfg(test)]
mod tests;

use std::{io, path::PathBuf};

/// A place for files, as a directory is one. Names have no folders.
pub trait Storage: Send + Sync {
    /// Its files.
    type File: StorageFile;

    /// The name of this file in messages.
    fn path(&self, name: &str) -> PathBuf;

    /// Creates a file; there must be none of this name.
    ///
    /// # Errors
    /// What the system says.
    fn create(&self, name: &str) -> io::Result<Self::File>;

    /// The same for a file that is small, and written in place.
    ///
    /// # Errors
    /// What the system says.
    fn create_small(&self, name: &str) -> io::Result<Self::File> {
        self.create(name)
    }

    /// Whether there is a file of this name.
    fn has(&self, name: &str) -> bool;

    /// Renames a file; replaces any file of that name.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// What the system says.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// A file that no longer has its name, because it or its directory was removed: another one, with what it holds. `None`: it has
    /// it.
    ///
    /// # Errors
    /// What the system says.
    fn restore(&self, name: &str, file: &mut Self::File) -> io::Result<Option<Self::File>> {
        let _ = (name, file);
        Ok(None)
    }

    /// Whether the name is this file's: neither it nor its directory was removed or replaced.
    fn is_named(&self, name: &str, file: &Self::File) -> bool {
        let _ = file;
        self.has(name)
    }

    /// Syncs names: those that were created, changed and removed before.
    ///
    /// # Errors
    /// What the system says.
    fn sync_names(&self) -> io::Result<()>;
}

/// A file of a [`Storage`]. What is written twice, after an error, is the same.
pub trait StorageFile: Send {
    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// What the system says. Some of the bytes may have been written.
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Reads what is there at `offset`, as much as `bytes` has room for. Returns how much that was.
    ///
    /// # Errors
    /// What the system says.
    fn read_at(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Makes durable what was written before. After an error nothing is known of what was written since the last time: the system may
    /// have dropped it, and will not say so again.
    ///
    /// # Errors
    /// What the system says.
    fn sync(&mut self) -> io::Result<()>;

    /// Another handle of the file: it can be synced by that while this one writes.
    ///
    /// # Errors
    /// What the system says.
    fn duplicate(&mut self) -> io::Result<Self>
    where
        Self: Sized;

    /// Ends the file after `bytes`: what was allocated beyond goes.
    ///
    /// # Errors
    /// What the system says.
    fn truncate(&mut self, bytes: u64) -> io::Result<()>;
}
