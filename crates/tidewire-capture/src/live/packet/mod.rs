//! Packet sockets: rings of the third version (packet(7)), alone or in fan-out groups.
//!
//! [`Plan`] is what the settings come to: how many rings a worker has on an interface, how large they are, which programs
//! steer. [`Plan::open`] opens all rings of an interface, so that no worker sees a frame before every filter and every
//! member of the group is in place.
//!
//! A block of frames goes to user space when it is full, or [`RETIRE_MS`] old: the kernel's own rule makes a busy link fill
//! blocks and a quiet one deliver in time, whatever the rate is.

mod group;
mod plan;
mod ring;
mod shape;
mod steering;
mod tagged;

pub use plan::{Filters, Group, Plan, SocketFilter, SteeredOut};
pub use ring::PacketRing;

/// Age at which a block is handed over that is not full, milliseconds.
///
/// The promise is 10 ms from a frame to its delivery. Kernels with a timer wheel round up to their tick: 5 becomes 5, 8 and
/// 10 ms at 1000, 250 and 100 Hz; kernels since 6.18 keep to it. Blocks of 256 KiB then fill from 0.4 Gbit/s on.
pub const RETIRE_MS: u32 = 5;

/// [`RETIRE_MS`] at the coarsest tick, nanoseconds.
const DELAY_NS: u64 = 10_000_000;
