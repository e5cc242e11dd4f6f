//! Records of flows: what an index knows of the packets under a number.

use std::net::IpAddr;

use tidewire::{EndReason, Endpoint, FlowKey};
use tidewire_types::ip_protocol::has_ports;

/// Packets and their captured bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Amount {
    /// How many packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The outermost IP header of packets in a tunnel: what a filter expression sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outer {
    /// One end.
    pub source: Endpoint,
    /// The other end.
    pub destination: Endpoint,
    /// IP protocol number.
    pub proto: u8,
}

/// Facts of the packets that have one number in a segment. Each of them holds for all these packets: a conversation whose
/// packets have several VLANs, or come in several tunnels, has several records with one stream id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowRecord {
    /// Id of the stream: the number of its first packet in the input, from 1. 0: no stream.
    pub stream: u64,
    /// Innermost addresses, ports, protocol, VLANs and tunnel. `None`: not known, or not the same for all of its packets; any
    /// search reads them.
    pub key: Option<FlowKey>,
    /// The outermost IP header, where it is another one.
    pub outer: Option<Outer>,
    /// Priority, 0 the lowest.
    pub priority: u8,
    /// Time of its first packet in the segment, nanoseconds since the epoch.
    pub first_ns: u64,
    /// Time of its last packet in the segment.
    pub last_ns: u64,
    /// Packets and bytes that were written, by direction.
    pub written: [Amount; 2],
    /// Packets and bytes that were cut off, by direction.
    pub cut_off: [Amount; 2],
    /// Cutoff of each direction, bytes; `u64::MAX`: none.
    pub cutoff_bytes: [u64; 2],
    /// Why it ended; `None`: it had not ended when the segment did.
    pub end: Option<EndReason>,
    /// TCP flags of each direction.
    pub tcp_flags: [u8; 2],
}

impl FlowRecord {
    /// A record of nothing: for packets that belong to no stream.
    pub const NONE: Self = Self {
        stream: 0,
        key: None,
        outer: None,
        priority: 0,
        first_ns: u64::MAX,
        last_ns: 0,
        written: [Amount { packets: 0, bytes: 0 }; 2],
        cut_off: [Amount { packets: 0, bytes: 0 }; 2],
        cutoff_bytes: [u64::MAX; 2],
        end: None,
        tcp_flags: [0; 2],
    };

    /// A record of a stream, without packets.
    #[must_use]
    pub const fn new(stream: u64, key: FlowKey) -> Self {
        Self { stream, key: Some(key), ..Self::NONE }
    }
}

/// A search term of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Term {
    /// Records without a key: every search reads them.
    Unknown,
    Address(IpAddr),
    Port(u16),
    Proto(u8),
    Vlan(u16),
}

/// Bytes of a term at most.
pub(crate) const TERM_BYTES_MAX: usize = 17;

impl Term {
    /// Its bytes: they sort as terms do.
    pub fn encode(self, out: &mut Vec<u8>) {
        match self {
            Self::Unknown => out.push(0),
            Self::Address(IpAddr::V4(address)) => {
                out.push(1);
                out.extend_from_slice(&address.octets());
            }
            Self::Address(IpAddr::V6(address)) => {
                out.push(2);
                out.extend_from_slice(&address.octets());
            }
            Self::Port(port) => {
                out.push(3);
                out.extend_from_slice(&port.to_be_bytes());
            }
            Self::Proto(proto) => out.extend_from_slice(&[4, proto]),
            Self::Vlan(vlan) => {
                out.push(5);
                out.extend_from_slice(&vlan.to_be_bytes());
            }
        }
    }

    /// Calls `add` with each term of a record.
    pub fn of(record: &FlowRecord, mut add: impl FnMut(Self)) {
        let Some(key) = &record.key else { return add(Self::Unknown) };
        let mut end = |endpoint: &Endpoint, proto: u8| {
            add(Self::Address(endpoint.address));
            if has_ports(proto) {
                add(Self::Port(endpoint.port));
            }
        };
        end(&key.client, key.proto);
        end(&key.server, key.proto);
        if let Some(outer) = &record.outer {
            end(&outer.source, outer.proto);
            end(&outer.destination, outer.proto);
            add(Self::Proto(outer.proto));
        }
        add(Self::Proto(key.proto));
        for vlan in key.vlans.iter() {
            add(Self::Vlan(vlan));
        }
    }
}
