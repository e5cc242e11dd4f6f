//! Teredo (RFC 4380): IPv6 through address translators, in UDP.

use crate::decoded::{Tunnel, TunnelKind};
use crate::walk::{Carried, Next, Walk, be16};

/// Indicator of authentication (5.1.1): client identifier and authentication value follow, then nonce and confirmation.
const AUTHENTICATION: [u8; 2] = [0, 1];
/// Nonce and confirmation byte, in bytes.
const NONCE_BYTES: usize = 9;
/// Indicator of origin (5.1.1): an obfuscated port and address.
const ORIGIN: [u8; 2] = [0, 0];
/// The origin indication, in bytes.
const ORIGIN_BYTES: usize = 8;
/// An IPv6 header, in bytes.
const IPV6_BYTES: usize = 40;

/// The IPv6 packet behind the indications, if one is really there: version and length must fit.
pub(crate) fn carried(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let mut at = at;
    if walk.bytes::<2>(at)? == &AUTHENTICATION {
        let [_, _, client_bytes, value_bytes] = *walk.bytes::<4>(at)?;
        at += 4 + usize::from(client_bytes) + usize::from(value_bytes) + NONCE_BYTES;
    }
    if walk.bytes::<2>(at)? == &ORIGIN {
        at += ORIGIN_BYTES;
    }
    let header = walk.bytes::<IPV6_BYTES>(at)?;
    let end = at + IPV6_BYTES + usize::from(be16(header, 4));
    if header[0] >> 4 != 6 || end > walk.end {
        return None;
    }
    Some(Carried { tunnel: Tunnel { kind: TunnelKind::Teredo, id: 0 }, next: Next::Ipv6 { at }, end: walk.end })
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ipv4, ipv6, join, tcp, udp};
    use crate::{Kind, LinkType, TunnelKind};

    #[test]
    fn only_a_whole_ipv6_packet_makes_a_tunnel() {
        let inner = ipv6(6, &tcp(b"x"));
        let found = |header: &[u8], inner: &[u8]| {
            let found = decoded(LinkType::RAW, &ipv4(17, &udp(3544, &join(&[header, inner]))));
            (found.kind, found.tunnel.kind)
        };
        let tunnel = (Kind::Tcp, TunnelKind::Teredo);
        let none = (Kind::Udp, TunnelKind::None);
        assert_eq!(found(&[], &inner), tunnel);
        assert_eq!(found(&[0, 0, 1, 2, 3, 4, 5, 6], &inner), tunnel, "origin");
        assert_eq!(found(&[0, 1, 2, 3, 7, 7, 8, 8, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0], &inner), tunnel, "authentication");
        assert_eq!(found(&[], &inner[..60]), none, "shorter than it states");
        assert_eq!(found(&[], &ipv4(6, &tcp(b"x"))), none);
        assert_eq!(found(&[0, 1], &[]), none);
    }
}
