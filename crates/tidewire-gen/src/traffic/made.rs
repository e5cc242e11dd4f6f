//! A frame that was made, and between whom.

/// Addresses of the two ends: the frames' own, of nobody.
pub(crate) const MACS: [[u8; 6]; 2] = [[2, 0x74, 0x77, 0, 0, 1], [2, 0x74, 0x77, 0, 0, 2]];

/// A frame that was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Its length, with room for the number at its end where frames are numbered.
    pub bytes: usize,
    /// Which end sends it: 0 the clients', 1 the servers'. With one interface both are it.
    pub end: usize,
    /// When it is due, nanoseconds since the beginning, where the traffic has times of its own.
    pub due_ns: Option<u64>,
}
