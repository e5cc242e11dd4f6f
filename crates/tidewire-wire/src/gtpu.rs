//! GTP-U (3GPP TS 29.281, 5): subscribers' packets between base station and core.

use crate::decoded::TunnelKind;
use crate::walk::{Carried, Next, Walk, be16, be32};

/// Flags, message type, length, tunnel endpoint identifier; in bytes.
const HEADER_BYTES: usize = 8;
/// Sequence number, N-PDU number and type of the first extension; in bytes, present when any of the three flags is.
const OPTIONAL_BYTES: usize = 4;
/// Version and protocol type: version 1, GTP (not GTP').
const VERSION_MASK: u8 = 0xf0;
const VERSION1: u8 = 0x30;
/// Extension header, sequence number or N-PDU number flag.
const OPTIONAL: u8 = 0x07;
/// Extension header flag.
const EXTENSION: u8 = 0x04;
/// G-PDU: the message that carries a packet.
const G_PDU: u8 = 255;
/// Extension headers walked in one message; 3GPP defines fewer.
const EXTENSIONS_MAX: usize = 16;
/// Greatest total size of extension headers, in bytes. An application on this port would receive them, and nothing else
/// reads them; the longest ones of a base station have some dozens.
const EXTENSION_BYTES_MAX: usize = 256;

/// The IP packet that a G-PDU carries.
pub(crate) fn carried(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let header = walk.bytes::<HEADER_BYTES>(at)?;
    if header[0] & VERSION_MASK != VERSION1 || header[1] != G_PDU {
        return None;
    }
    // The length counts what follows the eight bytes, including the optional ones.
    let end = at + HEADER_BYTES + usize::from(be16(header, 2));
    let mut inner_at = at + HEADER_BYTES;
    if header[0] & OPTIONAL != 0 {
        let optional = walk.bytes::<OPTIONAL_BYTES>(inner_at)?;
        inner_at += OPTIONAL_BYTES;
        if header[0] & EXTENSION != 0 {
            inner_at = after_extensions(walk, optional[3], inner_at)?;
        }
    }
    Some(Carried::new(TunnelKind::GtpU, be32(header, 4), Next::Ip { at: inner_at }, end))
}

/// Extension headers: length in units of 4 bytes, content, type of the next (5.2.1).
fn after_extensions(walk: &Walk<'_>, first: u8, mut at: usize) -> Option<usize> {
    let (mut kind, begin) = (first, at);
    for _ in 0..EXTENSIONS_MAX {
        if kind == 0 {
            return Some(at);
        }
        let [length] = walk.bytes::<1>(at)?;
        let bytes = usize::from(*length) * 4;
        if bytes == 0 || at + bytes - begin > EXTENSION_BYTES_MAX {
            return None;
        }
        [kind] = *walk.bytes::<1>(at + bytes - 1)?;
        at += bytes;
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ipv4, ipv6, join, tcp, udp};
    use crate::{Kind, LinkType, TunnelKind};

    #[test]
    fn a_packet_of_the_stated_length_makes_a_tunnel() {
        let inner = ipv6(6, &tcp(b"x"));
        let found = |header: &[u8]| {
            let found = decoded(LinkType::RAW, &ipv4(17, &udp(2152, &join(&[header, &inner]))));
            (found.kind, found.tunnel.kind, found.tunnel.id)
        };
        let tunnel = (Kind::Tcp, TunnelKind::GtpU, 9);
        let none = (Kind::Udp, TunnelKind::None, 0);
        assert_eq!(found(&[0x30, 255, 0, 61, 0, 0, 0, 9]), tunnel);
        assert_eq!(found(&[0x32, 255, 0, 65, 0, 0, 0, 9, 0, 1, 0, 0]), tunnel, "sequence number");
        let extensions = [0x36, 255, 0, 73, 0, 0, 0, 9, 0, 1, 0, 0xc0, 1, 0, 0, 0x85, 1, 0, 0, 0];
        assert_eq!(found(&extensions), tunnel, "two extension headers");
        assert_eq!(found(&[0x34, 255, 0, 69, 0, 0, 0, 9, 0, 1, 0, 0xc0, 0, 0, 0, 0]), none, "of length zero");
        let long = |units: u8| {
            let stated = (65 + usize::from(units) * 4) as u16;
            let extension = join(&[&[units], &[7; 1020][..usize::from(units) * 4 - 2], &[0]]);
            join(&[&[0x34, 255], &stated.to_be_bytes(), &[0, 0, 0, 9, 0, 1, 0, 0xc0], &extension])
        };
        assert_eq!(found(&long(64)), tunnel);
        assert_eq!(found(&long(65)), none, "more bytes of extension headers than anybody needs");
        assert_eq!(found(&[0x30, 255, 0, 60, 0, 0, 0, 9]), none, "shorter than the packet inside");
        assert_eq!(found(&[0x30, 255, 0, 62, 0, 0, 0, 9]), none, "longer than the datagram");
        assert_eq!(found(&[0x30, 1, 0, 61, 0, 0, 0, 9]), none, "another message");
        assert_eq!(found(&[0x50, 255, 0, 61, 0, 0, 0, 9]), none, "another version");
    }
}
