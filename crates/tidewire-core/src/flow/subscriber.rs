//! The state that delivery keeps in a flow, for each application.

use super::List;
use crate::Gap;

/// A chunk that is being filled.
#[derive(Debug, Default)]
pub(crate) struct PendingChunk {
    /// Stream offset of `bytes[0]`.
    pub start: u64,
    pub bytes: Vec<u8>,
    /// How many of `bytes` were delivered before.
    pub repeated: usize,
    /// Whether the repeated bytes are a kept chunk, and not overlap.
    pub is_kept: bool,
    /// Clock at which the first new byte arrived.
    pub since_ns: u64,
    /// Bytes charged to the budget.
    pub charged: u64,
}

/// The state that a single handler has in the flow, for each of several applications.
#[derive(Debug)]
pub(crate) struct SubscriberState {
    pub subscriber: u32,
    pub priority: u8,
    /// The application's bits of `Flow::flags`: `DISCARDED`.
    pub discarded: u8,
    pub keep: bool,
    /// The application's bits of `Half::flags`.
    pub flags: [u16; 2],
    pub chunks: [u32; 2],
    pub delivered: [u64; 2],
    pub cutoff: [u64; 2],
    pub gaps: List<Gap>,
    pub pending_chunk: [Option<Box<PendingChunk>>; 2],
}
