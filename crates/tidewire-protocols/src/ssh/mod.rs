//! SSH (RFC 4253): identification and key exchange of both sides, and fingerprints of their algorithms (HASSH).

mod exchange;
#[cfg(test)]
mod tests;

pub(crate) use exchange::Exchange;
