use tidewire_filter::{Program, matches};
use tidewire_wire::{Frame, Parts as _};

use crate::sys::arena::View;

/// The decision on frames that arrived before the filter was replaced.
pub(super) enum StaleVerdict {
    Keep,
    Drop,
    /// The new filter decides.
    Ask(Program),
}

impl StaleVerdict {
    #[cold]
    pub(super) fn takes(&self, view: &View, frame: &Frame) -> bool {
        match self {
            Self::Keep => true,
            Self::Drop => false,
            Self::Ask(program) => {
                let bytes = view.part(frame.at as usize, frame.captured_bytes as usize);
                bytes.is_some_and(|bytes| matches(program, bytes, frame.wire_bytes))
            }
        }
    }
}
