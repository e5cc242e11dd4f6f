//! Finds the packets of a stream in a segment that has no index yet, by their headers: as the recorder will attribute them.

use std::{collections::BTreeSet, ops::Range};

use tidewire::FlowKey;
use tidewire_types::tcp_flag::{ACK, FIN, RST, SYN};
use tidewire_wire::{Frame, Kind, Settings as WireSettings, addresses};

use crate::{Facts, Fragments, decode::decode_whole_or_cut, facts};

/// Fragments that came before the first one of their datagram, at most.
const EARLIER_MAX: usize = 1 << 16;
/// How long a connection that ended is remembered, for packets that are late: by the recorder, and where streams are found again.
pub const CLOSED_NS: u64 = 10_000_000_000;
/// Silence after which the next packet of a stream that has not ended begins another one, as the recorder has it.
pub(super) const IDLE_NS: u64 = 600_000_000_000;

/// A packet of a stream.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Its addresses, ports and protocol, the sender as the client.
    pub key: FlowKey,
    /// The same for both directions.
    pub conversation: FlowKey,
    /// Numbers of fragments of the same stream that came before it was known whose they are.
    pub earlier: Vec<u64>,
    is_from_lower: bool,
    flags: u8,
}

/// Walks the packets of a segment.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    wire: WireSettings,
    fragments: Fragments<u64>,
}

impl Walk {
    pub fn new(tunnel_depth: u8) -> Self {
        Self { wire: WireSettings::default().with_tunnel_depth(tunnel_depth), fragments: Fragments::default() }
    }

    /// The stream of a packet; `None`: of none, or a fragment of which that is not known yet.
    pub fn find(&mut self, number: u64, frame: &Frame, bytes: &[u8]) -> Option<Seen> {
        let decoded = decode_whole_or_cut(frame, bytes, &self.wire);
        if decoded.kind as u8 > Kind::Fragment as u8 {
            return None;
        }
        let (found, is_fragment) = facts(frame, bytes, &self.wire);
        let of = |facts: &Facts, is_from_lower: bool, flags: u8, earlier: Vec<u64>| {
            let conversation = facts.conversation();
            let (lower, higher) = (conversation.client, conversation.server);
            let (client, server) = if is_from_lower { (lower, higher) } else { (higher, lower) };
            let mut key = FlowKey::new(client, server, conversation.proto);
            key.icmp = facts.key.icmp;
            Seen { key, conversation, earlier, is_from_lower, flags }
        };
        if is_fragment {
            let Some(found) = self.fragments.add(frame, bytes, &self.wire) else {
                self.fragments.wait(number);
                return None;
            };
            return Some(of(&found.facts, found.is_from_lower, 0, found.earlier));
        }
        let flags = match decoded.kind {
            Kind::Tcp => bytes.get(decoded.transport_at as usize + 13).copied().unwrap_or(0),
            _ => 0,
        };
        let from = (addresses(bytes, &decoded).0, tidewire_wire::ports(bytes, &decoded).0);
        let facts = found?;
        let is_from_lower = from == (facts.key.client.address, facts.key.client.port);
        Some(of(&facts, is_from_lower, flags, Vec::new()))
    }
}

/// A connection, as far as it decides which packet begins the next one of the same addresses and ports.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Connection {
    pub last_ns: u64,
    pub fins: [bool; 2],
    pub is_ended: bool,
}

impl Connection {
    /// One whose first packet is of this time.
    pub fn begun(timestamp_ns: u64) -> Self {
        Self { last_ns: timestamp_ns, ..Self::default() }
    }

    /// Adds a packet of a conversation; true: it begins another connection.
    pub fn add(&mut self, seen: &Seen, timestamp_ns: u64) -> bool {
        let silent = timestamp_ns.saturating_sub(self.last_ns);
        let opens = seen.flags & (SYN | ACK) == SYN;
        let begins = silent > if self.is_ended { CLOSED_NS } else { IDLE_NS } || self.is_ended && opens;
        if begins {
            *self = Self::default();
        }
        self.last_ns = self.last_ns.max(timestamp_ns);
        if let Some(fin) = self.fins.get_mut(usize::from(seen.is_from_lower)) {
            *fin |= seen.flags & FIN != 0;
        }
        self.is_ended |= seen.flags & RST != 0 || self.fins == [true; 2];
        begins
    }
}

/// The packets of a segment that are looked for. Queried with each packet from its beginning on.
#[derive(Clone, Debug)]
pub(crate) struct Trace {
    walk: Walk,
    conversation: FlowKey,
    /// Numbers of packets, as the segment's are counted: those of the conversation in this range, and others.
    numbers: Range<u64>,
    earlier: BTreeSet<u64>,
}

impl Trace {
    /// Packets of a conversation: none yet.
    pub(super) fn new(walk: Walk, conversation: FlowKey) -> Self {
        Self { walk, conversation, numbers: 0..0, earlier: BTreeSet::new() }
    }

    /// Adds a packet of the stream to those that are looked for.
    pub(super) fn add(&mut self, number: u64, seen: &Seen) {
        if self.numbers.is_empty() {
            self.numbers = number..number;
        }
        self.numbers.end = number.saturating_add(1);
        let room = EARLIER_MAX.saturating_sub(self.earlier.len());
        self.earlier.extend(seen.earlier.iter().take(room));
    }

    /// Looks for none of those that were added.
    pub(super) fn clear(&mut self) {
        self.numbers = 0..0;
        self.earlier.clear();
    }

    /// Whether it looks for no packet.
    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Whether a packet is looked for.
    pub(super) fn has(&mut self, number: u64, frame: &Frame, bytes: &[u8]) -> bool {
        if number >= self.numbers.end {
            return false;
        }
        let conversation = self.walk.find(number, frame, bytes).map(|seen| seen.conversation);
        conversation == Some(self.conversation) && self.numbers.contains(&number) || self.earlier.contains(&number)
    }
}

#[cfg(test)]
mod tests {
    use tidewire::Endpoint;

    use super::*;

    fn seen(flags: u8, is_from_lower: bool) -> Seen {
        let end = |last: u8| Endpoint { address: [10, 0, 0, last].into(), port: last.into() };
        let key = FlowKey::new(end(1), end(2), 6);
        Seen { key, conversation: key, earlier: Vec::new(), is_from_lower, flags }
    }

    #[test]
    fn a_syn_after_the_end_or_a_long_silence_begins_another_connection() {
        let second = 1_000_000_000;
        let mut connection = Connection::begun(1000 * second);
        let mut add =
            |flags: u8, is_from_lower: bool, at: u64| connection.add(&seen(flags, is_from_lower), at * second);
        assert!(!add(SYN, true, 1000) && !add(SYN | ACK, false, 1001) && !add(SYN, true, 1002));
        assert!(!add(FIN | ACK, true, 1003) && !add(SYN, true, 1004), "one side ended");
        assert!(!add(FIN | ACK, false, 1005) && !add(ACK, true, 1006), "what is late");
        assert!(add(SYN, true, 1007), "a SYN after both ended");
        assert!(!add(ACK, false, 1600) && add(ACK, false, 2201), "silence");
        assert!(!add(RST, false, 2202) && !add(ACK, true, 2212) && add(ACK, true, 2223), "after a reset");
    }
}
