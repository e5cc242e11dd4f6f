use super::{Bytes, Stop};
use crate::limits::{
    BARREN_BYTES_MAX, BARREN_PARTS_MAX, COMPRESSED_PIECE_BYTES, CONSUMED_PER_BYTE_MAX, PART_BYTES_MIN,
    SKIPPED_BYTES_WEIGHT,
};

/// Compressed bytes on their way to a decompressor, and the account of what became of them.
///
/// A few bytes that are compressed several times over become millions of empty streams, frames or blocks, each of which costs a
/// decompressor as much as one with content. So what is consumed has to yield something, apart from an allowance.
pub(super) struct Feed {
    stream: Box<dyn Bytes>,
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    /// The stream said that it has no more.
    ended: bool,
    /// The format, and the program that unpacks it.
    name: Name,
    /// Bytes consumed, in bytes of data: skipped ones cost less.
    consumed: u64,
    /// Streams, frames or members that ended.
    parts: u64,
    /// Bytes that were decompressed.
    produced: u64,
}

/// Names of a format and of the program that unpacks it.
pub(super) type Name = (&'static str, &'static str);

impl Feed {
    pub fn new(stream: Box<dyn Bytes>, name: Name) -> Self {
        let (buffer, from, to, ended) = (Vec::new(), 0, 0, false);
        Self { stream, buffer, from, to, ended, name, consumed: 0, parts: 0, produced: 0 }
    }

    /// Notes that a stream, frame or member ended.
    pub fn end_part(&mut self) {
        self.parts += 1;
    }

    /// Notes that `bytes` were decompressed.
    pub fn produce(&mut self, bytes: usize) {
        self.produced += bytes as u64;
    }

    /// Fails where what was consumed yields next to nothing.
    fn check_yield(&self) -> Result<(), Stop> {
        let is_barren = self.consumed > BARREN_BYTES_MAX + self.produced.saturating_mul(CONSUMED_PER_BYTE_MAX);
        if is_barren || self.parts > BARREN_PARTS_MAX + self.produced / PART_BYTES_MIN {
            Err(self.barren())
        } else {
            Ok(())
        }
    }

    #[cold]
    fn barren(&self) -> Stop {
        let (name, program) = self.name;
        Stop::Damaged(format!(
            "the {name} data holds next to nothing: {} bytes in {} parts gave {}; it may be made to keep readers busy: if you trust it, unpack it first, as in: {program} FILE | tidewire ... -",
            self.consumed, self.parts, self.produced
        ))
    }

    /// The bytes at hand, after reading some where there were none; empty at the end only.
    pub fn bytes(&mut self) -> Result<&[u8], Stop> {
        self.check_yield()?;
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
        self.consumed += bytes as u64;
    }

    /// Passes over bytes at hand that no decompressor looks at.
    fn pass(&mut self, bytes: usize) {
        self.from = (self.from + bytes).min(self.to);
        self.consumed += (bytes as u64).div_ceil(SKIPPED_BYTES_WEIGHT);
    }

    /// Skips zeros; the byte behind them.
    pub fn byte_behind_zeros(&mut self) -> Result<Option<u8>, Stop> {
        loop {
            let there = self.bytes()?;
            let zeros = there.iter().take_while(|&&byte| byte == 0).count();
            let is_all = zeros == there.len() && zeros > 0;
            self.pass(zeros);
            if !is_all {
                return self.byte();
            }
        }
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

    /// The rest: bytes at hand, and the stream behind them.
    pub fn into_rest(mut self) -> (Vec<u8>, Box<dyn Bytes>) {
        self.buffer.truncate(self.to);
        self.buffer.drain(..self.from);
        (self.buffer, self.stream)
    }

    /// Skips `bytes`; false where the stream ends before.
    pub fn skip(&mut self, mut bytes: u64) -> Result<bool, Stop> {
        while bytes > 0 {
            let there = self.bytes()?.len();
            if there == 0 {
                return Ok(false);
            }
            let step = there.min(usize::try_from(bytes).unwrap_or(there));
            self.pass(step);
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
