//! Dispatch by IP protocol number: the transports, and the protocols that carry IP again.

use crate::decoded::{Decoded, Kind, TunnelKind};
use crate::ip_protocol::{
    AH, ESP, ETHER_IP, ETHERNET, GRE, ICMP, ICMP6, IN_IPV4, IN_IPV6, IPCOMP, L2TP, MPLS, NO_NEXT_HEADER, SCTP, TCP,
    UDP, UDP_LITE,
};
use crate::malformation::Malformation::{self, IcmpCut, IcmpShort, UdpLiteCoverage, UdpLiteCut, UdpLiteShort};
use crate::walk::{Carried, Next, Walk, be16};
use crate::{ah, etherip, gre, ipcomp, l2tp, mpls, sctp, tcp, udp};

/// Walks the header that `proto`, of the current IP header, names.
pub(crate) fn walk(walk: &mut Walk<'_>, proto: u8, at: usize) -> Result<Next, Malformation> {
    walk.out.proto = proto;
    walk.out.transport_at = at as u32;
    match proto {
        TCP => tcp::walk(walk, at),
        UDP => udp::walk(walk, at),
        UDP_LITE => udp_lite(walk, at),
        SCTP => sctp::walk(walk, at),
        ICMP if walk.out.ip_version == 4 => icmp(walk, Kind::Icmp, ICMP, at),
        ICMP6 if walk.out.ip_version == 6 => icmp(walk, Kind::Icmp6, ICMP6, at),
        ESP => flow(walk, Kind::Esp, ESP, at),
        AH => match ah::after(walk, at)? {
            Some(after) => {
                let next = walk.frame.get(at).copied().unwrap_or(NO_NEXT_HEADER);
                Ok(Next::Upper { proto: next, at: after })
            }
            None => Ok(Next::Done(Kind::Ah)),
        },
        IN_IPV4 => Ok(ip_in_ip(walk, proto, at, Next::Ipv4 { at })),
        IN_IPV6 => Ok(ip_in_ip(walk, proto, at, Next::Ipv6 { at })),
        GRE => Ok(gre::walk(walk, at)),
        ETHERNET => Ok(tunnel(walk, proto, at, |walk, at| {
            Some(Carried::new(TunnelKind::EtherIp, 0, Next::Ethernet { at }, walk.end))
        })),
        ETHER_IP => Ok(tunnel(walk, proto, at, etherip::carried)),
        IPCOMP => Ok(tunnel(walk, proto, at, |walk, at| ipcomp::carried(walk, at, upper))),
        L2TP => Ok(tunnel(walk, proto, at, l2tp::in_ip)),
        MPLS => Ok(tunnel(walk, proto, at, mpls::carried)),
        _ => flow(walk, Kind::OtherIp, proto, at),
    }
}

/// A flow without ports.
fn flow(walk: &mut Walk<'_>, kind: Kind, proto: u8, at: usize) -> Result<Next, Malformation> {
    walk.transport(proto, at, at);
    Ok(Next::Done(kind))
}

/// IP directly in IP.
fn ip_in_ip(walk: &mut Walk<'_>, proto: u8, at: usize, next: Next) -> Next {
    tunnel(walk, proto, at, |walk, _| Some(Carried::new(TunnelKind::IpInIp, 0, next, walk.end)))
}

/// A protocol without ports that carries packets; a flow if its content is invalid.
fn tunnel(
    walk: &mut Walk<'_>,
    proto: u8,
    at: usize,
    carried: impl FnOnce(&Walk<'_>, usize) -> Option<Carried>,
) -> Next {
    walk.transport(proto, at, at);
    let carried = if walk.may_enter_tunnel() { carried(walk, at) } else { None };
    walk.through(Kind::OtherIp, carried)
}

/// Decodes the bytes at `at` as the transport `proto` of the current IP packet, without walking further; `None` if they
/// are invalid.
fn upper(walk: &Walk<'_>, proto: u8, at: usize) -> Option<Decoded> {
    let mut out = *walk.out;
    match self::walk(&mut walk.alone(&mut out), proto, at) {
        Ok(Next::Done(kind)) => Some(Decoded { kind, ..out }),
        _ => None,
    }
}

fn udp_lite(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = match walk.header::<8>(at, UdpLiteShort, UdpLiteCut) {
        Err(UdpLiteCut) => return walk.header_cut(UDP_LITE, at, 8, UdpLiteCut),
        header => header?,
    };
    let coverage = usize::from(be16(header, 4));
    if (1..8).contains(&coverage) || at + coverage > walk.end {
        return Err(UdpLiteCoverage);
    }
    walk.transport(UDP_LITE, at, at + 8);
    Ok(Next::Done(Kind::UdpLite))
}

/// ICMP or ICMPv6: 8 bytes of header at least, of which 4 must be captured (type, code and checksum).
fn icmp(walk: &mut Walk<'_>, kind: Kind, proto: u8, at: usize) -> Result<Next, Malformation> {
    if at + 8 > walk.end {
        return Err(IcmpShort);
    }
    if walk.bytes::<4>(at).is_none() {
        return walk.header_cut(proto, at, 8, IcmpCut);
    }
    walk.transport(proto, at, at + 8);
    Ok(Next::Done(kind))
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ipv4, ipv6, join, snapped, tcp};
    use crate::{Kind, LinkType, Malformation};

    fn reason(proto: u8, payload: &[u8]) -> Option<Malformation> {
        decoded(LinkType::RAW, &ipv4(proto, payload)).malformed
    }

    #[test]
    fn snapped_and_impossible_are_different_faults() {
        let segment = ipv4(6, &tcp(b"hello"));
        assert_eq!(snapped(LinkType::RAW, &segment, 39).kind, Kind::HeaderCut);
        assert_eq!(snapped(LinkType::RAW, &segment, 40).kind, Kind::Tcp);
        assert_eq!(reason(6, &tcp(b"")[..19]), Some(Malformation::TcpShort));
        let mut segment = tcp(b"hello");
        segment[12] = 0x40;
        assert_eq!(reason(6, &segment), Some(Malformation::TcpOffsetShort));
        segment[12] = 0x70;
        assert_eq!(reason(6, &segment), Some(Malformation::TcpOffsetLong));
        segment[12] = 0x60;
        assert_eq!(reason(6, &segment), None);
    }

    #[test]
    fn the_other_transports_need_their_headers() {
        assert_eq!(reason(132, &[0; 11]), Some(Malformation::SctpShort));
        assert_eq!(reason(1, &[0; 7]), Some(Malformation::IcmpShort));
        assert_eq!(reason(136, &[0; 7]), Some(Malformation::UdpLiteShort));
        assert_eq!(reason(136, &[0, 1, 0, 2, 0, 7, 0, 0]), Some(Malformation::UdpLiteCoverage));
        assert_eq!(reason(136, &[0, 1, 0, 2, 0, 9, 0, 0]), Some(Malformation::UdpLiteCoverage));
        assert_eq!(snapped(LinkType::RAW, &ipv4(132, &[0; 12]), 31).kind, Kind::HeaderCut);
        assert_eq!(snapped(LinkType::RAW, &ipv4(1, &[0; 8]), 23).kind, Kind::HeaderCut);
        assert_eq!(snapped(LinkType::RAW, &ipv4(1, &[0; 8]), 24).kind, Kind::Icmp);
    }

    #[test]
    fn a_cut_header_keeps_addresses_and_ports() {
        let segment = ipv4(6, &join(&[&tcp(b"hello"), b"!"]));
        for (captured, payload_bytes, known) in
            [(20, 0, false), (23, 0, false), (24, 0, true), (33, 6, true), (39, 6, true)]
        {
            let found = snapped(LinkType::RAW, &segment, captured);
            let frame = &segment[..captured];
            assert_eq!(
                (found.kind, found.proto, found.payload_bytes),
                (Kind::HeaderCut, 6, payload_bytes),
                "{captured}"
            );
            assert_eq!(crate::ports(frame, &found), if known { (12345, 80) } else { (0, 0) }, "{captured}");
            assert_eq!(crate::addresses(frame, &found).0.to_string(), "10.0.0.1");
            assert_eq!(crate::transport_checksum(frame, &found), crate::Checksum::Unverifiable);
            assert!(crate::TcpHeader::new(frame, &found).is_none());
        }
        // The captured part of a header must be valid.
        let mut bad = segment.clone();
        bad[32] = 0x40;
        assert_eq!(snapped(LinkType::RAW, &bad, 33).malformed, Some(Malformation::TcpOffsetShort));
        bad[32] = 0xf0;
        assert_eq!(snapped(LinkType::RAW, &bad, 33).malformed, Some(Malformation::TcpOffsetLong));
        // In a tunnel: the inner flow if its ports were captured, else the one that carries it.
        let tunnel = ipv4(4, &segment);
        assert_eq!(snapped(LinkType::RAW, &tunnel, 44).ip_at, 20);
        assert_eq!(snapped(LinkType::RAW, &tunnel, 43).ip_at, 0);
        for proto in [17, 132, 136] {
            let found = snapped(
                LinkType::RAW,
                &ipv4(proto, &[1, 2, 3, 4, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
                24,
            );
            assert_eq!((found.kind, found.proto), (Kind::HeaderCut, proto));
        }
    }

    #[test]
    fn flows_without_ports() {
        for (proto, kind) in [(50, Kind::Esp), (2, Kind::OtherIp), (89, Kind::OtherIp), (58, Kind::OtherIp)] {
            let found = decoded(LinkType::RAW, &ipv4(proto, &[1, 2, 3]));
            assert_eq!((found.kind, found.proto, found.payload_bytes), (kind, proto, 3));
        }
        assert_eq!(decoded(LinkType::RAW, &ipv6(1, &[0; 8])).kind, Kind::OtherIp, "ICMP is not at home in IPv6");
    }
}
