//! VXLAN generic protocol extension (draft-ietf-nvo3-vxlan-gpe-13, 3): VXLAN with a next protocol.

use crate::decoded::TunnelKind;
use crate::walk::{Carried, Next, Walk, be32};

/// Flags, reserved, next protocol, network identifier, reserved; in bytes.
const HEADER_BYTES: usize = 8;
/// Version, which is 0.
const VERSION: u8 = 0x30;
/// The network identifier is valid.
const VALID: u8 = 0x08;
/// The next protocol is stated; without it the payload is Ethernet, as in VXLAN.
const HAS_NEXT: u8 = 0x04;
/// Operation and maintenance: not a packet for hosts.
const OAM: u8 = 0x01;

/// The packet or frame behind a header.
pub(crate) fn carried(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let header = walk.bytes::<HEADER_BYTES>(at)?;
    if header[0] & (VERSION | OAM) != 0 || header[0] & (VALID | HAS_NEXT) == 0 {
        return None;
    }
    let at = at + HEADER_BYTES;
    let next = match header[3] {
        _ if header[0] & HAS_NEXT == 0 => Next::Ethernet { at },
        1 => Next::Ipv4 { at },
        2 => Next::Ipv6 { at },
        3 => Next::Ethernet { at },
        4 => Next::Nsh { at },
        5 => Next::Mpls { at },
        _ => return None,
    };
    Some(Carried::new(TunnelKind::VxlanGpe, be32(header, 4) >> 8, next, walk.end))
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, ipv6, join, tcp, udp};
    use crate::{Kind, LinkType, TunnelKind};

    #[test]
    fn the_next_protocol_is_walked_where_the_flags_allow() {
        let (segment, segment6) = (ipv4(6, &tcp(b"x")), ipv6(6, &tcp(b"x")));
        let inner = ethernet(0x0800, &segment);
        let chain = join(&[&[0x0f, 2, 2, 3, 0, 0, 7, 255], &inner]);
        let found = |flags, next, payload: &[u8]| {
            let datagram = udp(4790, &join(&[&[flags, 0, 0, next, 1, 2, 3, 0], payload]));
            let found = decoded(LinkType::RAW, &ipv4(17, &datagram));
            (found.kind, found.tunnel.kind, found.tunnel.id)
        };
        let tunnel = (Kind::Tcp, TunnelKind::VxlanGpe, 0x01_0203);
        let none = (Kind::Udp, TunnelKind::None, 0);
        assert_eq!(found(0x0c, 1, &segment), tunnel);
        assert_eq!(found(0x0c, 2, &segment6), tunnel);
        assert_eq!(found(0x0c, 3, &inner), tunnel);
        assert_eq!(found(0x0c, 4, &chain), tunnel);
        assert_eq!(found(0x0c, 5, &join(&[&[0, 1, 1, 64], &segment])), tunnel);
        assert_eq!(found(0x08, 0, &inner), tunnel, "as VXLAN");
        assert_eq!(found(0x0c, 6, &segment), none);
        assert_eq!(found(0x0d, 1, &segment), none, "maintenance");
        assert_eq!(found(0x1c, 1, &segment), none, "version 1");
        assert_eq!(found(0x00, 0, &inner), none);
        assert_eq!(found(0x0c, 1, &segment6), none, "not what it says");
    }
}
