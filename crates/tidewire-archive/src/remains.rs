//! Finds the intact part of a segment that was not completed: the same for the repair and for who reads it before.

use std::{fs::File, io, ops::Range, path::Path};

use crate::{
    Compression, Error, Folder, SegmentName, Storage as _,
    excise::{self, Cure},
    name::sums_of,
    origin::Origin,
    read_at::{Plain, ReadAt, open_regular},
    sums::{self, PIECE_BYTES, Whole},
};

/// Unit in which the system keeps files in memory: of a write that was cut short, pages are there or not.
const PAGE_BYTES: u64 = 4096;
/// Bytes at most that are read as if the repair had taken them out; more damage ends the segment for readers.
const TAKEN_OUT_BYTES_MAX: u64 = 64 << 20;

/// The file of a segment's checksums; `None`: it has none.
pub(crate) fn open_sums(folder: &Path, name: &SegmentName) -> Result<Option<Plain>, Error> {
    let path = folder.join(sums_of(&name.to_string()));
    opened_sums(open_regular(&path), &path)
}

fn opened_sums(opened: io::Result<File>, path: &Path) -> Result<Option<Plain>, Error> {
    match opened {
        Ok(file) => Plain::new(file, path).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(path, "opening")(error)),
    }
}

/// Compares a segment with its checksums: how much of it is whole, and what of that the disk changed. `None`: it has none, as an
/// older recorder left it.
pub(crate) fn remains(folder: &Path, name: &SegmentName, segment: &mut dyn ReadAt) -> Result<Option<Whole>, Error> {
    compared(open_sums(folder, name)?, name, segment)
}

/// The same of a directory that is open.
pub(crate) fn remains_in(
    folder: &Folder,
    name: &SegmentName,
    segment: &mut dyn ReadAt,
) -> Result<Option<Whole>, Error> {
    let sums = sums_of(&name.to_string());
    compared(opened_sums(folder.open_regular(&sums), &folder.path(&sums))?, name, segment)
}

fn compared(sums: Option<Plain>, name: &SegmentName, segment: &mut dyn ReadAt) -> Result<Option<Whole>, Error> {
    let Some(mut known) = sums else { return Ok(None) };
    let mut whole = sums::compare(&mut known, segment)?;
    // Frames of an encrypted segment are longer than what this finds.
    if !name.is_sealed && Origin::read(&mut known)?.is_some_and(|origin| origin.is_of_this_boot()) {
        whole.bytes += begun_bytes(segment, whole.bytes)?;
    }
    Ok(Some(whole))
}

/// Bytes of a piece of which a part was written, where the machine was not started since: all that its recorder wrote is there, in order,
/// and the rest is zeros. A page of zeros ends it even so: a disk that went away and came back would leave one.
fn begun_bytes(segment: &mut dyn ReadAt, from: u64) -> Result<u64, Error> {
    let mut content = Vec::new();
    segment.read_at(from, PIECE_BYTES, &mut content)?;
    let mut bytes = 0;
    while bytes < content.len() {
        let page = (PAGE_BYTES - (from + bytes as u64) % PAGE_BYTES) as usize;
        let end = (bytes + page).min(content.len());
        if content.get(bytes..end).is_none_or(|page| page.iter().all(|&byte| byte == 0)) {
            break;
        }
        bytes = end;
    }
    Ok(bytes as u64)
}

/// An open segment as the repair would leave it.
pub(crate) struct Remaining {
    inner: Plain,
    bytes: u64,
    /// Blocks that stand in the place of what the disk changed.
    taken_out: Vec<(u64, Vec<u8>)>,
}

impl Remaining {
    /// Reads so much of it; of a plain segment without what the disk changed, of a compressed one up to there. Frames of an encrypted
    /// one prove themselves.
    pub fn new(mut inner: Plain, name: &SegmentName, whole: &Whole) -> Result<Self, Error> {
        let (mut bytes, mut taken_out) = (whole.bytes.min(inner.bytes()), Vec::new());
        if let Some(first) = whole.damaged.first().filter(|_| !name.is_sealed) {
            if name.compression != Compression::None {
                bytes = bytes.min(first.start);
            } else {
                let mut rest = TAKEN_OUT_BYTES_MAX;
                for cure in excise::cures(&mut inner, bytes, &whole.damaged)? {
                    match cure {
                        Cure::TakeOut(Range { start, end }) if end - start <= rest => {
                            rest -= end - start;
                            taken_out.push((start, excise::filler(end - start)));
                        }
                        Cure::TakeOut(Range { start, .. }) => bytes = bytes.min(start),
                        Cure::End(at) => bytes = bytes.min(at),
                        Cure::Nothing => bytes = 0,
                    }
                }
            }
        }
        Ok(Self { inner, bytes, taken_out })
    }
}

impl ReadAt for Remaining {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&mut self, offset: u64, bytes: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        let there = self.bytes.saturating_sub(offset).min(bytes as u64) as usize;
        self.inner.read_at(offset, there, out)?;
        let end = offset + out.len() as u64;
        for (start, filler) in &self.taken_out {
            let (from, to) = (offset.max(*start), end.min(start + filler.len() as u64));
            if from < to
                && let Some(into) = out.get_mut((from - offset) as usize..(to - offset) as usize)
                && let Some(own) = filler.get((from - start) as usize..(to - start) as usize)
            {
                into.copy_from_slice(own);
            }
        }
        Ok(())
    }
}

/// Bytes that the disk changed.
pub(crate) fn bytes_of(damage: &[Range<u64>]) -> u64 {
    damage.iter().map(|range| range.end - range.start).sum()
}

/// Whether a segment is being written by a recorder at work on this machine: then all that it wrote can be read, and goes on to grow.
pub(crate) fn is_live(folder: &Path, name: &SegmentName) -> bool {
    let origin = || Origin::read(&mut open_sums(folder, name).ok()??).ok()?;
    crate::lock::is_locked(folder) && origin().is_none_or(|origin| origin.is_of_this_boot())
}
