//! Whether a packet's headers have the address, port, network, VLAN and protocol that are looked for.

use tidewire_filter::Filter;
use tidewire_types::ip_protocol::has_ports;
use tidewire_wire::{Decoded, Frame, Kind, Settings as WireSettings, addresses, ports};

use super::wanted::Query;
use crate::decode::decode_whole_or_cut;

/// Conditions on headers, as they are applied to packets.
#[derive(Debug)]
pub(super) struct Headers {
    has_conditions: bool,
    /// The same in libpcap's language, of the outermost header: packets whose transport header is short or wrong are found as
    /// `host` and `port` of an expression find them. `None`: there is no condition on IP.
    outer: Option<Filter>,
}

impl Headers {
    pub fn new(query: &Query) -> Self {
        let Query { hosts, ports, net, vlan, protocol, .. } = query;
        let primitives = [
            any(hosts.iter().map(|host| format!("host {host}"))),
            any(ports.iter().map(|port| format!("port {port}"))),
            net.map(|net| net.expression()),
            protocol.map(|protocol| format!("(ip proto {protocol} or ip6 proto {protocol})")),
        ];
        let primitives: Vec<String> = primitives.into_iter().flatten().collect();
        let has_conditions = !primitives.is_empty() || vlan.is_some();
        let outer = primitives.join(" and ");
        // Behind up to two tags: what follows `vlan` looks behind the tag.
        let expression = format!("({outer}) or (vlan and (({outer}) or (vlan and ({outer}))))");
        // An expression that no packet can fulfil is refused.
        let outer = (!outer.is_empty()).then(|| Filter::new(&expression).ok()).flatten();
        Self { has_conditions, outer }
    }

    /// Whether anything is looked for in headers.
    pub fn has_conditions(&self) -> bool {
        self.has_conditions
    }

    /// Whether a packet's headers fulfil the conditions.
    pub fn matches(&mut self, query: &Query, frame: &Frame, bytes: &[u8]) -> bool {
        if !self.has_conditions {
            return true;
        }
        let decoded = |depth: u8| {
            let settings = WireSettings::default().with_tunnel_depth(depth);
            decode_whole_or_cut(frame, bytes, &settings)
        };
        let innermost = decoded(WireSettings::default().tunnel_depth);
        if has(query, bytes, &innermost) {
            return true;
        }
        let outermost = decoded(0);
        if has(query, bytes, &outermost) {
            return true;
        }
        // Where libpcap's language has no words for the link type, the headers above decide.
        has_vlan(query, &outermost)
            && self
                .outer
                .as_mut()
                .is_some_and(|outer| outer.matches(frame.link, bytes, frame.wire_bytes).unwrap_or(false))
    }
}

/// An expression that one of these fulfils; `None`: there is none.
fn any(primitives: impl Iterator<Item = String>) -> Option<String> {
    let all = primitives.collect::<Vec<_>>().join(" or ");
    (!all.is_empty()).then(|| format!("({all})"))
}

fn has_vlan(query: &Query, decoded: &Decoded) -> bool {
    query.vlan.is_none_or(|vlan| decoded.vlans.contains(vlan))
}

fn has(query: &Query, bytes: &[u8], decoded: &Decoded) -> bool {
    let Query { ref hosts, ports: ref wanted, net, protocol, .. } = *query;
    let is_of_ip = !hosts.is_empty() || !wanted.is_empty() || net.is_some() || protocol.is_some();
    // Of a malformed packet the last header that was walked is there.
    let is_ip =
        decoded.kind as u8 <= Kind::Fragment as u8 || decoded.kind == Kind::Malformed && decoded.ip_version != 0;
    if is_of_ip && !is_ip {
        return false;
    }
    let (source, destination) = addresses(bytes, decoded);
    let (from, to) = ports_of(bytes, decoded);
    let proto = if decoded.kind == Kind::Fragment { decoded.fragment.proto } else { decoded.proto };
    // An IP packet of another protocol has no ports, and none that is 0.
    (hosts.is_empty() || hosts.iter().any(|&host| source == host || destination == host))
        && net.is_none_or(|net| net.has(source) || net.has(destination))
        && (wanted.is_empty() || (from, to) != (0, 0) && wanted.iter().any(|&port| from == port || to == port))
        && has_vlan(query, decoded)
        && protocol.is_none_or(|protocol| protocol == proto)
}

/// Ports, also those in the first fragment of a datagram.
fn ports_of(bytes: &[u8], decoded: &Decoded) -> (u16, u16) {
    let fragment = &decoded.fragment;
    // TCP, UDP, SCTP, UDP-Lite.
    if decoded.kind == Kind::Fragment && fragment.offset_bytes == 0 && has_ports(fragment.proto) {
        return match bytes.get(fragment.data_at as usize..) {
            Some(&[s0, s1, d0, d1, ..]) => (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1])),
            _ => (0, 0),
        };
    }
    ports(bytes, decoded)
}

#[cfg(test)]
mod tests {
    use tidewire_wire::{LinkType, Timestamp};

    use super::{super::wanted::Network, *};

    /// An IPv4 packet from 10.0.0.1 to 10.0.0.2 in Ethernet, behind `tags`.
    fn packet(tags: &[u16], proto: u8, fragment: u16, transport: &[u8]) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        for tag in tags {
            frame.extend([0x81, 0]);
            frame.extend(tag.to_be_bytes());
        }
        let bytes = 20 + transport.len() as u16;
        frame.extend([8, 0, 0x45, 0]);
        frame.extend(bytes.to_be_bytes());
        frame.extend([0, 1]);
        frame.extend(fragment.to_be_bytes());
        frame.extend([64, proto, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        frame.extend(transport);
        frame
    }

    fn is_found(query: &Query, bytes: &[u8]) -> bool {
        let length = bytes.len() as u32;
        let frame = Frame::new(LinkType::ETHERNET, Timestamp::from_nanos(0)).with_place(0, length);
        Headers::new(query).matches(query, &frame, bytes)
    }

    #[test]
    fn headers_are_found_as_expressions_find_them() {
        let ports = [0x12, 0x34, 0, 80];
        let wrong_offset = [&ports[..], &[0; 8], &[0x10, 2, 0, 0, 0, 0, 0, 0]].concat();
        let whole = [&ports[..], &[0, 8, 0, 0]].concat();
        for (what, frame, has_port) in [
            ("a datagram", packet(&[], 17, 0, &whole), true),
            ("a wrong data offset", packet(&[], 6, 0, &wrong_offset), true),
            ("TCP that ends behind its ports", packet(&[], 6, 0, &ports), true),
            ("the same behind two tags", packet(&[5, 6], 6, 0, &ports), true),
            ("a first fragment", packet(&[], 17, 0x2000, &whole), true),
            ("a later fragment", packet(&[], 17, 0x2001, &whole), false),
            ("ICMP of two bytes", packet(&[], 1, 0, &[8, 0]), false),
        ] {
            let host = |host: &str| Query { hosts: vec![host.parse().unwrap()], ..Query::default() };
            let network = |address: &str, bits| Network::new(address.parse().unwrap(), bits);
            assert!(is_found(&host("10.0.0.1"), &frame) && is_found(&host("10.0.0.2"), &frame), "{what}");
            assert!(!is_found(&host("10.0.0.3"), &frame), "{what}");
            assert!(is_found(&Query { net: network("10.0.0.0", 24), ..Query::default() }, &frame), "{what}");
            assert!(!is_found(&Query { net: network("10.1.0.0", 16), ..Query::default() }, &frame), "{what}");
            let port = Query { ports: vec![80], hosts: vec!["10.0.0.1".parse().unwrap()], ..Query::default() };
            assert_eq!(is_found(&port, &frame), has_port, "{what}");
            assert!(!is_found(&Query { ports: vec![81], ..port }, &frame), "{what}");
        }
    }

    #[test]
    fn tags_and_protocols_are_found_with_the_rest() {
        let frame = packet(&[5, 6], 6, 0, &[0x12, 0x34, 0, 80]);
        let query = |vlan, protocol| Query { vlan: Some(vlan), protocol: Some(protocol), ..Query::default() };
        assert!(is_found(&query(5, 6), &frame) && is_found(&query(6, 6), &frame));
        assert!(!is_found(&query(7, 6), &frame) && !is_found(&query(5, 17), &frame));
        // A condition that no packet can fulfil is no error.
        let both = Query {
            hosts: vec!["10.0.0.1".parse().unwrap()],
            net: Network::new("2001:db8::".parse().unwrap(), 32),
            ..Query::default()
        };
        assert!(!is_found(&both, &frame));
    }
}
