//! Views of a decoded packet: addresses, ports, ICMP type and code.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::decoded::{Decoded, Kind};
use crate::{final_destination, ip_protocol, ipv4, ipv6};

/// Source and destination address of the flow's IP header; unspecified IPv4 addresses if there is none. With a routing
/// header the destination is the final one, see [`final_destination`].
#[must_use]
pub fn addresses(frame: &[u8], decoded: &Decoded) -> (IpAddr, IpAddr) {
    let header = frame.get(decoded.ip_at as usize..).unwrap_or(&[]);
    match decoded.ip_version {
        4 => pair::<4>(header, ipv4::ADDRESSES).map(|(s, d)| (Ipv4Addr::from(s).into(), Ipv4Addr::from(d).into())),
        6 => pair::<16>(header, ipv6::ADDRESSES).map(|(s, d)| {
            let d = final_destination(frame, decoded.brief()).copied().unwrap_or(d);
            (Ipv6Addr::from(s).into(), Ipv6Addr::from(d).into())
        }),
        _ => None,
    }
    .unwrap_or((Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into()))
}

/// Two consecutive `N`-byte addresses at `at`.
fn pair<const N: usize>(header: &[u8], at: usize) -> Option<([u8; N], [u8; N])> {
    let both = header.get(at..)?;
    Some((*both.first_chunk()?, *both.get(N..)?.first_chunk()?))
}

/// Source and destination port of a TCP, UDP, UDP-Lite or SCTP packet; zeros for other packets, and if they were not
/// captured.
#[inline]
#[must_use]
pub fn ports(frame: &[u8], decoded: &Decoded) -> (u16, u16) {
    let has_ports = match decoded.kind {
        Kind::Tcp | Kind::Udp | Kind::UdpLite | Kind::Sctp => true,
        Kind::HeaderCut => !ip_protocol::is_icmp(decoded.proto),
        _ => false,
    };
    if !has_ports {
        return (0, 0);
    }
    match frame.get(decoded.transport_at as usize..) {
        Some(&[s0, s1, d0, d1, ..]) => (u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1])),
        _ => (0, 0),
    }
}

/// Type and code of an ICMP or ICMPv6 message; `None` for other packets.
#[inline]
#[must_use]
pub fn icmp_type_and_code(frame: &[u8], decoded: &Decoded) -> Option<(u8, u8)> {
    if !matches!(decoded.kind, Kind::Icmp | Kind::Icmp6) {
        return None;
    }
    match frame.get(decoded.transport_at as usize..) {
        Some(&[kind, code, ..]) => Some((kind, code)),
        _ => None,
    }
}
