//! AYIYA, "anything in anything" (draft-massar-v6ops-ayiya-02): IPv6 through address translators, in signed UDP.

use crate::decoded::TunnelKind;
use crate::fits::{self, Length};
use crate::ip_protocol::{IN_IPV4, IN_IPV6};
use crate::walk::{Carried, Next, Walk};

/// Four bytes of lengths, methods and next header, then an epoch time; in bytes.
const HEADER_BYTES: usize = 8;
/// Operation: the receiver forwards the packet.
const FORWARD: u8 = 1;
/// The identity has 2 to the power of its length field bytes; the field is at most this.
const IDENTITY_POWER_MAX: u8 = 8;

/// The packet behind header, identity and signature.
pub(crate) fn carried(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let &[identity, signature, operation, next_header, ..] = walk.bytes::<HEADER_BYTES>(at)?;
    if operation & 0x0f != FORWARD || identity >> 4 > IDENTITY_POWER_MAX {
        return None;
    }
    let at = at + HEADER_BYTES + (1 << (identity >> 4)) + usize::from(signature >> 4) * 4;
    let next = match next_header {
        IN_IPV4 => Next::Ipv4 { at },
        IN_IPV6 => Next::Ipv6 { at },
        _ => return None,
    };
    if !fits::ip(walk, at, Length::Exact) {
        return None;
    }
    Some(Carried::new(TunnelKind::Ayiya, 0, next, walk.end))
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ipv4, ipv6, join, tcp, udp};
    use crate::{Kind, LinkType, TunnelKind};

    #[test]
    fn identity_and_signature_are_stepped_over() {
        let (segment, segment6) = (ipv4(6, &tcp(b"x")), ipv6(6, &tcp(b"x")));
        let found = |header: [u8; 4], fields: usize, payload: &[u8]| {
            let datagram = udp(5072, &join(&[&header, &[0x57; 4], &vec![7; fields], payload]));
            let found = decoded(LinkType::RAW, &ipv4(17, &datagram));
            (found.kind, found.tunnel.kind)
        };
        let tunnel = (Kind::Tcp, TunnelKind::Ayiya);
        let none = (Kind::Udp, TunnelKind::None);
        // An address as identity, a SHA-1 signature.
        assert_eq!(found([0x44, 0x52, 0x11, 41], 36, &segment6), tunnel);
        assert_eq!(found([0x24, 0x02, 0x11, 4], 4, &segment), tunnel, "IPv4, not signed");
        assert_eq!(found([0x44, 0x52, 0x10, 41], 36, &segment6), none, "no operation");
        assert_eq!(found([0x44, 0x52, 0x11, 59], 36, &segment6), none, "nothing follows");
        assert_eq!(found([0x44, 0x52, 0x11, 41], 35, &segment6), none, "another length");
        assert_eq!(found([0x44, 0x52, 0x11, 41], 36, &[0x60; 39]), none);
    }
}
