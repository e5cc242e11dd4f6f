//! Compression of batches, bounded on the way back.

use zstd::bulk::{Compressor, Decompressor};

use super::error::Garbled;
use crate::limits::BATCH_BYTES_MAX;

/// Level of compression: of 20,000 different events a second it takes a tenth of a core.
const LEVEL: i32 = 1;

/// Compresses batches.
pub struct Packer(Compressor<'static>);

impl Packer {
    /// A compressor.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn new() -> std::io::Result<Self> {
        Compressor::new(LEVEL).map(Self)
    }

    /// Compresses.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn pack(&mut self, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        self.0.compress(bytes)
    }
}

/// Decompresses batches.
pub struct Unpacker(Decompressor<'static>);

impl Unpacker {
    /// A decompressor.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn new() -> std::io::Result<Self> {
        Decompressor::new().map(Self)
    }

    /// Decompresses to exactly so many bytes; never to more, whatever the input says.
    ///
    /// # Errors
    /// It is damaged, or of another size.
    pub fn unpack(&mut self, compressed: &[u8], raw_bytes: usize) -> Result<Vec<u8>, Garbled> {
        if raw_bytes > BATCH_BYTES_MAX {
            return Err(Garbled::Value("the size"));
        }
        let bytes = self.0.decompress(compressed, raw_bytes).map_err(|_| Garbled::Compressed)?;
        if bytes.len() == raw_bytes { Ok(bytes) } else { Err(Garbled::Compressed) }
    }
}
