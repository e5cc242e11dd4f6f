//! Reading compressed segments at any offset, by the table of their frames.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use crate::{
    Compression, Error,
    read_at::{Framed, ReadAt},
    transform::{SEEKABLE, SKIPPABLE},
};

/// Plain bytes of a frame at most.
const PLAIN_BYTES_MAX: u32 = 16 << 20;
/// Frames at most: a segment of 4 TiB.
const FRAMES_MAX: u64 = 4 << 20;
/// Bytes in which a small frame is looked for first.
const SMALL_BYTES: usize = 16 << 10;
/// Bytes that are read to find the end of a frame that no table names.
const FRAME_STORED_BYTES_MAX: usize = 2 << 20;
const FOOTER_BYTES: u64 = 9;

/// Where a frame lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FrameLocation {
    at: u64,
    stored_bytes: u32,
    from: u64,
    plain_bytes: u32,
}

/// The plain bytes of a compressed segment.
pub(crate) struct Inflated {
    inner: Box<dyn ReadAt>,
    path: PathBuf,
    compression: Compression,
    frames: Vec<FrameLocation>,
    bytes: u64,
    opened: Option<usize>,
    plain: Vec<u8>,
    stored: Vec<u8>,
}

impl Inflated {
    /// Opens a segment; one without a table, that a crash left, has the frames that are whole.
    pub fn open(mut inner: Box<dyn ReadAt>, path: &Path, compression: Compression) -> Result<Self, Error> {
        let frames = match table(&mut *inner)? {
            Some(frames) => frames,
            None => scanned(&mut *inner, compression)?,
        };
        let bytes = frames.last().map_or(0, |place| place.from + u64::from(place.plain_bytes));
        let (path, plain, stored) = (path.to_owned(), Vec::new(), Vec::new());
        Ok(Self { inner, path, compression, frames, bytes, opened: None, plain, stored })
    }

    /// Stored and plain bytes of its frames.
    pub fn frames(&self) -> Vec<(u32, u32)> {
        self.frames.iter().map(|place| (place.stored_bytes, place.plain_bytes)).collect()
    }

    fn open_frame(&mut self, index: usize) -> Result<(), Error> {
        if self.opened == Some(index) {
            return Ok(());
        }
        let nowhere = || Error::damaged(&self.path, format!("there is no compressed frame {index}"));
        let place = *self.frames.get(index).ok_or_else(nowhere)?;
        let damaged = || {
            let (from, to) = (place.at, place.at + u64::from(place.stored_bytes));
            let what = "cannot be decompressed to what its checksum says";
            Error::damaged(&self.path, format!("compressed frame {index} (bytes {from} to {to}) {what}"))
        };
        self.opened = None;
        self.inner.read_at(place.at, place.stored_bytes as usize, &mut self.stored)?;
        self.plain.clear();
        let inflated = inflate(self.compression, &self.stored, place.plain_bytes, &mut self.plain);
        if inflated.is_none() || self.plain.len() != place.plain_bytes as usize {
            return Err(damaged());
        }
        self.opened = Some(index);
        Ok(())
    }
}

impl Framed for Inflated {
    fn end(&self) -> u64 {
        self.bytes
    }

    fn frame(&mut self, offset: u64) -> Result<(u64, &[u8]), Error> {
        let index = self.frames.partition_point(|place| place.from <= offset).saturating_sub(1);
        self.open_frame(index)?;
        Ok((self.frames.get(index).map_or(0, |place| place.from), &self.plain))
    }
}

/// Appends the plain bytes of a frame: at most so many.
fn inflate(compression: Compression, stored: &[u8], most: u32, plain: &mut Vec<u8>) -> Option<()> {
    match compression {
        Compression::Zstd => plain.extend(zstd::bulk::decompress(stored, most as usize).ok()?),
        _ => {
            let decoder = lz4_flex::frame::FrameDecoder::new(stored);
            decoder.take(u64::from(most) + 1).read_to_end(plain).ok()?;
        }
    }
    Some(())
}

/// The table at the end of the file; `None`: there is none.
fn table(inner: &mut dyn ReadAt) -> Result<Option<Vec<FrameLocation>>, Error> {
    let bytes = inner.bytes();
    let mut footer = Vec::new();
    let Some(at) = bytes.checked_sub(FOOTER_BYTES) else { return Ok(None) };
    inner.read_at(at, FOOTER_BYTES as usize, &mut footer)?;
    let word = |bytes: &[u8], at: usize| -> Option<u32> {
        bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
    };
    let (Some(count), Some(SEEKABLE)) = (word(&footer, 0), word(&footer, 5)) else { return Ok(None) };
    let length = u64::from(count) * 8;
    let Some(start) = at.checked_sub(length + 8) else { return Ok(None) };
    if u64::from(count) > FRAMES_MAX {
        return Ok(None);
    }
    let mut table = Vec::new();
    inner.read_at(start, length as usize + 8, &mut table)?;
    if word(&table, 0) != Some(SKIPPABLE) || word(&table, 4).map(u64::from) != Some(length + FOOTER_BYTES) {
        return Ok(None);
    }
    let (mut at, mut from) = (0, 0);
    let mut frames = Vec::with_capacity(count as usize);
    for entry in table.get(8..).unwrap_or_default().chunks_exact(8) {
        let (Some(stored_bytes), Some(plain_bytes)) = (word(entry, 0), word(entry, 4)) else { return Ok(None) };
        if plain_bytes > PLAIN_BYTES_MAX || stored_bytes > 2 * PLAIN_BYTES_MAX {
            return Ok(None);
        }
        frames.push(FrameLocation { at, stored_bytes, from, plain_bytes });
        at += u64::from(stored_bytes);
        from += u64::from(plain_bytes);
    }
    Ok((at == start).then_some(frames))
}

/// The frames from the beginning on, up to the first that is not whole.
fn scanned(inner: &mut dyn ReadAt, compression: Compression) -> Result<Vec<FrameLocation>, Error> {
    let (mut frames, mut stored, mut plain) = (Vec::new(), Vec::new(), Vec::new());
    let (mut at, mut from) = (0, 0);
    while frames.len() < FRAMES_MAX as usize {
        let mut length = None;
        // Many small frames: none of them is worth reading as much as the largest takes.
        for most in [SMALL_BYTES, FRAME_STORED_BYTES_MAX] {
            inner.read_at(at, most, &mut stored)?;
            length = frame_bytes(compression, &stored);
            if length.is_some() || stored.len() < most {
                break;
            }
        }
        let Some(length) = length else { break };
        plain.clear();
        let frame = stored.get(..length).unwrap_or_default();
        if inflate(compression, frame, PLAIN_BYTES_MAX, &mut plain).is_none() || plain.is_empty() {
            break;
        }
        let (stored_bytes, plain_bytes) = (length as u32, plain.len() as u32);
        frames.push(FrameLocation { at, stored_bytes, from, plain_bytes });
        at += u64::from(stored_bytes);
        from += u64::from(plain_bytes);
    }
    Ok(frames)
}

/// The length of the frame that `bytes` begins with, if it is whole.
fn frame_bytes(compression: Compression, bytes: &[u8]) -> Option<usize> {
    if compression == Compression::Zstd {
        return zstd::zstd_safe::find_frame_compressed_size(bytes).ok().filter(|&length| length > 0);
    }
    // LZ4 frame format 1.6: magic, flags, block size, [content size], [dictionary], checksum; blocks; 0; [checksum].
    let word = |at: usize| -> Option<u32> { bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)) };
    if word(0)? != 0x184d_2204 {
        return None;
    }
    let flags = *bytes.get(4)?;
    let of = |bit: u8, length: usize| if flags & bit != 0 { length } else { 0 };
    let mut at = 7 + of(8, 8) + of(1, 4);
    loop {
        let length = word(at)?;
        at += 4;
        if length == 0 {
            let end = at + of(4, 4);
            return (end <= bytes.len()).then_some(end);
        }
        at += (length & 0x7fff_ffff) as usize + of(16, 4);
    }
}
