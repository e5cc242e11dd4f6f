//! Segments that wait for the beginning of a stream that was joined midway.

use crate::Direction;

/// Most arrivals that are noted, of both directions; then the wait ends. About as many segments of one byte end it in one
/// direction (see `Config::hole_bytes_strict`).
pub(crate) const ARRIVALS_MAX: usize = 1024;

/// A segment that waits for the beginning of its stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub direction: Direction,
    /// Internal offset behind it.
    pub end: u64,
    pub timestamp_ns: u64,
}
