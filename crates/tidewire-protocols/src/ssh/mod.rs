//! SSH (RFC 4253): identification and key exchange of both sides, and fingerprints of their algorithms (HASSH).

mod exchange;
mod fields;
#[cfg(test)]
mod tests;

pub use fields::Ssh;

pub(crate) use exchange::Exchange;
