//! TZSP (TaZmen Sniffer Protocol): frames that small routers and access points mirror, in UDP.

use crate::LinkType;
use crate::decoded::TunnelKind;
use crate::walk::{Carried, Next, Walk, be16};

/// Version, type, encapsulated protocol; in bytes.
const HEADER_BYTES: usize = 4;
/// The only version.
const VERSION: u8 = 1;
/// Types that carry a frame: one that was received, and one to send.
const TYPES: std::ops::RangeInclusive<u8> = 0..=1;

/// Encapsulated protocols.
const ETHERNET: u16 = 1;
const IEEE80211: u16 = 18;
const PRISM: u16 = 119;
const AVS: u16 = 127;

/// Tags of one byte: padding, and the end of the list.
const PADDING: u8 = 0;
const END: u8 = 1;
/// The frame's length when it was received, two bytes: what follows may be cut.
const RECEIVED_BYTES: u8 = 0x29;
/// Tags walked in one datagram; senders use fewer than ten.
const TAGS_MAX: usize = 32;

/// The frame behind header and tags. Nothing else in the datagram may contradict the format.
pub(crate) fn carried(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let header = walk.bytes::<HEADER_BYTES>(at)?;
    if header[0] != VERSION || !TYPES.contains(&header[1]) {
        return None;
    }
    let (at, received_bytes) = after_tags(walk, at + HEADER_BYTES)?;
    let next = match be16(header, 2) {
        ETHERNET => Next::Ethernet { at },
        IEEE80211 => Next::Ieee80211 { at, swapped: false },
        PRISM => Next::Link { link: LinkType::IEEE802_11_PRISM, at },
        AVS => Next::Link { link: LinkType::IEEE802_11_AVS, at },
        _ => return None,
    };
    let is_cut = received_bytes.is_some_and(|bytes| bytes > walk.end - at);
    Some(Carried { is_cut, ..Carried::new(TunnelKind::Tzsp, 0, next, walk.end) })
}

/// Where the list of tags ends, and the length of the received frame if a tag has it.
fn after_tags(walk: &Walk<'_>, mut at: usize) -> Option<(usize, Option<usize>)> {
    let mut received_bytes = None;
    for _ in 0..TAGS_MAX {
        let [tag] = *walk.bytes::<1>(at)?;
        at += match tag {
            END => return Some((at + 1, received_bytes)),
            PADDING => 1,
            _ => {
                let [_, length] = *walk.bytes::<2>(at)?;
                if (tag, length) == (RECEIVED_BYTES, 2) {
                    received_bytes = Some(be16(walk.bytes::<4>(at)?, 2).into());
                }
                2 + usize::from(length)
            }
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, join, snap, tcp, udp};
    use crate::{Decoded, Kind, LinkType, TunnelKind};

    fn found(header: &[u8], payload: &[u8]) -> Decoded {
        decoded(LinkType::RAW, &ipv4(17, &udp(37008, &join(&[header, payload]))))
    }

    #[test]
    fn the_frame_follows_the_tags() {
        let frame = ethernet(0x0800, &ipv4(6, &tcp(b"x")));
        let data = join(&[&[8, 1], &[0; 22], &snap(0x0800, &ipv4(6, &tcp(b"x")))]);
        for header in [&[1, 0, 0, 1, 1][..], &[1, 1, 0, 1, 0, 0, 10, 1, 200, 1], &[1, 0, 0, 1, 0x29, 2, 0, 9, 1]] {
            let found = found(header, &frame);
            assert_eq!((found.kind, found.tunnel.kind, found.payload_bytes), (Kind::Tcp, TunnelKind::Tzsp, 1));
        }
        assert_eq!(found(&[1, 0, 0, 18, 1], &data).kind, Kind::Tcp, "802.11");
    }

    #[test]
    fn other_datagrams_stay_in_their_own_flow() {
        let frame = ethernet(0x0800, &ipv4(6, &tcp(b"x")));
        for header in [&[2, 0, 0, 1, 1][..], &[1, 4, 0, 1, 1], &[1, 0, 0, 7, 1], &[1, 0, 0, 1, 9, 255, 1], &[1, 0]] {
            let found = found(header, &frame);
            assert_eq!((found.kind, found.tunnel.kind), (Kind::Udp, TunnelKind::None), "{header:?}");
        }
    }

    #[test]
    fn a_frame_that_was_longer_when_it_was_received_is_cut() {
        let frame = ethernet(0x0800, &ipv4(6, &tcp(&[7; 200])));
        let cut = found(&[1, 0, 0, 1, 0x29, 2, 0, 254, 1], &frame[..100]);
        assert_eq!((cut.kind, cut.payload_bytes, cut.payload_captured_bytes), (Kind::Tcp, 200, 46));
        assert_eq!(found(&[1, 0, 0, 1, 1], &frame[..100]).kind, Kind::Udp, "without the tag it is malformed");
    }
}
