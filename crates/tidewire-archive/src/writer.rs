//! Writes the bytes of one segment: through compression and encryption, with a digest, durable on request.

use std::{collections::VecDeque, io, path::PathBuf};

use crate::{
    Checksums, Digest, Error, Recipients, SegmentName, Storage, StorageFile,
    name::sums_of,
    sums::{self, Piece},
    transform::Transform,
    unsynced::{Length, State, Unsynced},
};

/// Bytes that cannot be read back are lost after so many attempts one after the other: 10 seconds of the recorder's.
const READS_MAX: u32 = 50;

/// A segment that is being written, under its hidden name. After an error nothing is lost: what was taken is held in memory, and the
/// next call tries again. What a sync left uncertain is read back, compared with its checksum, and written again: only if that fails
/// it is [lost](Self::is_lost).
pub struct SegmentWriter<F: StorageFile> {
    file: F,
    sums: F,
    path: PathBuf,
    hidden: String,
    sums_name: String,
    transform: Transform,
    /// `None`: the caller computes it.
    digest: Option<Digest>,
    /// Bytes of the file that were written, and those that were not yet.
    stored: u64,
    pending: Vec<u8>,
    /// Plain bytes that were taken, and those of them that are whole in the file.
    plain: u64,
    whole: u64,
    /// Written pieces that are not known to be durable: each with the plain bytes that are whole before it.
    pieces: VecDeque<(Piece, u64)>,
    /// Number of the first of them.
    first_piece: u64,
    state: State,
    /// Attempts to read back that failed.
    reads_failed: u32,
    lost: Option<Length>,
}

impl<F: StorageFile> std::fmt::Debug for SegmentWriter<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SegmentWriter").field("path", &self.path).field("stored", &self.stored).finish_non_exhaustive()
    }
}

/// Creates a file. Numbers of segments are unique: where there is one, an earlier attempt failed, and so did its removal.
fn created<S: Storage>(storage: &S, name: &str, create: impl Fn(&str) -> io::Result<S::File>) -> io::Result<S::File> {
    match create(name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => storage.remove(name).and_then(|()| create(name)),
        created => created,
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
        Self::create_by(storage, name, recipients, |hidden| storage.create(hidden))
    }

    /// The same where the file comes from elsewhere.
    pub(crate) fn create_by<S: Storage<File = F>>(
        storage: &S,
        name: &SegmentName,
        recipients: Option<&Recipients>,
        create: impl Fn(&str) -> io::Result<F>,
    ) -> Result<Self, Error> {
        let (hidden, sums_name) = (name.hidden(), sums_of(&name.to_string()));
        let path = storage.path(&hidden);
        let mut pending = Vec::new();
        let transform = Transform::new(name.compression, recipients, &mut pending)?;
        // The checksums first: a segment without them is taken as it is.
        let sums = created(storage, &sums_name, |name| storage.create_small(name));
        let sums = sums.map_err(Error::io(storage.path(&sums_name), "creating"))?;
        // The next attempt creates them again.
        let discard = || [&sums_name, &hidden].into_iter().for_each(|name| drop(storage.remove(name)));
        let file =
            created(storage, &hidden, create).inspect_err(|_| discard()).map_err(Error::io(&path, "creating"))?;
        // Bytes that are synced later are of no use without its name.
        storage.sync_names().inspect_err(|_| discard()).map_err(Error::io(&path, "syncing its name"))?;
        Ok(Self {
            file,
            sums,
            path,
            hidden,
            sums_name,
            transform,
            digest: Some(Digest::new()),
            stored: 0,
            pending,
            plain: 0,
            whole: 0,
            pieces: VecDeque::new(),
            first_piece: 0,
            state: State::default(),
            reads_failed: 0,
            lost: None,
        })
    }

    /// Leaves the digest to the caller, who computes it of what [`write`](Self::write) takes and
    /// [adds it](Self::set_digest) before the file ends. For [plain](crate::Settings::is_plain) segments only.
    pub fn leave_digest(&mut self) {
        if self.transform.is_plain() {
            self.digest = None;
        }
    }

    /// Sets the digest of all that was written.
    pub fn set_digest(&mut self, digest: Digest) {
        self.digest = Some(digest);
    }

    /// Whether what it takes is stored as it is: see [`Settings::is_plain`](crate::Settings::is_plain).
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.transform.is_plain()
    }

    /// Plain bytes so far: where the next block lies.
    #[must_use]
    pub fn plain_bytes(&self) -> u64 {
        self.plain
    }

    /// Bytes of the file so far.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.stored
    }

    /// Plain bytes from the beginning on that are there after the power fails.
    #[must_use]
    pub fn durable_bytes(&self) -> u64 {
        self.state.get().length.plain
    }

    /// Whether something of it is gone: its file is good up to [`lost_from`](Self::lost_from).
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// Bytes of its file that are good, if something was lost.
    #[must_use]
    pub fn lost_from(&self) -> Option<u64> {
        self.lost.map(|lost| lost.stored)
    }

    /// Plain bytes from the beginning on that are in the file, as far as is known: if it is abandoned now, the rest is lost.
    #[must_use]
    pub fn kept_bytes(&self) -> u64 {
        let state = self.state.get();
        match self.lost {
            Some(lost) => lost.plain,
            None if state.is_failed => state.length.plain,
            None => self.whole,
        }
    }

    /// Writes what follows: whole blocks or parts of them.
    ///
    /// # Errors
    /// What the system says; nothing of `bytes` was taken.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.write_with(bytes, &Checksums::default())
    }

    /// The same with the checksums of `bytes`. Where there are none they are computed here; those of a segment that is not
    /// [plain](crate::Settings::is_plain) always are.
    ///
    /// # Errors
    /// What the system says; nothing of `bytes` was taken.
    pub fn write_with(&mut self, bytes: &[u8], checksums: &Checksums) -> Result<(), Error> {
        self.check()?;
        self.write_pending()?;
        if self.transform.is_plain() {
            self.store(bytes, checksums)?;
            self.plain += bytes.len() as u64;
            self.whole = self.plain;
            return Ok(());
        }
        self.transform.push(bytes, &mut self.pending)?;
        self.plain += bytes.len() as u64;
        // A failure here is retried by the next call.
        let _ = self.write_pending();
        Ok(())
    }

    /// Writes a frame of whole blocks that was [compressed](crate::compress_frame) elsewhere, in the way of this segment. `plain_bytes`: of
    /// its content.
    ///
    /// # Errors
    /// What the system says; nothing of the frame was taken.
    pub fn write_frame(&mut self, stored: &[u8], plain_bytes: u32) -> Result<(), Error> {
        self.check()?;
        self.write_pending()?;
        self.transform.push_frame(stored, plain_bytes, &mut self.pending)?;
        self.plain += u64::from(plain_bytes);
        // A failure here is retried by the next call.
        if self.write_pending().is_ok() && !self.transform.is_sealed() {
            // Nothing waits behind a frame.
            self.whole = self.plain;
        }
        Ok(())
    }

    fn write_pending(&mut self) -> Result<(), Error> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let mut pending = std::mem::take(&mut self.pending);
        let stored = self.store(&pending, &Checksums::default());
        if stored.is_ok() {
            pending.clear();
        }
        self.pending = pending;
        stored
    }

    /// Appends to the file.
    fn store(&mut self, bytes: &[u8], checksums: &Checksums) -> Result<(), Error> {
        let known = self.pieces.len();
        let computed;
        let checksums = if checksums.has_all(bytes.len()) {
            checksums
        } else {
            computed = Checksums::of(bytes);
            &computed
        };
        self.pieces.extend(checksums.pieces(bytes.len(), self.stored).map(|piece| (piece, self.whole)));
        let mut records = Vec::new();
        self.pieces.iter().skip(known).for_each(|(piece, _)| piece.push(&mut records));
        // The checksums first: what has none when the power fails is cut off.
        let at = sums::place_of(self.first_piece + known as u64);
        let written = self.sums.write_at(&records, at).and_then(|()| self.file.write_at(bytes, self.stored));
        if let Err(error) = written {
            self.pieces.truncate(known);
            return Err(Error::io(&self.path, "writing")(error));
        }
        if let Some(digest) = &mut self.digest {
            digest.update(bytes);
        }
        self.stored += bytes.len() as u64;
        Ok(())
    }

    fn check(&self) -> Result<(), Error> {
        match self.lost {
            Some(lost) => Err(Error::Lost { path: self.path.clone(), from: lost.stored }),
            None => Ok(()),
        }
    }

    /// After a sync failed: writes again what was not synced before. What is in memory, or on the disk, has its checksum; what has not
    /// is lost.
    fn write_again(&mut self) -> Result<(), Error> {
        self.check()?;
        let (is_failed, durable) = {
            let state = self.state.get();
            (state.is_failed, state.length.stored)
        };
        while self.pieces.front().is_some_and(|(piece, _)| piece.offset + u64::from(piece.bytes) <= durable) {
            self.pieces.pop_front();
            self.first_piece += 1;
        }
        if !is_failed {
            return Ok(());
        }
        let mut content = vec![0; sums::PIECE_BYTES];
        let mut records = Vec::new();
        for (piece, whole) in &self.pieces {
            let bytes = content.get_mut(..piece.bytes as usize).unwrap_or_default();
            let read = match self.file.read_at(bytes, piece.offset) {
                Ok(read) => {
                    self.reads_failed = 0;
                    read
                }
                Err(_) if self.reads_failed >= READS_MAX => 0,
                Err(error) => {
                    self.reads_failed += 1;
                    return Err(Error::io(&self.path, "reading what may have to be written again")(error));
                }
            };
            if read != bytes.len() || crc32c::crc32c(bytes) != piece.checksum {
                self.lost = Some(Length { stored: piece.offset, plain: *whole });
                break;
            }
            self.file.write_at(bytes, piece.offset).map_err(Error::io(&self.path, "writing again"))?;
            piece.push(&mut records);
        }
        self.check()?;
        let written = self.sums.write_at(&records, sums::place_of(self.first_piece));
        written.map_err(Error::io(&self.path, "writing again"))?;
        let mut state = self.state.get();
        state.is_failed = false;
        state.generation += 1;
        Ok(())
    }

    /// Makes durable what was written, and returns how many plain bytes from the beginning on that are.
    ///
    /// # Errors
    /// What the system says.
    pub fn sync(&mut self) -> Result<u64, Error> {
        self.flush()?.sync()?;
        Ok(self.durable_bytes())
    }

    /// Writes all that was taken, and returns what is to be [synced](Unsynced::sync), on this thread or another one.
    ///
    /// # Errors
    /// What the system says.
    pub fn flush(&mut self) -> Result<Unsynced<F>, Error> {
        self.write_again()?;
        self.write_pending()?;
        self.transform.flush(&mut self.pending)?;
        self.write_pending()?;
        self.unsynced()
    }

    /// All that was taken is written.
    fn unsynced(&mut self) -> Result<Unsynced<F>, Error> {
        self.whole = self.plain;
        let length = Length { stored: self.stored, plain: self.plain };
        let both = self.file.duplicate().and_then(|file| Ok((file, self.sums.duplicate()?)));
        let (file, sums) = both.map_err(Error::io(&self.path, "syncing"))?;
        let (path, state) = (self.path.clone(), self.state.clone());
        let generation = state.get().generation;
        Ok(Unsynced { file, sums, path, length, generation, state })
    }

    /// Nothing more is written: cuts off what a write that failed left behind all that was taken.
    ///
    /// # Errors
    /// What the system says.
    pub fn cut(&mut self) -> Result<(), Error> {
        match self.lost {
            // The checksums show how much of it is intact.
            Some(_) => Ok(()),
            None => self.file.truncate(self.stored).map_err(Error::io(&self.path, "cutting off what is not whole")),
        }
    }

    /// Restores the file under its hidden name, with what it holds, if it or its directory was removed.
    ///
    /// # Errors
    /// What the system says.
    pub fn keep<S: Storage<File = F>>(&mut self, storage: &S) -> Result<(), Error> {
        for (name, file) in [(&self.sums_name, &mut self.sums), (&self.hidden, &mut self.file)] {
            let restored = storage.restore(name, file);
            if let Some(restored) = restored.map_err(Error::io(&self.path, "writing again what was removed"))? {
                *file = restored;
            }
        }
        Ok(())
    }

    /// Whether its file can be found: under its hidden name, or the one it gets when it is complete.
    #[must_use]
    pub fn is_there<S: Storage<File = F>>(&self, storage: &S, name: &SegmentName) -> bool {
        storage.is_named(&self.hidden, &self.file) || storage.is_named(&name.to_string(), &self.file)
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
        self.write_again()?;
        self.write_pending()?;
        self.transform.finish(&mut self.pending)?;
        self.write_pending()?;
        self.file.truncate(self.stored).map_err(Error::io(&self.path, "completing"))?;
        let unsynced = self.unsynced()?;
        let length = unsynced.length;
        unsynced.sync()?;
        // Another sync failed at the same time: this one says nothing.
        if self.state.get().length != length {
            return Err(Error::io(&self.path, "completing")(io::Error::other("another sync failed")));
        }
        let missing = || Error::io(&self.path, "completing")(io::Error::other("its digest was not set"));
        Ok((self.stored, self.digest.as_ref().ok_or_else(missing)?.finish()))
    }
}
