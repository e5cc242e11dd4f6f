//! Counting and dropping packets before they reach the engine.
//!
//! When a direction has reached its cutoff, the engine offers it to the `Shunt`. What is counted there is added to the
//! stream's figures when a FIN or RST comes, when the stream seems to have timed out, and when it ends; the counted
//! sequence numbers show how far the direction went. A direction whose other side is no longer seen is not doubted for
//! acknowledgments and windows. With cutoff 0 for everything the programs create entries themselves, after the first
//! packet of a direction that is no SYN. Where the tables are crowded, entries of silent streams are retired early,
//! without losing counts.

use std::time::Duration;

use crate::{Direction, FlowKey, Timestamp};

/// Figures of one direction that were counted before the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counted {
    /// Packets.
    pub packets: u64,
    /// Bytes of their frames on the wire.
    pub wire_bytes: u64,
    /// Bytes from the network layer up, by the length in the IP header.
    pub ip_bytes: u64,
    /// Bytes of transport payload.
    pub payload_bytes: u64,
    /// Timestamp of the last packet; `None`: no packet came.
    pub last: Option<Timestamp>,
    /// TCP: union of the flags.
    pub tcp_flags: u8,
    /// TCP: the highest sequence number beyond the payload, if known.
    pub end: Option<u32>,
}

impl Counted {
    /// Sums two figures.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let end = match (self.end, other.end) {
            (Some(a), Some(b)) => Some(if (b.wrapping_sub(a) as i32) > 0 { b } else { a }),
            (a, b) => a.or(b),
        };
        Self {
            packets: self.packets + other.packets,
            wire_bytes: self.wire_bytes + other.wire_bytes,
            ip_bytes: self.ip_bytes + other.ip_bytes,
            payload_bytes: self.payload_bytes + other.payload_bytes,
            last: self.last.max(other.last),
            tcp_flags: self.tcp_flags | other.tcp_flags,
            end,
        }
    }
}

/// Counts and drops packets of a direction before they reach the engine: a program in the kernel, or a network card.
///
/// Packets with SYN, FIN or RST must reach the engine nevertheless. The engine offers only flows outside tunnels;
/// fragments do not belong to them, only whole packets.
pub trait Shunt: Send {
    /// Starts counting and dropping the direction's packets. Packets in flight may still reach the engine. Returns
    /// false if that is not possible (no room, or no such key): the engine continues alone and does not ask again for
    /// this direction.
    fn cut(&mut self, key: &FlowKey, direction: Direction) -> bool;

    /// Figures of this direction since the last call of `counted` or [`retire`](Self::retire); `None`: the direction is
    /// not cut. Includes directions that the shunt cut unasked (see [`cuts_by_itself`](Self::cuts_by_itself)).
    fn counted(&mut self, key: &FlowKey, direction: Direction) -> Option<Counted>;

    /// Stops counting and returns the figures since the last call. Packets of this direction reach the engine again.
    fn retire(&mut self, key: &FlowKey, direction: Direction) -> Option<Counted>;

    /// Whether the shunt cuts directions unasked, after the first packet of each that is not a SYN. The engine then
    /// asks for every flow of TCP, UDP and SCTP when the flow ends.
    fn cuts_by_itself(&self) -> bool {
        false
    }

    /// Whether the shunt counts packets unasked, because it cuts directions or sheds packets. The engine then asks for
    /// every flow of TCP, UDP and SCTP when the flow ends.
    fn counts_by_itself(&self) -> bool {
        self.cuts_by_itself()
    }

    /// Called every few seconds of packet time: the shunt may remove entries that were silent for longer than
    /// `idle`. They belong to directions that were cut unasked and whose first packet the engine never saw.
    fn tidy(&mut self, idle: Duration) {
        let _ = idle;
    }

    /// Whether room is running short. Entries of silent directions are then retired early.
    fn is_crowded(&self) -> bool {
        false
    }

    /// Sets the direction's priority, 0 the lowest, by which the shunt sheds packets under overload. Called only for
    /// priorities above 0.
    fn prioritize(&mut self, key: &FlowKey, direction: Direction, priority: u8) {
        let _ = (key, direction, priority);
    }

    /// Packets that a filter before the rings left out so far, and their bytes, where they are counted: of one of the engines that
    /// share the programs; the others have none.
    fn filtered(&self) -> (u64, u64) {
        (0, 0)
    }

    /// Publishes the share of the memory in use, in thousandths.
    fn level(&mut self, permille: u32) {
        let _ = permille;
    }
}
