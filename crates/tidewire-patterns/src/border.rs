//! State of a direction between two pieces.

use super::automaton;

/// Bytes that may be compared with patterns for each byte that is searched: text that nearly matches costs more than that by
/// samples, and no more than other text by an automaton.
pub(super) const COMPARED_PER_BYTE_MAX: u64 = 4;
/// Bytes that may be compared beyond those: what a few near matches of the longest patterns take.
pub(super) const COMPARED_BYTES_MAX: u64 = 8 << 10;

/// State of one direction between two pieces.
#[derive(Debug, Default)]
pub struct Border {
    /// For samples: the last bytes, one less than the longest pattern.
    pub(super) tail: Vec<u8>,
    /// For the automata: their states, if any.
    pub(super) states: automaton::States,
    /// Bytes searched by samples, and bytes compared with patterns for that.
    pub(super) searched: u64,
    pub(super) compared: u64,
}

impl Border {
    /// Resets the state: bytes are missing.
    pub fn reset(&mut self) {
        self.tail.clear();
        self.states = Default::default();
    }

    /// Whether text that nearly matches cost so much that the rest is searched by an automaton.
    pub(super) fn is_costly(&self) -> bool {
        self.compared > COMPARED_BYTES_MAX + self.searched.saturating_mul(COMPARED_PER_BYTE_MAX)
    }
}
