//! Packets one by one, as an iterator.

use std::{fmt, iter::FusedIterator, mem, sync::Arc};

use tidewire_core::{Ledger, wire::Settings as WireSettings};
use tidewire_files::Block;

use super::input_loop::{InputLoop, Next};
use crate::{Outcome, Packet};

/// The iterator of [`Capture::packets`](crate::Capture::packets): ends after the last packet of the input.
///
/// It does not report damage: [`finish`](Self::finish) returns that with the outcome.
#[must_use = "nothing is read before `next`"]
pub struct Packets<'a> {
    input: InputLoop<'a>,
    wire: WireSettings,
    /// Shared with the packets in it.
    block: Arc<Block>,
    next: usize,
    ledger: Ledger,
    has_ended: bool,
}

impl<'a> Packets<'a> {
    pub(super) fn new(input: InputLoop<'a>, wire: WireSettings) -> Self {
        Self { input, wire, block: Arc::default(), next: 0, ledger: Ledger::default(), has_ended: false }
    }

    /// Ends the run and returns its outcome, with the errors of the input. Input not yet read is not read. The ledger has the packets
    /// that [`next`](Iterator::next) returned.
    pub fn finish(self) -> Outcome<()> {
        let mut outcome = self.input.outcome(vec![()], self.ledger);
        outcome.interrupted |= !self.has_ended;
        outcome
    }

    /// Reads the next frames. A block that packets still share is left to them.
    fn read(&mut self) {
        self.next = 0;
        let mut block = Arc::into_inner(mem::take(&mut self.block)).unwrap_or_default();
        match self.input.next(&mut block) {
            Next::Frames => {}
            Next::Silence(..) => block.clear(),
            Next::End => {
                block.clear();
                self.has_ended = true;
            }
        }
        self.block = Arc::new(block);
    }
}

impl Iterator for Packets<'_> {
    type Item = Packet<'static>;

    fn next(&mut self) -> Option<Packet<'static>> {
        loop {
            if let Some(packet) = Packet::shared(&self.block, self.next, &self.wire) {
                self.next += 1;
                self.ledger.received += 1;
                self.ledger.received_bytes += packet.bytes().len() as u64;
                packet.settle(&mut self.ledger);
                return Some(packet);
            }
            if self.has_ended {
                return None;
            }
            self.read();
        }
    }
}

impl FusedIterator for Packets<'_> {}

impl fmt::Debug for Packets<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packets").field("has_ended", &self.has_ended).finish_non_exhaustive()
    }
}
