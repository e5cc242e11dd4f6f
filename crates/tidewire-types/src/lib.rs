//! Vocabulary that every other crate may use: units of sizes and times, names close to a mistyped one, directions, endpoints and
//! statistics of streams, names of IP protocols, hexadecimal text, the calendar, and a keyed hash. With the feature `random`, random
//! bytes of the system as well; nothing else here reads anything from outside.
#![forbid(unsafe_code)]

pub mod calendar;
pub mod hex;
mod nearest;
mod protocol;
#[cfg(feature = "random")]
pub mod random;
pub mod siphash;
mod stream;
mod units;

pub use nearest::{nearest, ranked};
pub use protocol::{protocol_name, protocol_number};
pub use stream::{Direction, DirectionStats, Endpoint};
pub use units::{Binary, BitRate, Bytes, Count, Lasting, Share, Size, Span, counted};
