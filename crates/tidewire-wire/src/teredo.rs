//! Teredo (RFC 4380): IPv6 through address translators, in UDP.

use crate::decoded::TunnelKind;
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
/// Greatest size of client identifier and authentication value together, in bytes. (The length fields allow 510; an
/// application on this port would receive them, and nothing else reads them.)
const CLIENT_BYTES_MAX: usize = 256;
/// Trailers behind the packet (RFC 6081, 4): types, and the lengths that each may have. Nonce, alternate addresses,
/// neighbour discovery option, random port.
const TRAILERS: [(u8, &[u8]); 4] = [(1, &[4]), (3, &[8, 14, 20, 26]), (4, &[4]), (5, &[2])];

/// The IPv6 packet behind the indications, if it is valid: version and length must match, and only trailers follow.
pub(crate) fn carried(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let mut at = at;
    if walk.bytes::<2>(at)? == &AUTHENTICATION {
        let [_, _, client_bytes, value_bytes] = *walk.bytes::<4>(at)?;
        let bytes = usize::from(client_bytes) + usize::from(value_bytes);
        if bytes > CLIENT_BYTES_MAX {
            return None;
        }
        at += 4 + bytes + NONCE_BYTES;
    }
    if walk.bytes::<2>(at)? == &ORIGIN {
        at += ORIGIN_BYTES;
    }
    let header = walk.bytes::<IPV6_BYTES>(at)?;
    let end = at + IPV6_BYTES + usize::from(be16(header, 4));
    if header[0] >> 4 != 6 || end > walk.end || !are_trailers(walk, end) {
        return None;
    }
    Some(Carried::new(TunnelKind::Teredo, 0, Next::Ipv6 { at }, end))
}

/// Whether the bytes from `at` to the datagram's end are trailers: known ones, each at most once. Relays skip unknown
/// ones, but those could hide anything behind the packet; such a datagram stays in its own flow.
fn are_trailers(walk: &Walk<'_>, mut at: usize) -> bool {
    let mut seen = [false; TRAILERS.len()];
    while at < walk.end {
        let Some([kind, length]) = walk.bytes::<2>(at) else { return false };
        let known = TRAILERS.iter().position(|(known, lengths)| known == kind && lengths.contains(length));
        match known.and_then(|known| seen.get_mut(known)) {
            Some(is_seen) if !*is_seen => *is_seen = true,
            _ => return false,
        }
        at += 2 + usize::from(*length);
    }
    at == walk.end
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
        let long = join(&[&[0, 1, 255, 2], &[7; 257], &[0; 9]]);
        assert_eq!(found(&long, &inner), none, "257 bytes of identifier and value");
        assert_eq!(found(&join(&[&[0, 1, 255, 1], &[7; 256], &[0; 9]]), &inner), tunnel);
    }

    #[test]
    fn trailers_may_follow_the_packet_and_nothing_else() {
        let inner = ipv6(6, &tcp(b"x"));
        let kind = |tail: &[u8]| decoded(LinkType::RAW, &ipv4(17, &udp(3544, &join(&[&inner, tail])))).tunnel.kind;
        let nonce = [1, 4, 9, 9, 9, 9];
        for tail in
            [&nonce[..], &[4, 4, 0, 0, 0, 0], &[5, 2, 1, 2], &join(&[&[3, 8], &[0; 8]]), &join(&[&[3, 26], &[0; 26]])]
        {
            assert_eq!(kind(tail), TunnelKind::Teredo, "{tail:?}");
            assert_eq!(kind(&join(&[tail, tail])), TunnelKind::None, "twice: {tail:?}");
            for bytes in 1..tail.len() {
                assert_eq!(kind(&tail[..bytes]), TunnelKind::None, "cut: {:?}", &tail[..bytes]);
            }
        }
        assert_eq!(kind(&join(&[&nonce, &[5, 2, 1, 2]])), TunnelKind::Teredo, "two of them");
        for tail in
            [&[1, 0][..], &[1, 5, 0, 0, 0, 0, 0], &[2, 0], &[0, 0], &[0x80, 4, b'e', b'v', b'i', b'l'], b"1234", &[0]]
        {
            assert_eq!(kind(tail), TunnelKind::None, "{tail:?}");
        }
    }
}
