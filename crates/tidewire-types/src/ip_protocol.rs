//! Numbers of IP protocols (IANA, protocol-numbers), and their names in records.

/// Hop-by-hop options of IPv6 (RFC 8200, section 4.3).
pub const HOP_BY_HOP: u8 = 0;
/// Internet Control Message Protocol (RFC 792).
pub const ICMP: u8 = 1;
/// Internet Group Management Protocol (RFC 9776).
pub const IGMP: u8 = 2;
/// IPv4 in IP (RFC 2003).
pub const IN_IPV4: u8 = 4;
/// Transmission Control Protocol (RFC 9293).
pub const TCP: u8 = 6;
/// User Datagram Protocol (RFC 768).
pub const UDP: u8 = 17;
/// IPv6 in IP (RFC 4213).
pub const IN_IPV6: u8 = 41;
/// Routing header of IPv6 (RFC 8200, section 4.4).
pub const ROUTING: u8 = 43;
/// Fragment header of IPv6 (RFC 8200, section 4.5).
pub const FRAGMENT: u8 = 44;
/// Generic Routing Encapsulation (RFC 2784).
pub const GRE: u8 = 47;
/// Encapsulating Security Payload (RFC 4303).
pub const ESP: u8 = 50;
/// Authentication Header (RFC 4302).
pub const AH: u8 = 51;
/// ICMP of IPv6 (RFC 4443).
pub const ICMP6: u8 = 58;
/// No next header of IPv6 (RFC 8200, section 4.7).
pub const NO_NEXT_HEADER: u8 = 59;
/// Destination options of IPv6 (RFC 8200, section 4.6).
pub const DESTINATION_OPTIONS: u8 = 60;
/// Open Shortest Path First (RFC 2328).
pub const OSPF: u8 = 89;
/// Ethernet in IP (RFC 3378).
pub const ETHER_IP: u8 = 97;
/// Protocol Independent Multicast (RFC 7761).
pub const PIM: u8 = 103;
/// IP payload compression (RFC 3173).
pub const IPCOMP: u8 = 108;
/// Virtual Router Redundancy Protocol (RFC 9568).
pub const VRRP: u8 = 112;
/// L2TP version 3 (RFC 3931).
pub const L2TP: u8 = 115;
/// Stream Control Transmission Protocol (RFC 9260).
pub const SCTP: u8 = 132;
/// Mobility header of IPv6 (RFC 6275).
pub const MOBILITY: u8 = 135;
/// UDP-Lite (RFC 3828).
pub const UDP_LITE: u8 = 136;
/// MPLS in IP (RFC 4023).
pub const MPLS: u8 = 137;
/// Host Identity Protocol (RFC 7401).
pub const HIP: u8 = 139;
/// Multihoming shim for IPv6 (RFC 5533).
pub const SHIM6: u8 = 140;
/// An Ethernet frame (RFC 8986, section 10.1).
pub const ETHERNET: u8 = 143;

/// Whether packets of a protocol have ports: TCP, UDP, SCTP, UDP-Lite.
#[must_use]
#[inline]
pub const fn has_ports(number: u8) -> bool {
    matches!(number, TCP | UDP | SCTP | UDP_LITE)
}

/// Whether a protocol is ICMP, of IPv4 or of IPv6.
#[must_use]
#[inline]
pub const fn is_icmp(number: u8) -> bool {
    matches!(number, ICMP | ICMP6)
}

/// Those that have a name in records.
const NAMES: [(u8, &str); 13] = [
    (ICMP, "icmp"),
    (IGMP, "igmp"),
    (TCP, "tcp"),
    (UDP, "udp"),
    (GRE, "gre"),
    (ESP, "esp"),
    (AH, "ah"),
    (ICMP6, "icmp6"),
    (OSPF, "ospf"),
    (PIM, "pim"),
    (VRRP, "vrrp"),
    (SCTP, "sctp"),
    (UDP_LITE, "udplite"),
];

/// The name of an IP protocol in records; `None`: its number stands there.
#[must_use]
pub fn protocol_name(number: u8) -> Option<&'static str> {
    NAMES.iter().find(|known| known.0 == number).map(|known| known.1)
}

/// The number of an IP protocol as records have it: by its name, or in decimal.
#[must_use]
pub fn protocol_number(name: &str) -> Option<u8> {
    let known = NAMES.iter().find(|known| known.1 == name).map(|known| known.0);
    known.or_else(|| name.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_to_each_other() {
        for number in 0..=u8::MAX {
            let name = protocol_name(number).map_or_else(|| number.to_string(), str::to_owned);
            assert_eq!(protocol_number(&name), Some(number));
            assert_eq!(protocol_number(&number.to_string()), Some(number));
        }
        assert_eq!((protocol_name(58), protocol_name(4)), (Some("icmp6"), None));
        assert_eq!([protocol_number("TCP"), protocol_number("256"), protocol_number("")], [None; 3]);
    }
}
