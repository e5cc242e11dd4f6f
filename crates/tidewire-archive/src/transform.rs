//! From the plain bytes of a segment to those of its file: compressed in frames, then sealed in frames.
//!
//! Compressed files end with the seek table of Zstandard's seekable format, in a skippable frame: any program reads the file as a
//! whole, this one at any offset. LZ4 has skippable frames of the same form.

use std::io::{self, Write as _};

use lz4_flex::frame::{FrameEncoder, FrameInfo};

use crate::{
    Compression, Error,
    seal::{Content, Recipients, SealWriter},
};

/// Plain bytes of a frame at most: what a reader decompresses for one packet.
pub const FRAME_BYTES: usize = 1 << 20;
/// Level of zstd: what one core does while it writes.
const LEVEL: i32 = 1;
/// Magic number of a skippable frame (RFC 8878, 3.1.2), and of a seek table (zstd, contrib/seekable_format).
pub(crate) const SKIPPABLE: u32 = 0x184d_2a5e;
pub(crate) const SEEKABLE: u32 = 0x8f92_eab1;

/// Compresses and seals a segment's bytes, as its settings say.
pub struct Transform {
    compression: Compression,
    /// Plain bytes of the next frame.
    waiting: Vec<u8>,
    /// Stored and plain bytes of each frame.
    frames: Vec<(u32, u32)>,
    stored: Vec<u8>,
    seal: Option<SealWriter>,
    is_finished: bool,
}

impl std::fmt::Debug for Transform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transform").field("compression", &self.compression).finish_non_exhaustive()
    }
}

impl Transform {
    /// Begins a file; appends its header to `out`, if it is sealed.
    ///
    /// # Errors
    /// There is no randomness, or a recipient is weak.
    pub fn new(compression: Compression, recipients: Option<&Recipients>, out: &mut Vec<u8>) -> Result<Self, Error> {
        let seal = recipients.map(|recipients| SealWriter::begin(recipients, Content::Segment, out)).transpose()?;
        Ok(Self { compression, waiting: Vec::new(), frames: Vec::new(), stored: Vec::new(), seal, is_finished: false })
    }

    /// Goes on behind frames that are there.
    pub(crate) fn with_frames(compression: Compression, frames: Vec<(u32, u32)>) -> Self {
        Self { compression, waiting: Vec::new(), frames, stored: Vec::new(), seal: None, is_finished: false }
    }

    /// Whether what is pushed is stored as it is, at the same offset: then it can be written without this.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.compression == Compression::None && self.seal.is_none()
    }

    /// Whether it is sealed: a part of what was pushed may wait for its frame.
    pub(crate) fn is_sealed(&self) -> bool {
        self.seal.is_some()
    }

    /// Appends to `out` what is to be stored next. A part of `bytes` may wait.
    ///
    /// # Errors
    /// The compressor failed.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        if self.compression == Compression::None {
            self.store(bytes, out);
            return Ok(());
        }
        while !bytes.is_empty() {
            let room = FRAME_BYTES - self.waiting.len();
            let (now, rest) = bytes.split_at(bytes.len().min(room));
            self.waiting.extend_from_slice(now);
            bytes = rest;
            if self.waiting.len() == FRAME_BYTES {
                self.compress(out)?;
            }
        }
        Ok(())
    }

    /// Ends the frames that wait: all that was pushed is in `out` and can be read once that is written.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn flush(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        if !self.waiting.is_empty() {
            self.compress(out)?;
        }
        if let Some(seal) = &mut self.seal {
            seal.flush(out);
        }
        Ok(())
    }

    /// Ends the file; a second call does nothing.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        if self.is_finished {
            return Ok(());
        }
        if !self.waiting.is_empty() {
            self.compress(out)?;
        }
        self.is_finished = true;
        if self.compression != Compression::None {
            let table = self.seek_table();
            self.store(&table, out);
        }
        if let Some(seal) = &mut self.seal {
            seal.finish(out);
        }
        Ok(())
    }

    /// Appends a frame that was [compressed](compress_frame) elsewhere, behind what waits. `plain_bytes`: of its content.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_frame(&mut self, stored: &[u8], plain_bytes: u32, out: &mut Vec<u8>) -> Result<(), Error> {
        if !self.waiting.is_empty() {
            self.compress(out)?;
        }
        self.frames.push((stored.len() as u32, plain_bytes));
        self.store(stored, out);
        Ok(())
    }

    fn compress(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        let mut stored = std::mem::take(&mut self.stored);
        compress_frame(self.compression, &self.waiting, &mut stored)?;
        self.frames.push((stored.len() as u32, self.waiting.len() as u32));
        self.waiting.clear();
        self.store(&stored, out);
        self.stored = stored;
        Ok(())
    }

    fn store(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        match &mut self.seal {
            Some(seal) => seal.push(bytes, out),
            None => out.extend_from_slice(bytes),
        }
    }

    fn seek_table(&self) -> Vec<u8> {
        let mut table = Vec::with_capacity(17 + self.frames.len() * 8);
        let content = self.frames.len() * 8 + 9;
        table.extend_from_slice(&SKIPPABLE.to_le_bytes());
        table.extend_from_slice(&(content as u32).to_le_bytes());
        for (stored, plain) in &self.frames {
            table.extend_from_slice(&stored.to_le_bytes());
            table.extend_from_slice(&plain.to_le_bytes());
        }
        table.extend_from_slice(&(self.frames.len() as u32).to_le_bytes());
        // No checksums in the table.
        table.push(0);
        table.extend_from_slice(&SEEKABLE.to_le_bytes());
        table
    }
}

/// Makes `out` a frame of `plain`, compressed in any way but [`Compression::None`]: of at most [`FRAME_BYTES`], so that any thread can do it
/// for [`SegmentWriter::write_frame`](crate::SegmentWriter::write_frame). A frame has the checksum of its content: without it a bit that
/// flips becomes other packets, which readers take for what was captured.
///
/// # Errors
/// The compressor failed.
pub fn compress_frame(compression: Compression, plain: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    let failed = |error: io::Error| Error::io("(segment)", "compressing")(error);
    out.clear();
    if compression == Compression::Zstd {
        let mut compressor = zstd::bulk::Compressor::new(LEVEL).map_err(failed)?;
        compressor.set_parameter(zstd::zstd_safe::CParameter::ChecksumFlag(true)).map_err(failed)?;
        out.reserve(zstd::zstd_safe::compress_bound(plain.len()));
        return compressor.compress_to_buffer(plain, out).map(drop).map_err(failed);
    }
    let mut encoder = FrameEncoder::with_frame_info(FrameInfo::new().content_checksum(true), out);
    encoder.write_all(plain).map_err(failed)?;
    encoder.finish().map(drop).map_err(|error| failed(error.into()))
}

/// A digest of what is written: BLAKE3.
#[derive(Clone, Debug, Default)]
pub struct Digest(blake3::Hasher);

impl Digest {
    /// Of nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what follows.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest, in hexadecimal.
    #[must_use]
    pub fn finish(&self) -> String {
        self.0.finalize().to_hex().to_string()
    }

    /// The digest of some bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> String {
        blake3::hash(bytes).to_hex().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_other_threads_join_those_that_are_made_here() {
        for compression in [Compression::Zstd, Compression::Lz4] {
            let parts: Vec<Vec<u8>> = (0..5_u8).map(|number| vec![number; 1000 + usize::from(number)]).collect();
            let (mut frame, mut out) = (vec![9], Vec::new());
            let mut transform = Transform::new(compression, None, &mut out).expect("no recipients");
            for (number, part) in parts.iter().enumerate() {
                if number % 2 == 0 {
                    transform.push(part, &mut out).expect("taken");
                } else {
                    compress_frame(compression, part, &mut frame).expect("compressed");
                    transform.push_frame(&frame, part.len() as u32, &mut out).expect("taken");
                }
            }
            transform.finish(&mut out).expect("finished");
            assert_eq!(
                transform.frames.iter().map(|frame| frame.1).collect::<Vec<_>>(),
                [1000, 1001, 1002, 1003, 1004]
            );
            let (mut plain, mut at) = (Vec::new(), 0);
            for (stored, bytes) in &transform.frames {
                let content = out.get(at..at + *stored as usize).expect("its frame");
                match compression {
                    Compression::Zstd => plain.extend(zstd::bulk::decompress(content, *bytes as usize).expect("whole")),
                    _ => drop(io::copy(&mut lz4_flex::frame::FrameDecoder::new(content), &mut plain).expect("whole")),
                }
                at += *stored as usize;
            }
            assert_eq!(plain, parts.concat());
        }
    }
}
