//! Memory layout that the programs and user space share; the other side of it is `bpf/layout.h`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tidewire_core::{Direction, Endpoint, FlowKey, Vlans};
use tidewire_types::ip_protocol::{SCTP, TCP, UDP};
use tidewire_wire::TunnelKind;

/// Places in the array of programs that call each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Jump {
    /// The user's filter: continues in [`Jump::Flow`] for matching frames, in [`Jump::Refused`] for the rest.
    Filter = 0,
    /// The flow tables, then delivery.
    Flow = 1,
    /// Counts what the filter refused, and drops it.
    Refused = 2,
    /// The steering program: redirects, or continues in [`Jump::Unsteered`].
    Steer = 3,
    /// Counts what a steering program drops, or has no socket for, and drops it.
    Unsteered = 4,
}

/// 64-bit words of a slot of the table for IPv4, and for IPv6.
pub(super) const SLOT_WORDS: [usize; 2] = [8, 16];
/// Words of the counters of one processor.
pub(super) const COUNTERS_WORDS: usize = 32;
/// Words that user space writes.
pub(super) const CONTROL_WORDS: usize = 8;
/// Slots looked at for a key.
pub(super) const PROBES: u32 = 32;

/// Words of a slot.
pub(super) mod word {
    pub(crate) const ADDRESSES: usize = 0;
    pub(crate) const REST: usize = 1;
    pub(crate) const BEGUN: usize = 2;
    pub(crate) const WIRE_BYTES: usize = 3;
    pub(crate) const IP_BYTES: usize = 4;
    pub(crate) const PAYLOAD_BYTES: usize = 5;
    /// The highest sequence number, and the tick in which the last packet came.
    pub(crate) const END_LAST: usize = 6;
    /// Bytes delivered so far, kind, TCP flags, packets done.
    pub(crate) const PASSED_KIND: usize = 7;
    /// IPv6: source and destination.
    pub(crate) const ADDRESS: usize = 8;
}

/// Of [`word::REST`]: never used, and used before. A key is larger.
pub(super) const EMPTY: u64 = 0;
/// See [`EMPTY`].
pub(super) const FREED: u64 = 1;
/// An entry is being written.
pub(super) const BUSY: u64 = 2;
/// Of [`word::BEGUN`]: no packet is counted into it any more.
pub(super) const CLOSED: u64 = 1 << 63;
/// Where in [`word::BEGUN`] the packets stand that were another entry's.
pub(super) const WITHDRAWN_AT: u32 = 48;
/// Where in [`word::PASSED_KIND`] the kind stands.
pub(super) const KIND_AT: u32 = 32;
/// Of a kind: packets are counted and dropped.
pub(super) const IS_CUT: u64 = 0x80;
/// Of a kind: the priority.
pub(super) const PRIORITY: u64 = 7;

/// A direction of a flow, as the tables have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    /// IPv4: source and destination as on the wire; IPv6: 0.
    pub(super) addresses: u64,
    /// Ports as on the wire, VLAN ids << 32, protocol << 56.
    pub(super) rest: u64,
    /// IPv6: source and destination.
    pub(super) address: Option<[u64; 4]>,
}

impl Key {
    /// The key of a flow's direction, where the programs can know it: TCP, UDP or SCTP outside of tunnels.
    pub(super) fn of(key: &FlowKey, direction: Direction) -> Option<Self> {
        if key.tunnel.kind != TunnelKind::None || !matches!(key.proto, TCP | UDP | SCTP) {
            return None;
        }
        let (source, destination) = match direction {
            Direction::ClientToServer => (key.client, key.server),
            Direction::ServerToClient => (key.server, key.client),
        };
        let [a, b] = source.port.to_be_bytes();
        let [c, d] = destination.port.to_be_bytes();
        let [outer, inner] = key.vlans.raw();
        let vlan = u64::from(outer & 0xfff) << 12 | u64::from(inner & 0xfff);
        let rest = u64::from(u32::from_ne_bytes([a, b, c, d])) | vlan << 32 | u64::from(key.proto) << 56;
        match (source.address, destination.address) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let [source, destination] = [source, destination].map(|ip| u64::from(u32::from_ne_bytes(ip.octets())));
                Some(Self { addresses: source | destination << 32, rest, address: None })
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                let ([a, b], [c, d]) = (halves(source.octets()), halves(destination.octets()));
                Some(Self { addresses: 0, rest, address: Some([a, b, c, d]) })
            }
            _ => None,
        }
    }

    /// The flow of which this is the client's direction.
    pub(super) fn describe(&self) -> FlowKey {
        let ports = (self.rest as u32).to_ne_bytes();
        let vid = |at: u32| if self.rest >> at & 0xfff == 0xfff { 0xffff } else { (self.rest >> at & 0xfff) as u16 };
        let [source, destination]: [IpAddr; 2] = match self.address {
            None => [self.addresses as u32, (self.addresses >> 32) as u32]
                .map(|address| Ipv4Addr::from(address.to_ne_bytes()).into()),
            Some([a, b, c, d]) => [[a, b], [c, d]].map(|[high, low]| {
                let [high, low] = [high, low].map(|half| u128::from(u64::from_be_bytes(half.to_ne_bytes())));
                Ipv6Addr::from_bits(high << 64 | low).into()
            }),
        };
        let [a, b, c, d] = ports;
        let client = Endpoint { address: source, port: u16::from_be_bytes([a, b]) };
        let server = Endpoint { address: destination, port: u16::from_be_bytes([c, d]) };
        let mut key = FlowKey::new(client, server, (self.rest >> 56) as u8);
        key.vlans = Vlans::from_raw([vid(44), vid(32)]);
        key
    }

    /// The sum that is hashed, with the key of the hash.
    pub(super) fn sum(&self, hash_key: &[u64; 11]) -> u64 {
        let parts = |word: u64, at: usize| {
            let low = hash_key[at].wrapping_mul(word & 0xffff_ffff);
            low.wrapping_add(hash_key[at + 1].wrapping_mul(word >> 32))
        };
        let sum = hash_key[10].wrapping_add(parts(self.rest, 8));
        match self.address {
            None => sum.wrapping_add(parts(self.addresses, 0)),
            Some(address) => {
                address.iter().enumerate().fold(sum, |sum, (at, word)| sum.wrapping_add(parts(*word, 2 * at)))
            }
        }
    }
}

/// Where the search for a key with this sum begins.
pub(super) fn place(sum: u64) -> u32 {
    ((sum ^ sum >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

fn halves(octets: [u8; 16]) -> [u64; 2] {
    let word = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&octets[at..at + 8]);
        u64::from_ne_bytes(bytes)
    };
    [word(0), word(8)]
}
