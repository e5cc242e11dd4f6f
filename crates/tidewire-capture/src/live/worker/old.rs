use tidewire_core::Frame;

use crate::{filter::bpf::Program, sys::arena::Arena};

/// What becomes of frames that arrived before the filter was replaced.
pub(super) enum Old {
    Wanted,
    Unwanted,
    /// What the new one says.
    Asked(Program),
}

impl Old {
    #[cold]
    pub(super) fn takes(&self, arena: &Arena, frame: &Frame) -> bool {
        match self {
            Self::Wanted => true,
            Self::Unwanted => false,
            Self::Asked(program) => {
                let memory = arena.bytes();
                let bytes = memory.get(frame.at as usize..).and_then(|from| from.get(..frame.captured_bytes as usize));
                bytes.is_some_and(|bytes| program.matches(bytes, frame.wire_bytes))
            }
        }
    }
}
