//! What delivery leaves behind in a flow, for each of its applications.

use super::List;
use crate::Gap;

/// A chunk being gathered.
#[derive(Debug, Default)]
pub(crate) struct PendingChunk {
    /// Stream offset of `bytes[0]`.
    pub start: u64,
    pub bytes: Vec<u8>,
    /// How many of `bytes` were delivered before.
    pub repeated: usize,
    /// They are there because the application kept the chunk, not as overlap.
    pub is_kept: bool,
    /// Clock at which the first fresh byte came.
    pub since_ns: u64,
    /// What the budget was charged for it.
    pub charged: u64,
}

/// What is the flow's for a single handler, and each application's own where there are several.
#[derive(Debug)]
pub(crate) struct SubscriberState {
    pub subscriber: u32,
    pub priority: u8,
    /// Of the bits of `Flow::flags`: `DISCARDED`.
    pub discarded: u8,
    pub keep: bool,
    /// Of `Half::flags`, the bits that are an application's own.
    pub flags: [u16; 2],
    pub chunks: [u32; 2],
    pub delivered: [u64; 2],
    pub cutoff: [u64; 2],
    pub gaps: List<Gap>,
    pub pending_chunk: [Option<Box<PendingChunk>>; 2],
}
