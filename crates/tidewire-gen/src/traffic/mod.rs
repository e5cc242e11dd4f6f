//! Frames made to order, one after the other.

mod flows;
mod fragments;
mod headers;
mod pattern;
mod replay;
mod rewrite;
mod tcp;

pub use flows::{Class, FlowKind, Flows, Order};
pub use fragments::{FragmentOrder, FragmentSettings, Fragments};
pub use headers::Link;
pub(crate) use pattern::PATTERN;
pub use replay::{Replay, ReplayError, ReplaySettings};
pub use tcp::{CONCURRENT_MAX, Connections, TcpSettings};

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

/// What makes frames.
pub trait Traffic {
    /// Writes the next frame to the beginning of `frame`, which has room for [`bytes_max`](Self::bytes_max). `number` is the
    /// frame's, counted from 0. `None`: there are no more.
    fn next(&mut self, number: u64, frame: &mut [u8]) -> Option<Made>;

    /// Begins anew: the same frames follow as at first.
    fn rewind(&mut self);

    /// Bytes of the longest frame, with its number.
    fn bytes_max(&self) -> usize;

    /// The same as flows that a kernel program can make up, where they are no more than that.
    fn flows(&self) -> Option<&Flows> {
        None
    }

    /// Whether frames are to be numbered: then [`Made::bytes`] includes the number's.
    fn numbered(&self) -> bool;

    /// What was made so far, by name, besides frames and bytes.
    fn tally(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
