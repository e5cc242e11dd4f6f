//! Bounds of a capture of all interfaces.

/// Interfaces that may appear while `any` is captured. Each takes a socket for each worker from the beginning, and a ring once it
/// appears.
pub(crate) const APPEARING_MAX: usize = 32;

/// Smallest ring of an interface of `any`: a few dozen blocks. Those that appear have such rings.
pub(crate) const ANY_RING_BYTES_MIN: usize = 8 << 20;
