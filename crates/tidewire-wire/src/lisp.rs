//! LISP data packets (RFC 9300, 5.3), and their generic protocol extension (RFC 9305).

use crate::decoded::TunnelKind;
use crate::fits::{self, Length};
use crate::walk::{Carried, Next, Walk, be32};

/// Flags and nonce, locator status bits; in bytes.
const HEADER_BYTES: usize = 8;
/// A nonce is present.
const NONCE: u8 = 0x80;
/// A nonce is to be echoed.
const ECHO: u8 = 0x20;
/// A map version is present, in the nonce's place.
const MAP_VERSION: u8 = 0x10;
/// An instance id of 24 bits is present.
const INSTANCE: u8 = 0x08;
/// The next protocol is stated (RFC 9305, 3.1); without it the payload is IP.
const HAS_NEXT: u8 = 0x04;
/// The key that the payload is encrypted with (RFC 8061); 0: not encrypted.
const KEY: u8 = 0x03;

/// The packet behind a header with consistent flags.
pub(crate) fn carried(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let header = walk.bytes::<HEADER_BYTES>(at)?;
    let flags = header[0];
    // RFC 9300, 5.3: the nonce and the map version share their bits, and only a nonce can be echoed.
    if flags & KEY != 0 || flags & (NONCE | MAP_VERSION) == NONCE | MAP_VERSION || flags & (NONCE | ECHO) == ECHO {
        return None;
    }
    let id = if flags & INSTANCE != 0 { be32(header, 4) >> 8 } else { 0 };
    let at = at + HEADER_BYTES;
    let next = match header[3] {
        _ if flags & HAS_NEXT == 0 => Next::Ip { at },
        1 => Next::Ipv4 { at },
        2 => Next::Ipv6 { at },
        3 => Next::Ethernet { at },
        4 => Next::Nsh { at },
        _ => return None,
    };
    if flags & HAS_NEXT == 0 && !fits::ip(walk, at, Length::Exact) {
        return None;
    }
    Some(Carried::new(TunnelKind::Lisp, id, next, walk.end))
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, ipv6, join, tcp, udp};
    use crate::{Kind, LinkType, TunnelKind};

    fn found(header: [u8; 8], payload: &[u8]) -> (Kind, TunnelKind, u32) {
        let found = decoded(LinkType::RAW, &ipv4(17, &udp(4341, &join(&[&header, payload]))));
        (found.kind, found.tunnel.kind, found.tunnel.id)
    }

    #[test]
    fn flags_and_packet_must_fit() {
        let (segment, segment6) = (ipv4(6, &tcp(b"x")), ipv6(6, &tcp(b"x")));
        let tunnel = |id| (Kind::Tcp, TunnelKind::Lisp, id);
        let none = (Kind::Udp, TunnelKind::None, 0);
        assert_eq!(found([0xc0, 1, 2, 3, 0, 0, 0, 1], &segment), tunnel(0));
        assert_eq!(found([0x88, 1, 2, 3, 0, 0, 9, 1], &segment6), tunnel(9));
        assert_eq!(found([0x04, 0, 0, 3, 0, 0, 0, 0], &ethernet(0x0800, &segment)), tunnel(0));
        assert_eq!(found([0x81, 1, 2, 3, 0, 0, 0, 1], &segment), none, "encrypted");
        assert_eq!(found([0x90, 1, 2, 3, 0, 0, 0, 1], &segment), none, "nonce and map version");
        assert_eq!(found([0x20, 1, 2, 3, 0, 0, 0, 1], &segment), none, "echo without a nonce");
        assert_eq!(found([0x04, 0, 0, 9, 0, 0, 0, 0], &segment), none);
        assert_eq!(found([0xc0, 1, 2, 3, 0, 0, 0, 1], &join(&[&segment, &[0]])), none, "a byte too many");
        let mut other = segment.clone();
        other[8] += 1;
        assert_eq!(found([0xc0, 1, 2, 3, 0, 0, 0, 1], &other), none, "a wrong header checksum");
    }
}
