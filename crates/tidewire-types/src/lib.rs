//! Vocabulary that every other crate may use: units of sizes and times, and names close to a mistyped one.
#![forbid(unsafe_code)]

mod nearest;
mod units;

pub use nearest::{nearest, ranked};
pub use units::{Binary, BitRate, Bytes, Count, Lasting, Share, Size, Span, counted};
