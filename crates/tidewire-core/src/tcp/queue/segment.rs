//! Bytes with a place.

/// Bytes at an offset, and the packet that brought them.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    /// Offset of the first byte in the stream.
    pub start: u64,
    /// Bytes of the stream that are covered; the bytes themselves may be fewer.
    pub length: u64,
    /// The bytes, after `head` that are no longer part of it.
    pub data: Vec<u8>,
    /// See `data`.
    pub head: u32,
    /// See `Incoming::is_wrong`.
    pub is_wrong: bool,
    /// When the packet came, nanoseconds.
    pub timestamp_ns: u64,
    /// The packet's number.
    pub number: u64,
}

impl Segment {
    /// Offset after the last byte.
    #[inline]
    pub fn end(&self) -> u64 {
        self.start + self.length
    }

    /// The bytes that are there; fewer than `length` when snapped or not kept.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.data.get(self.head as usize..).unwrap_or_default()
    }

    /// A copy of a part of it.
    pub fn part(&self, start: u64, end: u64) -> Self {
        let data = slice_of(self.bytes(), self.start, start, end).to_vec();
        Self { start, length: end - start, data, head: 0, ..*self }
    }

    /// Memory of its bytes.
    #[inline]
    pub fn data_charge(&self) -> u64 {
        // An allocator keeps about two words beside each block.
        if self.data.capacity() == 0 { 0 } else { self.data.capacity() as u64 + 16 }
    }
}

/// What is there of `[start, end)` in `bytes`, which begin at the offset `at`.
pub(crate) fn slice_of(bytes: &[u8], at: u64, start: u64, end: u64) -> &[u8] {
    let from = ((start - at) as usize).min(bytes.len());
    let to = ((end - at) as usize).min(bytes.len());
    bytes.get(from..to).unwrap_or_default()
}
