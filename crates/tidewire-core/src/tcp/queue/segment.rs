//! Bytes with a place.

use smallvec::SmallVec;

/// Bytes that wait. A few stand beside their place: memory of their own would cost an attacker's segments of one byte as much
/// as honest ones.
pub(crate) type Waiting = SmallVec<[u8; 16]>;

/// Bytes at an offset.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    /// Offset of the first byte in the stream.
    pub start: u64,
    /// Bytes of the stream that are covered; the bytes themselves may be fewer.
    pub length: u32,
    /// The bytes, after `head` that are no longer part of it.
    pub data: Waiting,
    /// `head` and `is_wrong`: a node of the tree is to fit into a cache line.
    marks: u32,
}

/// Of `marks`: `is_wrong`.
const WRONG: u32 = 1 << 31;

impl Segment {
    /// Bytes at their place; fewer than `end - start` where they were not captured.
    #[inline]
    pub fn new(start: u64, end: u64, bytes: &[u8], is_wrong: bool) -> Self {
        debug_assert!(end - start <= u32::MAX.into());
        let marks = if is_wrong { WRONG } else { 0 };
        Self { start, length: (end - start) as u32, data: Waiting::from_slice(bytes), marks }
    }

    /// See `data`.
    #[inline]
    pub fn head(&self) -> usize {
        (self.marks & !WRONG) as usize
    }

    /// See `Incoming::is_wrong`.
    #[inline]
    pub fn is_wrong(&self) -> bool {
        self.marks & WRONG != 0
    }

    /// Leaves out so many more bytes at the beginning.
    pub fn skip(&mut self, bytes: usize) {
        self.marks += bytes as u32;
    }

    /// Keeps its place, but not the bytes.
    pub fn forget_bytes(&mut self) {
        (self.data, self.marks) = (Waiting::new(), self.marks & WRONG);
    }

    /// Offset after the last byte.
    #[inline]
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }

    /// The bytes that are there; fewer than `length` when snapped or not kept.
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
        // An allocator keeps about two words beside each block.
        if self.data.spilled() { self.data.capacity() as u64 + 16 } else { 0 }
    }
}

/// What is there of `[start, end)` in `bytes`, which begin at the offset `at`.
pub(crate) fn slice_of(bytes: &[u8], at: u64, start: u64, end: u64) -> &[u8] {
    let from = ((start - at) as usize).min(bytes.len());
    let to = ((end - at) as usize).min(bytes.len());
    bytes.get(from..to).unwrap_or_default()
}
