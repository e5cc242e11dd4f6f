//! Fragments to datagrams, and these to their flows.

use super::Engine;
use crate::{Fate, Frame, Handler, wire::Decoded};

impl<H: Handler> Engine<H> {
    /// Takes in a fragment.
    pub(crate) fn fragment(&mut self, frame: &Frame, bytes: &[u8], decoded: &Decoded, nesting: u32) {
        let _ = (frame, bytes, decoded, nesting);
        if self.share.index == 0 {
            self.core.ledger.settle(Fate::FragmentUnfinished);
        }
    }

    /// Settles the fragments that still wait.
    pub(crate) fn finish_fragments(&mut self) {}
}
