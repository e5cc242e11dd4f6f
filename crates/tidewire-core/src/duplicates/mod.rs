//! Copies of packets: the same packet seen at several interfaces, or twice at a mirror port.
//!
//! [`Fingerprint`] identifies a packet by what forwarding leaves unchanged. [`DuplicateTable`] decides packet by packet,
//! [`DuplicatePattern`] whether an input is one of a mirror that copies packets.

use std::time::Duration;

mod fingerprint;
mod pattern;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use fingerprint::{Fingerprint, Secrets};
pub use pattern::{DuplicatePattern, Pattern};
pub(crate) use table::DuplicateTable;

/// Time within which a packet at another interface is a copy. A bridge or a queue delays by milliseconds; the first
/// retransmission of Linux comes after 200 ms at the earliest (`TCP_RTO_MIN`).
pub const COPY_TIME_MAX: Duration = Duration::from_nanos(COPY_NS_MAX);

pub(crate) const COPY_NS_MAX: u64 = 50_000_000;

/// Time within which a packet at the same interface is a copy: the two sides of a switch are microseconds apart.
pub const REPEAT_TIME_MAX: Duration = Duration::from_nanos(REPEAT_NS_MAX);

pub(crate) const REPEAT_NS_MAX: u64 = 10_000_000;

/// Packets that a table of duplicates remembers: 2 MiB. At a million packets a second those of 32 ms.
pub const REMEMBERED_PACKETS: usize = 1 << 15;
