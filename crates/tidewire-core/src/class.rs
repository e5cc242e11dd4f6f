//! Priority and cutoff of single streams.

use crate::{DirectionCutoff, Frame};

/// Priority and cutoff of a new stream, by its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Class {
    /// Priority, 0 the lowest; `None`: the default (0).
    pub priority: Option<u8>,
    /// Bytes of each direction that are delivered; `None`: [`Config::cutoff`](crate::Config::cutoff).
    pub cutoff: Option<DirectionCutoff>,
    /// See [`Membership::marks`](crate::Membership::marks). For this workspace only; exempt from semantic versioning.
    #[doc(hidden)]
    pub marks: u64,
}

impl Class {
    /// A stream of no class.
    pub const NONE: Self = Self { priority: None, cutoff: None, marks: 0 };

    /// Sets [`priority`](Self::priority), in a method chain.
    #[must_use]
    pub const fn with_priority(mut self, priority: Option<u8>) -> Self {
        self.priority = priority;
        self
    }

    /// Sets [`cutoff`](Self::cutoff), in a method chain.
    #[must_use]
    pub const fn with_cutoff(mut self, cutoff: Option<DirectionCutoff>) -> Self {
        self.cutoff = cutoff;
        self
    }
}

/// Classifies streams by their first packet.
pub trait Classify: Send {
    /// The class of the stream that `bytes` (a whole frame, or a rebuilt IP packet with link type RAW) opens.
    fn classify(&mut self, frame: &Frame, bytes: &[u8]) -> Class;
}
