//! GRE: version 0 (RFC 2784, RFC 2890, RFC 1701), in UDP (RFC 8086), and PPTP's version 1 (RFC 2637).

use crate::decoded::{Kind, TunnelKind};
use crate::ip_protocol::GRE;
use crate::walk::{Carried, Next, Walk, be16, be32};
use crate::{erspan, ethernet};

/// Flags and protocol type, in bytes.
const HEADER_BYTES: usize = 4;
/// Checksum and offset are present.
const CHECKSUM: u16 = 0x8000;
/// Offset and source routes are present (RFC 1701).
const ROUTING: u16 = 0x4000;
/// A key is present.
const KEY: u16 = 0x2000;
/// A sequence number is present.
const SEQUENCE: u16 = 0x1000;
/// Version 1: an acknowledgment number is present.
const ACKNOWLEDGMENT: u16 = 0x0080;
const VERSION_MASK: u16 = 0x0007;

/// Source route entries walked (RFC 1701), which are no longer used.
const ROUTES_MAX: usize = 16;

/// Version 1's only protocol type: PPP.
const PPP: u16 = 0x880b;
/// MikroTik's Ethernet over IP, which borrows version 1's header.
const EOIP: u16 = 0x6400;
/// ERSPAN types I and II.
const ERSPAN: u16 = 0x88be;
/// ERSPAN type III.
const ERSPAN3: u16 = 0x22eb;
/// WCCP redirects (draft-wilson-wrec-wccp-v2-01, 4.2): version 2 puts 4 bytes before the IPv4 packet.
const WCCP: u16 = 0x883e;

/// Aruba's access points carry 802.11 frames; the lower half of the second byte belongs to the session.
const ARUBA: std::ops::RangeInclusive<u16> = 0x8200..=0x8370;

/// A GRE header; if it cannot be walked, the flow is that of the GRE packets.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Next {
    walk.transport(GRE, at, at);
    let carried = if walk.may_enter_tunnel() { carried(walk, at) } else { None };
    walk.through(Kind::OtherIp, carried)
}

fn carried(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let header = walk.bytes::<HEADER_BYTES>(at)?;
    let (flags, protocol) = (be16(header, 0), be16(header, 2));
    match flags & VERSION_MASK {
        0 => version0(walk, flags, protocol, at + HEADER_BYTES),
        1 if protocol == EOIP && flags == KEY | 1 => eoip(walk, at + HEADER_BYTES),
        1 if protocol == PPP => version1(walk, flags, at + HEADER_BYTES),
        _ => None,
    }
}

/// The content of a GRE header in UDP: version 0, without routes, and without undefined bits.
pub(crate) fn in_udp(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let header = walk.bytes::<HEADER_BYTES>(at)?;
    let (flags, protocol) = (be16(header, 0), be16(header, 2));
    if flags & !(CHECKSUM | KEY | SEQUENCE) != 0 {
        return None;
    }
    version0(walk, flags, protocol, at + HEADER_BYTES)
}

/// Walks the optional fields from `at` on, and the header behind them.
fn version0(walk: &Walk<'_>, flags: u16, protocol: u16, mut at: usize) -> Option<Carried> {
    if flags & (CHECKSUM | ROUTING) != 0 {
        at += 4;
    }
    let mut id = 0;
    if flags & KEY != 0 {
        id = be32(walk.bytes::<4>(at)?, 0);
        at += 4;
    }
    if flags & SEQUENCE != 0 {
        at += 4;
    }
    if flags & ROUTING != 0 {
        at = after_routes(walk, at)?;
    }
    let next = match protocol {
        ERSPAN if flags & SEQUENCE == 0 => return Some(erspan::type1(walk, at)),
        ERSPAN => return erspan::type2(walk, at),
        ERSPAN3 => return erspan::type3(walk, at),
        WCCP => match walk.bytes::<1>(at)?[0] >> 4 {
            4 => Next::Ipv4 { at },
            _ => Next::Ipv4 { at: at + 4 },
        },
        ethernet::BRIDGED_ETHERNET => Next::Ethernet { at },
        _ if ARUBA.contains(&protocol) && protocol & 0x0f == 0 => Next::Ieee80211 { at, swapped: false },
        _ => Next::EtherType { ether_type: protocol, at },
    };
    Some(Carried::new(TunnelKind::Gre, id, next, walk.end))
}

/// Source route entries: address family, offset, length; an entry of length 0 is the last (RFC 1701).
fn after_routes(walk: &Walk<'_>, mut at: usize) -> Option<usize> {
    for _ in 0..ROUTES_MAX {
        let entry = walk.bytes::<4>(at)?;
        at += 4 + usize::from(entry[3]);
        if entry[3] == 0 {
            return Some(at);
        }
    }
    None
}

/// Payload length and call id take the place of the key; without a sequence number there is no payload (RFC 2637, 4.1).
fn version1(walk: &Walk<'_>, flags: u16, at: usize) -> Option<Carried> {
    if flags & (CHECKSUM | ROUTING | KEY | SEQUENCE) != KEY | SEQUENCE {
        return None;
    }
    let key = walk.bytes::<4>(at)?;
    let ppp_at = at + if flags & ACKNOWLEDGMENT != 0 { 12 } else { 8 };
    Some(Carried::new(
        TunnelKind::Gre,
        be16(key, 2).into(),
        Next::Ppp { at: ppp_at },
        ppp_at + usize::from(be16(key, 0)),
    ))
}

/// Payload length, tunnel id (little-endian), then an Ethernet frame.
fn eoip(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let &[l0, l1, i0, i1] = walk.bytes::<4>(at)?;
    Some(Carried::new(
        TunnelKind::Gre,
        u16::from_le_bytes([i0, i1]).into(),
        Next::Ethernet { at: at + 4 },
        at + 4 + usize::from(u16::from_be_bytes([l0, l1])),
    ))
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, join, snap, tcp, udp};
    use crate::{Kind, LinkType, TunnelKind};

    fn found(header: &[u8], payload: &[u8]) -> (Kind, TunnelKind, u32) {
        let found = decoded(LinkType::RAW, &ipv4(47, &join(&[header, payload])));
        (found.kind, found.tunnel.kind, found.tunnel.id)
    }

    #[test]
    fn every_optional_field_of_version_0() {
        let segment = ipv4(6, &tcp(b"x"));
        for (flags, bytes, id) in [(0x00, 0, 0), (0x80, 4, 0), (0x20, 4, 7), (0x10, 4, 0), (0xb0, 12, 7)] {
            let key_at = if flags & 0x80 != 0 { 4 } else { 0 };
            let mut fields = vec![0; bytes];
            if flags & 0x20 != 0 {
                fields[key_at + 3] = 7;
            }
            let header = join(&[&[flags, 0, 8, 0], &fields]);
            assert_eq!(found(&header, &segment), (Kind::Tcp, TunnelKind::Gre, id), "{flags:#x}");
        }
    }

    #[test]
    fn in_udp_only_what_its_rfc_allows() {
        let segment = ipv4(6, &tcp(b"x"));
        let found = |port, header: &[u8]| {
            let found = decoded(LinkType::RAW, &ipv4(17, &udp(port, &join(&[header, &segment]))));
            (found.kind, found.tunnel.kind, found.tunnel.id)
        };
        assert_eq!(found(4754, &[0, 0, 8, 0]), (Kind::Tcp, TunnelKind::Gre, 0));
        assert_eq!(found(4754, &[0xb0, 0, 8, 0, 1, 2, 0, 0, 0, 0, 0, 7, 0, 0, 0, 9]), (Kind::Tcp, TunnelKind::Gre, 7));
        for header in [[0x40, 0, 8, 0], [0, 1, 8, 0], [0x08, 0, 8, 0], [0, 0, 0x86, 0xdd]] {
            assert_eq!(found(4754, &header), (Kind::Udp, TunnelKind::None, 0), "{header:?}");
        }
        assert_eq!(found(4755, &[0, 0, 8, 0]), (Kind::Udp, TunnelKind::None, 0), "encrypted");
    }

    #[test]
    fn an_access_point_s_frames() {
        let data = |control: u8| join(&[&[0x08, control], &[0; 22], &snap(0x0800, &ipv4(6, &tcp(b"x")))]);
        for protocol in [0x8200_u16, 0x8210, 0x8370] {
            let [high, low] = protocol.to_be_bytes();
            assert_eq!(found(&[0, 0, high, low], &data(1)), (Kind::Tcp, TunnelKind::Gre, 0));
            assert_eq!(found(&[0, 0, high, low], &data(0x41)), (Kind::OtherIp, TunnelKind::None, 0), "encrypted");
        }
        assert_eq!(found(&[0, 0, 0x82, 0x01], &data(1)), (Kind::OtherIp, TunnelKind::None, 0));
        assert_eq!(found(&[0, 0, 0x83, 0x80], &data(1)), (Kind::OtherIp, TunnelKind::None, 0));
    }

    #[test]
    fn what_is_not_walked_is_a_flow_of_gre() {
        for header in [&[0, 0, 0, 0][..], &[0, 2, 8, 0], &[0x20, 0, 8], &[0, 0, 0x88, 0x0b], &[0x30, 0x81, 0x88, 0x0b]]
        {
            assert_eq!(found(header, &[]), (Kind::OtherIp, TunnelKind::None, 0));
        }
    }

    #[test]
    fn sessions_and_calls_are_the_tunnel_s_id() {
        let segment = ipv4(6, &tcp(b"x"));
        let pptp = [0x30, 0x01, 0x88, 0x0b, 0, segment.len() as u8 + 1, 1, 5, 0, 0, 0, 1, 0x21];
        assert_eq!(found(&pptp, &segment), (Kind::Tcp, TunnelKind::Gre, 0x105));
        let inner = ethernet(0x0800, &segment);
        let erspan = [0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, 0xfd, 33, 0, 0, 0, 0];
        assert_eq!(found(&erspan, &inner), (Kind::Tcp, TunnelKind::Erspan, 0x121));
        assert_eq!(found(&[0, 0, 0x88, 0xbe], &inner), (Kind::Tcp, TunnelKind::Erspan, 0));
    }
}
