//! A generated frame, and its MAC addresses.

/// MAC addresses of the two ends; no interface has them.
pub(crate) const MACS: [[u8; 6]; 2] = [[2, 0x74, 0x77, 0, 0, 1], [2, 0x74, 0x77, 0, 0, 2]];

/// A generated frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Made {
    /// Its length, including the trailer if frames are numbered.
    pub bytes: usize,
    /// Which end sends it: 0 the clients', 1 the servers'. A single interface is both.
    pub end: usize,
    /// When it is due, nanoseconds since the beginning, if the traffic has timestamps.
    pub due_ns: Option<u64>,
}
