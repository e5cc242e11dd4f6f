//! A mapped queue: what the publishing and the reading end have in common.

use std::{
    io,
    os::fd::AsFd,
    sync::atomic::{AtomicU32, Ordering, fence},
};

use rustix::fs::{SealFlags, SeekFrom, fcntl_get_seals, fstat, seek};

use crate::{
    error::Error,
    layout::{Geometry, HEADER_BYTES, HEADER_WORDS, MAGIC, SLOT_WORDS, VERSION, Word},
    ring::Words,
    sys::{Access, Mapping},
};

/// A queue's file in memory, with as many bytes as its sizes need.
#[derive(Debug)]
pub(crate) struct QueueMemory {
    mapping: Mapping,
    geometry: Geometry,
}

impl QueueMemory {
    /// Maps a new file of [`Geometry::file_bytes`] for writing, all of it there, and writes its header. The file may be sealed
    /// afterwards.
    pub(crate) fn create(file: impl AsFd, geometry: Geometry, epoch: u64) -> Result<Self, Error> {
        let memory = Self::map(file, geometry, Access::Write)?;
        for (word, value) in [
            (Word::Version, VERSION),
            (Word::Slots, geometry.slots()),
            (Word::PayloadBytes, geometry.payload_bytes()),
            (Word::Epoch, epoch),
        ] {
            memory.words().word(word).store(value, Ordering::Relaxed);
        }
        memory.words().word(Word::Magic).store(MAGIC, Ordering::Release);
        Ok(memory)
    }

    /// Maps a file that another process sent, for reading. Everything that it states is checked.
    pub(crate) fn open(file: impl AsFd) -> Result<Self, Error> {
        // Without these seals the file could shrink, or lose pages, below the mapping, and reading would be a fault (SIGBUS) or take
        // memory. Pages of a sealed file cannot be punched out, so what is allocated after this check stays so.
        let seals = fcntl_get_seals(&file).map_err(|_| Error::NotAQueue("it is no memory file"))?;
        let is_read_only = seals.intersects(SealFlags::FUTURE_WRITE | SealFlags::WRITE);
        if !seals.contains(SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL) || !is_read_only {
            return Err(Error::NotAQueue("it is not sealed"));
        }
        let stat = fstat(&file).map_err(io::Error::from).map_err(Error::memory("size of a queue"))?;
        let bytes = u64::try_from(stat.st_size).unwrap_or(0);
        if bytes < HEADER_BYTES as u64 {
            return Err(Error::NotAQueue("it is shorter than a header"));
        }
        // The sum may be made up by memory behind the end, and a hole be left before it.
        let is_enough = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512) >= bytes;
        if !is_enough || !is_whole(&file, bytes)? {
            return Err(Error::NotAQueue("parts of it have no memory"));
        }
        let header = Mapping::new(&file, HEADER_BYTES, HEADER_BYTES, Access::Read);
        let geometry = stated(&header.map_err(Error::memory("mapping a queue"))?)?;
        if bytes != geometry.file_bytes() {
            return Err(Error::NotAQueue("its size is not what its header states"));
        }
        Self::map(file, geometry, Access::Read)
    }

    fn map(file: impl AsFd, geometry: Geometry, access: Access) -> Result<Self, Error> {
        let sizes = (usize::try_from(geometry.file_bytes()), usize::try_from(geometry.payload_at()));
        let (Ok(bytes), Ok(payload_at)) = sizes else {
            return Err(Error::NotAQueue("it is larger than the address space"));
        };
        let mapping = Mapping::new(file, bytes, payload_at, access).map_err(Error::memory("mapping a queue"))?;
        Ok(Self { mapping, geometry })
    }

    #[inline]
    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The parts of the memory. `map` made it as long as the sizes state.
    #[inline]
    pub(crate) fn words(&self) -> Words<'_> {
        let (header, rest) = self.mapping.words().split_at(HEADER_WORDS);
        let (index, payload) = rest.split_at(self.geometry.slots() as usize * SLOT_WORDS);
        Words::new(header, index, payload, self.geometry)
    }

    #[inline]
    pub(crate) fn published(&self) -> u64 {
        self.load(Word::Published)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.load(Word::State) != 0
    }

    /// A word, and then what was written before it. Of memory that is mapped for reading only, nothing but relaxed loads is
    /// promised to work.
    #[inline]
    fn load(&self, word: Word) -> u64 {
        let value = self.mapping.words()[word as usize].load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        value
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.mapping.words()[Word::Epoch as usize].load(Ordering::Relaxed)
    }

    /// Changes when readers are woken.
    pub(crate) fn wake_word(&self) -> &AtomicU32 {
        self.mapping.futex(Word::Wake as usize)
    }
}

/// Whether a file has no hole. What was allocated and never touched counts as one; mapping it for writing touches all of it.
fn is_whole(file: impl AsFd, bytes: u64) -> Result<bool, Error> {
    let hole = seek(file, SeekFrom::Hole(0)).map_err(io::Error::from);
    Ok(hole.map_err(Error::memory("holes of a queue"))? >= bytes)
}

/// The sizes that a header states.
fn stated(header: &Mapping) -> Result<Geometry, Error> {
    let load = |word: Word| header.words()[word as usize].load(Ordering::Relaxed);
    if load(Word::Magic) != MAGIC {
        return Err(Error::NotAQueue("it does not begin as one"));
    }
    fence(Ordering::Acquire);
    if load(Word::Version) != VERSION {
        return Err(Error::NotAQueue("its layout has another version"));
    }
    Geometry::stated(load(Word::Slots), load(Word::PayloadBytes))
        .ok_or(Error::NotAQueue("its header states impossible sizes"))
}
