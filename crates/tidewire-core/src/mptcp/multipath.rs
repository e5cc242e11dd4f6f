//! State of Multipath TCP of an engine, beside its flows.

use super::{
    registry::{HashedKey, Registry},
    subflow::Event,
};
use crate::wire::Decoded;

/// State of Multipath TCP of an engine.
#[derive(Debug, Default)]
pub(crate) struct Multipath {
    pub registry: Registry,
    /// Contributions of subflows since the last delivery.
    pub events: Vec<Event>,
    /// Whether any flow is a subflow of a known connection.
    pub is_used: bool,
    /// Whether the bytes that are delivered are a connection's.
    pub is_delivering: bool,
    /// Whether another engine delivers the events.
    pub is_second: bool,
}

impl Multipath {
    /// Reads what a TCP segment says of keys and tokens. Returns the token that a SYN joins with.
    #[cold]
    pub(crate) fn read(
        &mut self,
        bytes: &[u8],
        decoded: &Decoded,
        flow: HashedKey,
        from_a: bool,
        clock_ns: u64,
    ) -> Option<u32> {
        self.registry.read(bytes.get(decoded.transport_at as usize..)?, flow, from_a, clock_ns)
    }
}
