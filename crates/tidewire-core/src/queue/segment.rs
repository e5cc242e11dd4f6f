//! Segments: bytes with their place in the stream.

use smallvec::SmallVec;

/// Waiting bytes. A few are stored inline: an allocation for each would make an attacker's segments of one byte as
/// expensive as honest ones.
pub(crate) type Waiting = SmallVec<[u8; 16]>;

/// Bytes at an offset.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    /// Offset of the first byte in the stream.
    pub start: u64,
    /// Bytes of the stream that are covered; fewer may be stored.
    pub length: u32,
    /// The stored bytes, preceded by `head` bytes that are no longer part of the segment.
    pub data: Waiting,
    /// `head` and `is_wrong`: packed, so that a node of the tree fits into a cache line.
    marks: u32,
}

/// Of `marks`: `is_wrong`.
const WRONG: u32 = 1 << 31;

impl Segment {
    /// Bytes at their place; fewer than `end - start` if they were not captured.
    #[inline]
    pub fn new(start: u64, end: u64, bytes: &[u8], is_wrong: bool) -> Self {
        debug_assert!(end - start <= u32::MAX.into());
        let marks = if is_wrong { WRONG } else { 0 };
        Self { start, length: (end - start) as u32, data: Waiting::from_slice(bytes), marks }
    }

    /// Bytes of `data` that are no longer part of the segment.
    #[inline]
    pub fn head(&self) -> usize {
        (self.marks & !WRONG) as usize
    }

    /// See `Incoming::is_wrong`.
    #[inline]
    pub fn is_wrong(&self) -> bool {
        self.marks & WRONG != 0
    }

    /// Drops further bytes at the beginning.
    pub fn skip(&mut self, bytes: usize) {
        self.marks += bytes as u32;
    }

    /// Drops the bytes and keeps their place.
    pub fn forget_bytes(&mut self) {
        (self.data, self.marks) = (Waiting::new(), self.marks & WRONG);
    }

    /// Offset after the last byte.
    #[inline]
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }

    /// The stored bytes; fewer than `length` if truncated or not kept.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.data.get(self.head()..).unwrap_or_default()
    }

    /// A copy of a part of it.
    pub fn part(&self, start: u64, end: u64) -> Self {
        Self::new(start, end, slice_of(self.bytes(), self.start, start, end), self.is_wrong())
    }

    /// Memory of its bytes.
    #[inline]
    pub fn data_charge(&self) -> u64 {
        // Allocators keep about two words for each block.
        if self.data.spilled() { self.data.capacity() as u64 + 16 } else { 0 }
    }
}

/// The stored part of `[start, end)` in `bytes`, which begin at the offset `at`.
pub(crate) fn slice_of(bytes: &[u8], at: u64, start: u64, end: u64) -> &[u8] {
    let from = ((start - at) as usize).min(bytes.len());
    let to = ((end - at) as usize).min(bytes.len());
    bytes.get(from..to).unwrap_or_default()
}
