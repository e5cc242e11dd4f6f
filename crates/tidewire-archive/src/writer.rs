//! Writes the bytes of one segment: through compression and encryption, with a digest, durable when asked for.

use crate::{Digest, Error, Recipients, SegmentName, Storage, StorageFile, transform::Transform};

/// A segment that is being written, under its hidden name. After an error nothing is lost: what was taken is held in memory, and the
/// next call tries again.
pub struct SegmentWriter<F: StorageFile> {
    file: F,
    path: std::path::PathBuf,
    hidden: String,
    transform: Transform,
    digest: Digest,
    /// Bytes of the file that were written, and those that were not yet.
    stored: u64,
    pending: Vec<u8>,
    /// Plain bytes that were taken, and those that a sync made durable.
    plain: u64,
    durable: u64,
}

impl<F: StorageFile> std::fmt::Debug for SegmentWriter<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentWriter").field("path", &self.path).field("stored", &self.stored).finish_non_exhaustive()
    }
}

impl<F: StorageFile> SegmentWriter<F> {
    /// Creates the file of a segment.
    ///
    /// # Errors
    /// What the system says.
    pub fn create<S: Storage<File = F>>(
        storage: &S,
        name: &SegmentName,
        recipients: Option<&Recipients>,
    ) -> Result<Self, Error> {
        let hidden = name.hidden();
        let path = storage.path(&hidden);
        let mut pending = Vec::new();
        let transform = Transform::new(name.compression, recipients, &mut pending)?;
        let created = match storage.create(&hidden) {
            // Numbers are given once: an earlier attempt failed, and so did its removal.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                storage.remove(&hidden).and_then(|()| storage.create(&hidden))
            }
            created => created,
        };
        let file = created.map_err(Error::io(&path, "creating"))?;
        // What is synced later is of no use without its name.
        if let Err(error) = storage.sync_names() {
            // The next attempt creates it again.
            let _ = storage.remove(&hidden);
            return Err(Error::io(&path, "syncing its name")(error));
        }
        Ok(Self { file, path, hidden, transform, digest: Digest::new(), stored: 0, pending, plain: 0, durable: 0 })
    }

    /// Plain bytes so far: where the next block lies.
    #[must_use]
    pub fn plain_bytes(&self) -> u64 {
        self.plain
    }

    /// Plain bytes from the beginning on that are there after the power fails.
    #[must_use]
    pub fn durable_bytes(&self) -> u64 {
        self.durable
    }

    /// Writes what follows: whole blocks or parts of them.
    ///
    /// # Errors
    /// What the system says; nothing of `bytes` was taken.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.write_pending()?;
        if self.transform.is_plain() {
            self.file.write_at(bytes, self.stored).map_err(Error::io(&self.path, "writing"))?;
            self.digest.update(bytes);
            self.stored += bytes.len() as u64;
            self.plain += bytes.len() as u64;
            return Ok(());
        }
        self.transform.push(bytes, &mut self.pending)?;
        self.plain += bytes.len() as u64;
        // What fails here is tried again by the next call.
        let _ = self.write_pending();
        Ok(())
    }

    fn write_pending(&mut self) -> Result<(), Error> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.file.write_at(&self.pending, self.stored).map_err(Error::io(&self.path, "writing"))?;
        self.digest.update(&self.pending);
        self.stored += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    /// Makes durable what was written, and returns how many plain bytes from the beginning on that are.
    ///
    /// # Errors
    /// What the system says.
    pub fn sync(&mut self) -> Result<u64, Error> {
        self.write_pending()?;
        self.transform.flush(&mut self.pending)?;
        self.write_pending()?;
        self.file.sync().map_err(Error::io(&self.path, "syncing"))?;
        self.durable = self.plain;
        Ok(self.durable)
    }

    /// Writes all that was taken, and returns another handle of the file: [syncing](StorageFile::sync) it, on another thread, makes
    /// durable what was taken before.
    ///
    /// # Errors
    /// What the system says.
    pub fn flush(&mut self) -> Result<F, Error> {
        self.write_pending()?;
        self.transform.flush(&mut self.pending)?;
        self.write_pending()?;
        self.file.duplicate().map_err(Error::io(&self.path, "syncing"))
    }

    /// Gives the file its hidden name again, with what it holds, if it or its directory was removed.
    ///
    /// # Errors
    /// What the system says.
    pub fn keep<S: Storage<File = F>>(&mut self, storage: &S) -> Result<(), Error> {
        let restored = storage.restore(&self.hidden, &mut self.file);
        if let Some(file) = restored.map_err(Error::io(&self.path, "writing again what was removed"))? {
            self.file = file;
        }
        Ok(())
    }

    /// The path of the file.
    #[must_use]
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Ends the file, and makes it durable. It keeps its hidden name until [`Directory::complete`](crate::Directory::complete).
    /// Returns its length and digest. May be called again after an error.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(&mut self) -> Result<(u64, String), Error> {
        self.write_pending()?;
        self.transform.finish(&mut self.pending)?;
        self.write_pending()?;
        let ended = self.file.truncate(self.stored).and_then(|()| self.file.sync());
        ended.map_err(Error::io(&self.path, "completing"))?;
        self.durable = self.plain;
        Ok((self.stored, self.digest.finish()))
    }
}
