//! Where packets lie in a segment, as an index is built from it.

/// A packet: its number of flow, and the bytes of its block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub flow: u32,
    pub block_bytes: u32,
}

/// Times of the packets from an offset on, up to the next mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub offset: u64,
    /// The number of the first of them in the segment, from 0.
    pub first: u64,
    pub first_ns: u64,
    pub last_ns: u64,
}

impl Mark {
    /// The base of the differences of the first one.
    pub const NONE: Self = Self { offset: 0, first: 0, first_ns: 0, last_ns: 0 };
}

/// Packets from this one on lie so many bytes further back: other blocks are before them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Jump {
    pub packet: usize,
    pub offset: u64,
}
