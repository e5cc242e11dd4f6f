//! Facts of a packet by itself: all that a filter expression may see of it.

use std::net::IpAddr;

use tidewire::{Endpoint, FlowKey, Vlans};
use tidewire_types::ip_protocol::{ICMP, ICMP6, SCTP, TCP, UDP};
use tidewire_wire::{
    Decoded, Fragment, Frame, Kind, LinkType, Settings as WireSettings, addresses, icmp_type_and_code, ports,
};

use crate::{decode::decode_whole_or_cut, index::Outer};

/// Types of Ethernet frames.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const ARP: u16 = 0x0806;
const RARP: u16 = 0x8035;
/// The protocol of frames that are no IP: reserved, and of no packet.
const NO_PROTO: u8 = 255;

/// Headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Facts {
    /// Innermost addresses, ports and protocol, the lower end first. VLANs, too.
    pub key: FlowKey,
    /// The outermost IP header, the lower end first, if it is another one.
    pub outer: Option<Outer>,
}

/// A packet's headers; `None`: it is not known what a filter expression may see of it. And whether it is a fragment.
#[must_use]
pub fn facts(frame: &Frame, bytes: &[u8], settings: &WireSettings) -> (Option<Facts>, bool) {
    let decoded = decode_whole_or_cut(frame, bytes, settings);
    if decoded.kind as u8 > Kind::Fragment as u8 {
        return (of_ethernet(frame, bytes), false);
    }
    let is_fragment = decoded.kind == Kind::Fragment;
    let (source, destination) = addresses(bytes, &decoded);
    let (proto, (from, to)) = proto_and_ports(bytes, &decoded);
    let mut ends = [Endpoint { address: source, port: from }, Endpoint { address: destination, port: to }];
    ends.sort();
    let [lower, higher] = ends;
    let mut key = FlowKey::new(lower, higher, proto);
    key.vlans = decoded.vlans;
    if let Some((kind, code)) = icmp_type_and_code(bytes, &decoded) {
        key.icmp = [kind, code];
    }
    let outer = if decoded.outer_ip_at == decoded.ip_at {
        None
    } else {
        match outer(frame, bytes) {
            Some(outer) => Some(outer),
            None => return (None, is_fragment),
        }
    };
    (Some(Facts { key, outer }), is_fragment)
}

/// Fields that expressions see in an untagged Ethernet frame that cannot be walked, or is no IP: they look at fixed offsets in any frame.
/// Without these fields any search would read all such frames, which lie everywhere.
fn of_ethernet(frame: &Frame, bytes: &[u8]) -> Option<Facts> {
    if frame.link != LinkType::ETHERNET {
        return None;
    }
    let v4 = |at: usize| -> Option<IpAddr> { Some((*bytes.get(at..)?.first_chunk::<4>()?).into()) };
    let v6 = |at: usize| -> Option<IpAddr> { Some((*bytes.get(at..)?.first_chunk::<16>()?).into()) };
    let port =
        |at: usize| bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |port| u16::from_be_bytes(*port));
    let (ends, proto, ports_at) = match port(12) {
        IPV4 => ([v4(26)?, v4(30)?], *bytes.get(23)?, 14 + usize::from(bytes.get(14)? & 15) * 4),
        IPV6 => ([v6(22)?, v6(38)?], *bytes.get(20)?, 54),
        ARP | RARP => ([v4(28)?, v4(38)?], NO_PROTO, usize::MAX),
        // Other headers follow, which some expressions step over.
        0x8100 | 0x88a8 | 0x9100 | 0x9200 | 0x8847 | 0x8848 | 0x8863 | 0x8864 => return None,
        _ if bytes.len() < 14 => return None,
        _ => ([IpAddr::from([0; 4]); 2], NO_PROTO, usize::MAX),
    };
    // Behind extension headers and in tunnels expressions may find others.
    if proto != NO_PROTO && !matches!(proto, ICMP | TCP | UDP | ICMP6 | SCTP) {
        return None;
    }
    let ports = match proto {
        TCP | UDP | SCTP => [port(ports_at), port(ports_at.checked_add(2)?)],
        _ => [0; 2],
    };
    if proto == UDP && ports.iter().any(|port| matches!(port, 4789 | 6081 | 8472)) {
        return None;
    }
    let mut ends = [0, 1].map(|side: usize| Endpoint { address: ends[side], port: ports[side] });
    ends.sort();
    let [lower, higher] = ends;
    Some(Facts { key: FlowKey::new(lower, higher, proto), outer: None })
}

/// Protocol and ports. A first fragment has the ports of its datagram.
fn proto_and_ports(bytes: &[u8], decoded: &Decoded) -> (u8, (u16, u16)) {
    if decoded.kind != Kind::Fragment {
        return (decoded.proto, ports(bytes, decoded));
    }
    let Fragment { proto, offset_bytes, data_at, .. } = decoded.fragment;
    let data = bytes.get(data_at as usize..);
    let ports = match data {
        Some(&[s0, s1, d0, d1, ..]) if offset_bytes == 0 && matches!(proto, TCP | UDP | SCTP) => {
            (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]))
        }
        _ => (0, 0),
    };
    (proto, ports)
}

fn outer(frame: &Frame, bytes: &[u8]) -> Option<Outer> {
    let settings = WireSettings::default().with_tunnel_depth(0);
    let decoded = decode_whole_or_cut(frame, bytes, &settings);
    if decoded.kind as u8 > Kind::Fragment as u8 {
        return None;
    }
    let (source, destination) = addresses(bytes, &decoded);
    let (proto, (from, to)) = proto_and_ports(bytes, &decoded);
    let mut ends = [Endpoint { address: source, port: from }, Endpoint { address: destination, port: to }];
    ends.sort();
    let [source, destination] = ends;
    Some(Outer { source, destination, proto })
}

/// The same key with other VLANs.
pub(super) fn with_vlan(mut key: FlowKey, vlans: Vlans) -> FlowKey {
    key.vlans = vlans;
    key
}

impl Facts {
    /// Whether a stream's key has the same addresses, ports and protocol. A fragment's ports may not be known.
    pub(super) fn is_of(&self, key: &FlowKey, is_fragment: bool) -> bool {
        let mut ends = [key.client, key.server];
        let mut own = [self.key.client, self.key.server];
        if is_fragment && own.iter().all(|end| end.port == 0) {
            ends.iter_mut().chain(&mut own).for_each(|end| end.port = 0);
        }
        ends.sort();
        ends == own && key.proto == self.key.proto
    }

    /// Addresses, ports and protocol alone.
    pub(crate) fn conversation(&self) -> FlowKey {
        FlowKey::new(self.key.client, self.key.server, self.key.proto)
    }
}
