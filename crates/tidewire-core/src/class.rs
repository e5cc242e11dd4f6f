//! What an expression says of a new stream.

use crate::Frame;

/// What an expression says of a new stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Priority, 0 the lowest; `None`: the default (0).
    pub priority: Option<u8>,
    /// Cutoff by direction, `None`: the general one.
    pub cutoff: Option<[u64; 2]>,
    /// See [`Deliver::marks`](crate::Deliver::marks).
    pub marks: u64,
}

impl Class {
    /// A stream of no class.
    pub const NONE: Self = Self { priority: None, cutoff: None, marks: 0 };
}

/// Classifies streams by their first packet.
pub trait Classify: Send {
    /// The class of the stream that `bytes` (a whole frame, or a rebuilt IP packet with link type RAW) opens.
    fn classify(&mut self, frame: &Frame, bytes: &[u8]) -> Class;
}
