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

/// Plain bytes of a frame: what a reader decompresses for one packet.
pub(crate) const FRAME_BYTES: usize = 1 << 20;
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

    fn compress(&mut self, out: &mut Vec<u8>) -> Result<(), Error> {
        let failed = Error::io("(segment)", "compressing");
        let stored = match self.compression {
            Compression::Zstd => compress_zstd(&self.waiting).map_err(failed)?,
            _ => {
                let info = FrameInfo::new().content_checksum(true);
                let mut encoder = FrameEncoder::with_frame_info(info, std::mem::take(&mut self.stored));
                encoder.write_all(&self.waiting).map_err(failed)?;
                encoder.finish().map_err(|error| Error::io("(segment)", "compressing")(error.into()))?
            }
        };
        self.frames.push((stored.len() as u32, self.waiting.len() as u32));
        self.waiting.clear();
        self.store(&stored, out);
        self.stored = stored;
        self.stored.clear();
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

/// A frame with the checksum of its content: without it a bit that flips becomes other packets, which readers take for what was captured.
fn compress_zstd(plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut compressor = zstd::bulk::Compressor::new(LEVEL)?;
    compressor.set_parameter(zstd::zstd_safe::CParameter::ChecksumFlag(true))?;
    compressor.compress(plain)
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
