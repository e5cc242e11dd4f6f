//! How an engine keeps packets from reaching it at all (S3, S4).

use crate::{Direction, FlowKey};

/// What was counted of one direction without the engine seeing it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counted {
    /// Packets.
    pub packets: u64,
    /// Bytes of their frames, on the wire.
    pub wire_bytes: u64,
    /// Bytes of their packets from the network layer up, by the IP header's own length.
    pub ip_bytes: u64,
    /// Bytes of transport payload.
    pub payload_bytes: u64,
    /// When the last one came: nanoseconds since the epoch, as frames' timestamps; 0: none came.
    pub last_ns: u64,
    /// TCP: every flag that was set in one of them.
    pub tcp_flags: u8,
    /// TCP: the highest sequence number beyond the payload, where one is known.
    pub end: Option<u32>,
}

impl Counted {
    /// Both together.
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
            last_ns: self.last_ns.max(other.last_ns),
            tcp_flags: self.tcp_flags | other.tcp_flags,
            end,
        }
    }
}

/// Something before the engine that can count and drop packets of a direction: a program in the kernel, a network card.
///
/// What must reach the engine all the same: packets with SYN, FIN or RST. Only flows outside of tunnels are offered, and
/// only whole packets belong to them, not fragments.
pub trait Shunt: Send {
    /// From now on the direction's packets may be counted and dropped before the engine. Packets under way still come.
    /// False: it cannot be done (no room, or no such key); the engine goes on by itself, and does not ask again for this
    /// direction.
    fn cut(&mut self, key: &FlowKey, direction: Direction) -> bool;

    /// What was counted of this direction since the last call of this or [`retire`](Self::retire), or `None` where the
    /// direction is not cut. Also of directions that the shunt cut by itself (see [`cuts_by_itself`](Self::cuts_by_itself)).
    fn counted(&mut self, key: &FlowKey, direction: Direction) -> Option<Counted>;

    /// Ends it, and gives what was counted since the last call. Packets of this direction reach the engine again.
    fn retire(&mut self, key: &FlowKey, direction: Direction) -> Option<Counted>;

    /// Whether directions are cut without being asked: after the first packet of each that is no SYN. Every flow of TCP,
    /// UDP and SCTP then has to be asked for when it ends.
    fn cuts_by_itself(&self) -> bool {
        false
    }

    /// Whether packets are counted without being asked, because directions are cut, or packets shed: every flow of TCP, UDP
    /// and SCTP then has to be asked for when it ends.
    fn counts_by_itself(&self) -> bool {
        self.cuts_by_itself()
    }

    /// Called every few seconds of packet time: entries that were silent for longer than `idle_ns` are no flow's any more
    /// (of directions that were cut by themselves, and whose first packet the engine never saw), and may go.
    fn tidy(&mut self, idle_ns: u64) {
        let _ = idle_ns;
    }

    /// Whether there is little room left: then entries of silent directions are retired early, before there is none.
    fn is_crowded(&self) -> bool {
        false
    }

    /// Tells which priority the direction has, 0 the lowest: under overload the shunt sheds by it. Only for priorities
    /// above 0.
    fn prioritize(&mut self, key: &FlowKey, direction: Direction, priority: u8) {
        let _ = (key, direction, priority);
    }

    /// Publishes the share of the memory in use, in thousandths.
    fn level(&mut self, permille: u32) {
        let _ = permille;
    }
}
