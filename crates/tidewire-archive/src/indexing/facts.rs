//! What a packet says by itself: all that a filter expression may see of it.

use tidewire::{Endpoint, FlowKey};
use tidewire_wire::{
    Decoded, Fragment, Frame, Kind, Settings as WireSettings, addresses, decode, icmp_type_and_code, ports,
};

use crate::index::Outer;

/// Headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Facts {
    /// Innermost addresses, ports and protocol, the lower end first. VLANs, too.
    pub key: FlowKey,
    /// The outermost IP header, the lower end first, if it is another one.
    pub outer: Option<Outer>,
}

/// A packet's headers; `None`: it is no IP packet, or cannot be walked. And whether it is a fragment.
#[must_use]
pub fn facts(frame: &Frame, bytes: &[u8], settings: &WireSettings) -> (Option<Facts>, bool) {
    let decoded = decode(frame.link, bytes, frame.wire_bytes, settings);
    if decoded.kind as u8 > Kind::Fragment as u8 {
        return (None, false);
    }
    let is_fragment = decoded.kind == Kind::Fragment;
    let (source, destination) = addresses(bytes, &decoded);
    let (proto, (from, to)) = proto_and_ports(bytes, &decoded);
    let mut ends = [Endpoint { address: source, port: from }, Endpoint { address: destination, port: to }];
    ends.sort();
    let [lower, higher] = ends;
    let mut key = FlowKey::new(lower, higher, proto);
    key.vlan = decoded.vlan;
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

/// Protocol and ports. A first fragment has the ports of its datagram.
fn proto_and_ports(bytes: &[u8], decoded: &Decoded) -> (u8, (u16, u16)) {
    if decoded.kind != Kind::Fragment {
        return (decoded.proto, ports(bytes, decoded));
    }
    let Fragment { proto, offset_bytes, data_at, .. } = decoded.fragment;
    let data = bytes.get(data_at as usize..);
    let ports = match data {
        Some(&[s0, s1, d0, d1, ..]) if offset_bytes == 0 && matches!(proto, 6 | 17 | 132) => {
            (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1]))
        }
        _ => (0, 0),
    };
    (proto, ports)
}

fn outer(frame: &Frame, bytes: &[u8]) -> Option<Outer> {
    let settings = WireSettings::default().with_tunnel_depth(0);
    let decoded = decode(frame.link, bytes, frame.wire_bytes, &settings);
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

impl Facts {
    /// Whether a stream's key has the same addresses, ports and protocol.
    pub(super) fn is_of(&self, key: &FlowKey) -> bool {
        let mut ends = [key.client, key.server];
        ends.sort();
        ends == [self.key.client, self.key.server] && key.proto == self.key.proto
    }
}
