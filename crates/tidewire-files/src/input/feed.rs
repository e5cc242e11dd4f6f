use super::{Bytes, Stop};
use crate::limits::COMPRESSED_PIECE_BYTES;

/// Compressed bytes on their way to a decompressor.
pub(super) struct Feed {
    stream: Box<dyn Bytes>,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    /// The stream said that it has no more.
    ended: bool,
}

impl Feed {
    pub fn new(stream: Box<dyn Bytes>) -> Self {
        Self { stream, buffer: Vec::new(), from: 0, to: 0, ended: false }
    }

    /// The bytes at hand, after reading some where there were none; empty at the end only.
    pub fn bytes(&mut self) -> Result<&[u8], Stop> {
        if self.from == self.to && !self.ended {
            self.buffer.resize(COMPRESSED_PIECE_BYTES, 0);
            (self.from, self.to) = (0, 0);
            self.to = self.stream.read(&mut self.buffer)?;
            self.ended = self.to == 0;
        }
        Ok(self.buffer.get(self.from..self.to).unwrap_or_default())
    }

    /// Takes `bytes` of what is at hand.
    pub fn take(&mut self, bytes: usize) {
        self.from = (self.from + bytes).min(self.to);
    }

    /// The next byte.
    pub fn byte(&mut self) -> Result<Option<u8>, Stop> {
        let byte = self.bytes()?.first().copied();
        self.take(1);
        Ok(byte)
    }

    /// The next `N` bytes; `None` where the stream ends before.
    pub fn array<const N: usize>(&mut self) -> Result<Option<[u8; N]>, Stop> {
        let mut array = [0; N];
        for slot in &mut array {
            let Some(byte) = self.byte()? else { return Ok(None) };
            *slot = byte;
        }
        Ok(Some(array))
    }

    /// Skips `bytes`; false where the stream ends before.
    pub fn skip(&mut self, mut bytes: u64) -> Result<bool, Stop> {
        while bytes > 0 {
            let there = self.bytes()?.len();
            if there == 0 {
                return Ok(false);
            }
            let step = there.min(usize::try_from(bytes).unwrap_or(there));
            self.take(step);
            bytes -= step as u64;
        }
        Ok(true)
    }
}

impl Bytes for Feed {
    fn read(&mut self, room: &mut [u8]) -> Result<usize, Stop> {
        let there = self.bytes()?;
        let bytes = there.len().min(room.len());
        if let (Some(to), Some(from)) = (room.get_mut(..bytes), there.get(..bytes)) {
            to.copy_from_slice(from);
        }
        self.take(bytes);
        Ok(bytes)
    }
}
