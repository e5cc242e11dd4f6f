//! In the place of what reads packets, where that is not built: nothing is seen.

use crate::fields::QuicEntry;

/// The history of a stream's packets, which is not kept.
#[derive(Debug, Default)]
pub struct QuicHistory(());

impl QuicHistory {
    /// Never: no packet is read.
    #[must_use]
    pub fn begins(_: &[u8], _: u16) -> bool {
        false
    }

    /// Reads nothing.
    pub fn datagram(&mut self, _: usize, _: &[u8], _: u64) {}

    /// No entries.
    #[must_use]
    pub fn finish(self) -> Vec<QuicEntry> {
        Vec::new()
    }

    /// Bytes that it holds.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
    }

    /// There is nothing to give back.
    pub fn release(&mut self) {}
}
