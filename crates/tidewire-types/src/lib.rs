//! Vocabulary that every other crate may use: units of sizes and times, names close to a mistyped one, directions, endpoints and
//! statistics of streams, numbers and names of IP protocols, TCP's control bits, hexadecimal text, the calendar, a keyed hash, and Community
//! IDs. With the
//! feature `random`, random bytes of the system as well, and with `clock` its time; nothing else here reads anything from outside.
#![forbid(unsafe_code)]

pub mod calendar;
#[cfg(feature = "clock")]
pub mod clock;
pub mod community;
pub mod hex;
pub mod ip_protocol;
mod nearest;
mod priority;
#[cfg(feature = "random")]
pub mod random;
#[cfg(feature = "serde")]
#[doc(hidden)]
pub mod serial;
pub mod siphash;
mod stream;
mod system_time;
pub mod tcp_flag;
mod timestamp;
mod units;
mod vlan;

pub use ip_protocol::{protocol_name, protocol_number};
pub use nearest::{nearest, ranked};
pub use priority::is_shed;
pub use stream::{Direction, DirectionStats, Endpoint, PRIORITIES_MAX};
pub use timestamp::{Timestamp, TimestampOutOfRange, saturating_nanos};
pub use units::{Binary, BitRate, Bytes, Count, Lasting, Share, Size, Span, counted};
pub use vlan::Vlans;
