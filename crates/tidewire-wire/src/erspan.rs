//! ERSPAN: mirrored Ethernet frames in GRE (draft-foschiano-erspan-03).

use crate::decoded::TunnelKind;
use crate::walk::{Carried, Next, Walk, be16};

/// Type II's header, in bytes.
const TYPE2_BYTES: usize = 8;
/// Type III's header, in bytes, without the platform-specific subheader.
const TYPE3_BYTES: usize = 12;
/// The platform-specific subheader, in bytes.
const PLATFORM_BYTES: usize = 8;
/// Of type III's last byte: a platform-specific subheader follows.
const HAS_PLATFORM: u8 = 0x01;

/// Of the session's two bytes, in both types: the mirrored frame was cut.
const TRUNCATED: u16 = 0x0400;
/// Of the same bytes: the session.
const SESSION_MASK: u16 = 0x03ff;

/// Type I: without a header and a session.
pub(crate) fn type1(walk: &Walk<'_>, at: usize) -> Carried {
    carried(walk, 0, Next::Ethernet { at })
}

/// Type II: version 1 in the first nibble.
pub(crate) fn type2(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let header = walk.bytes::<TYPE2_BYTES>(at)?;
    if header[0] >> 4 != 1 {
        return None;
    }
    Some(carried(walk, be16(header, 2), Next::Ethernet { at: at + TYPE2_BYTES }))
}

/// Type III: version 2 in the first nibble; the frame type distinguishes mirrored frames and IP packets.
pub(crate) fn type3(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let header = walk.bytes::<TYPE3_BYTES>(at)?;
    if header[0] >> 4 != 2 {
        return None;
    }
    let after = at + TYPE3_BYTES + if header[11] & HAS_PLATFORM != 0 { PLATFORM_BYTES } else { 0 };
    let next = match header[10] >> 2 & 0x1f {
        0 => Next::Ethernet { at: after },
        2 => Next::Ip { at: after },
        _ => return None,
    };
    Some(carried(walk, be16(header, 2), next))
}

/// The mirrored frame; `session`: the two bytes that hold the session.
fn carried(walk: &Walk<'_>, session: u16, next: Next) -> Carried {
    let carried = Carried::new(TunnelKind::Erspan, (session & SESSION_MASK).into(), next, walk.end);
    Carried { is_cut: session & TRUNCATED != 0, ..carried }
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, ipv6, join, tcp};
    use crate::{Kind, LinkType, Malformation, TunnelKind};

    /// A mirrored frame cut to `bytes`, in a packet that says so or does not, and bytes of a trailer behind it.
    fn mirrored(frame: &[u8], bytes: usize, says_so: bool) -> crate::Decoded {
        let header = [0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, if says_so { 4 } else { 0 }, 5, 0, 0, 0, 0];
        let packet = ipv4(47, &join(&[&header, &frame[..bytes]]));
        decoded(LinkType::ETHERNET, &ethernet(0x0800, &join(&[&packet, &[0x5a; 4]])))
    }

    #[test]
    fn a_mirrored_frame_that_was_cut_is_as_long_as_its_packet_says() {
        for (ether_type, packet) in [(0x0800, ipv4(6, &tcp(&[7; 200]))), (0x86dd, ipv6(6, &tcp(&[7; 200])))] {
            let frame = ethernet(ether_type, &packet);
            let found = mirrored(&frame, 128, true);
            let captured = 128 - (frame.len() - 200) as u32;
            assert_eq!((found.kind, found.tunnel.kind, found.tunnel.id), (Kind::Tcp, TunnelKind::Erspan, 5));
            assert_eq!((found.payload_bytes, found.payload_captured_bytes), (200, captured));
        }
        let whole = ethernet(0x0800, &ipv4(6, &tcp(b"x")));
        assert_eq!(mirrored(&whole, whole.len(), true).payload_bytes, 1, "the mark alone changes nothing");
    }

    #[test]
    fn a_cut_frame_without_the_mark_is_malformed() {
        let frame = ethernet(0x0800, &ipv4(6, &tcp(&[7; 200])));
        let found = mirrored(&frame, 128, false);
        assert_eq!((found.kind, found.malformed), (Kind::Malformed, Some(Malformation::Ipv4TotalLong)));
    }
}
