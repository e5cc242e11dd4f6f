//! L2TP: version 2 (RFC 2661), and version 3 over UDP and directly over IP (RFC 3931).

use crate::decoded::TunnelKind;
use crate::fits::{self, Length};
use crate::walk::{Carried, Next, Walk, be16, be32};

/// A control message, not data.
const CONTROL: u16 = 0x8000;
/// Version 2: a length follows.
const LENGTH: u16 = 0x4000;
/// Version 2: sequence numbers follow the session.
const SEQUENCE: u16 = 0x0800;
/// Version 2: an offset's size follows, and padding of that size.
const OFFSET: u16 = 0x0200;
/// Version 2: the message has priority.
const PRIORITY: u16 = 0x0100;
/// Version 2: greatest padding that an offset announces. It aligns the payload; hosts skip any amount, and an
/// application on this port would receive it.
const OFFSET_BYTES_MAX: usize = 15;
const VERSION_MASK: u16 = 0x000f;

/// Version 3: sizes of what may precede the payload, in bytes: a cookie of 0, 4 or 8 that only the control connection
/// knows (RFC 3931, 4.1), and the default sublayer of 0 or 4 (4.6).
const BEFORE_PAYLOAD: [usize; 4] = [0, 4, 8, 12];

/// A data message in UDP, of its stated version.
pub(crate) fn in_udp(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let flags = be16(walk.bytes::<2>(at)?, 0);
    match flags & (CONTROL | VERSION_MASK) {
        2 => version2(walk, flags, at + 2),
        // RFC 3931, 4.1.2.1: the other bits are reserved; two more reserved bytes, then the session.
        3 if flags == 3 && walk.bytes::<2>(at + 2)? == &[0, 0] => version3(walk, at + 4),
        _ => None,
    }
}

/// A data message directly over IP: the session id comes first, and 0 is the control connection's.
pub(crate) fn in_ip(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    version3(walk, at)
}

/// Walks behind version 2's flags: the fields that they announce, then PPP.
fn version2(walk: &Walk<'_>, flags: u16, mut at: usize) -> Option<Carried> {
    if flags & !(LENGTH | SEQUENCE | OFFSET | PRIORITY | VERSION_MASK) != 0 {
        return None;
    }
    let mut end = walk.end;
    if flags & LENGTH != 0 {
        end = at - 2 + usize::from(be16(walk.bytes::<2>(at)?, 0));
        at += 2;
    }
    let id = be32(walk.bytes::<4>(at)?, 0);
    at += 4;
    if flags & SEQUENCE != 0 {
        at += 4;
    }
    if flags & OFFSET != 0 {
        let padding_bytes = usize::from(be16(walk.bytes::<2>(at)?, 0));
        if padding_bytes > OFFSET_BYTES_MAX {
            return None;
        }
        at += 2 + padding_bytes;
    }
    if id & 0xffff == 0 || at > end {
        return None;
    }
    Some(Carried::new(TunnelKind::L2tp, id, Next::Ppp { at }, end))
}

/// A session id, and the first valid reading of what follows it: an Ethernet frame, PPP, or an IP packet.
fn version3(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let id = be32(walk.bytes::<4>(at)?, 0);
    if id == 0 {
        return None;
    }
    let next = BEFORE_PAYLOAD.into_iter().find_map(|bytes| {
        let at = at + 4 + bytes;
        if fits::ethernet(walk, at) {
            Some(Next::Ethernet { at })
        } else if fits::ppp(walk, at) {
            Some(Next::Ppp { at })
        } else if fits::ip(walk, at, Length::Exact) {
            Some(Next::Ip { at })
        } else {
            None
        }
    })?;
    Some(Carried::new(TunnelKind::L2tp, id, next, walk.end))
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, ipv6, join, tcp, udp};
    use crate::{Kind, LinkType, TunnelKind};

    fn over_udp(header: &[u8], payload: &[u8]) -> (Kind, TunnelKind, u32) {
        let found = decoded(LinkType::RAW, &ipv4(17, &udp(1701, &join(&[header, payload]))));
        (found.kind, found.tunnel.kind, found.tunnel.id)
    }

    const NONE: (Kind, TunnelKind, u32) = (Kind::Udp, TunnelKind::None, 0);

    #[test]
    fn version_2_has_the_fields_that_its_flags_announce() {
        let ppp = join(&[&[0xff, 3, 0, 0x21], &ipv4(6, &tcp(b"x"))]);
        let bytes = ppp.len() as u8;
        let tunnel = (Kind::Tcp, TunnelKind::L2tp, 0x0005_0006);
        assert_eq!(over_udp(&[0, 2, 0, 5, 0, 6], &ppp), tunnel);
        assert_eq!(over_udp(&[0x40, 2, 0, 8 + bytes, 0, 5, 0, 6], &ppp), tunnel);
        assert_eq!(over_udp(&[0x4a, 2, 0, 18 + bytes, 0, 5, 0, 6, 0, 1, 0, 2, 0, 4, 9, 9, 9, 9], &ppp), tunnel);
        let padded = |bytes: u8| over_udp(&[2, 2, 0, 5, 0, 6, 0, bytes], &join(&[&[9; 16][..bytes.into()], &ppp]));
        assert_eq!((padded(15), padded(16)), (tunnel, NONE), "more padding than any alignment needs");
        assert_eq!(over_udp(&[1, 2, 0, 5, 0, 6], &join(&[&[0x57], &ipv6(6, &tcp(b"x"))])), tunnel, "compressed");
        assert_eq!(over_udp(&[0x40, 2, 0, 9 + bytes, 0, 5, 0, 6], &ppp), NONE, "longer than the datagram");
        assert_eq!(over_udp(&[0x40, 2, 0, 7, 0, 5, 0, 6], &ppp), NONE, "shorter than its own header");
        assert_eq!(over_udp(&[0, 2, 0, 5, 0, 0], &ppp), NONE, "no session");
        assert_eq!(over_udp(&[0xc8, 2, 0, 8 + bytes, 0, 5, 0, 6], &ppp), NONE, "control");
        assert_eq!(over_udp(&[0x20, 2, 0, 5, 0, 6], &ppp), NONE, "a reserved bit");
        assert_eq!(over_udp(&[0, 1, 0, 5, 0, 6], &ppp), NONE, "version 1");
        assert_eq!(over_udp(&[0, 2, 0, 5, 0, 6, 0xff, 3, 0xc0, 0x21, 1, 1, 0, 4], &[]), NONE, "link control");
    }

    #[test]
    fn version_3_carries_whatever_fits() {
        let segment = ipv4(6, &tcp(b"x"));
        let inner = ethernet(0x8100, &join(&[&[0, 5, 8, 0], &segment]));
        let ppp = join(&[&[0xff, 3, 0, 0x21], &segment]);
        for between in [&[][..], &[0; 4], &[7; 8], &[7; 12]] {
            for payload in [&inner, &ppp, &segment] {
                let data = join(&[&[0, 0, 0, 9], between, payload]);
                let tunnel = (Kind::Tcp, TunnelKind::L2tp, 9);
                assert_eq!(over_udp(&[0, 3, 0, 0], &data), tunnel);
                let found = decoded(LinkType::RAW, &ipv4(115, &data));
                assert_eq!((found.kind, found.tunnel.kind, found.tunnel.id), tunnel);
            }
        }
        assert_eq!(over_udp(&[0, 3, 0, 0, 0, 0, 0, 0], &inner), NONE, "control");
        assert_eq!(over_udp(&[0, 3, 0, 1, 0, 0, 0, 9], &inner), NONE, "a reserved bit");
        assert_eq!(over_udp(&[0, 3, 0, 0, 0, 0, 0, 9], &[0x5a; 80]), NONE);
        let found = decoded(LinkType::RAW, &ipv4(115, &join(&[&[0, 0, 0, 9], &[0x45; 60]])));
        assert_eq!((found.kind, found.proto, found.payload_bytes), (Kind::OtherIp, 115, 64));
    }
}
