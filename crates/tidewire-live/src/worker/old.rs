use tidewire_filter::{Program, matches};
use tidewire_wire::{Frame, Parts as _};

use crate::sys::arena::View;

/// What becomes of frames that arrived before the filter was replaced.
pub(super) enum Old {
    Wanted,
    Unwanted,
    /// What the new one says.
    Asked(Program),
}

impl Old {
    #[cold]
    pub(super) fn takes(&self, view: &View, frame: &Frame) -> bool {
        match self {
            Self::Wanted => true,
            Self::Unwanted => false,
            Self::Asked(program) => {
                let bytes = view.part(frame.at as usize, frame.captured_bytes as usize);
                bytes.is_some_and(|bytes| matches(program, bytes, frame.wire_bytes))
            }
        }
    }
}
