//! CAPWAP data (RFC 5415, 4.3): stations' frames between access point and controller.

use crate::decoded::TunnelKind;
use crate::walk::{Carried, Next, Walk, be32};

/// Preamble, lengths and flags, fragment; in bytes.
const HEADER_BYTES: usize = 8;
/// Of the first four bytes: version and type of the preamble; both 0: not encrypted.
const PREAMBLE_SHIFT: u32 = 24;
/// Header length in units of 4 bytes.
const LENGTH_SHIFT: u32 = 19;
const LENGTH_MASK: u32 = 0x1f;
/// The radio's identifier.
const RADIO_SHIFT: u32 = 14;
const RADIO_MASK: u32 = 0x1f;
/// The binding: the kind of wireless frame in a native frame.
const BINDING_SHIFT: u32 = 9;
const BINDING_MASK: u32 = 0x1f;
/// IEEE 802.11.
const IEEE80211: u32 = 1;
/// The payload is a native frame of the binding, not an 802.3 frame.
const NATIVE: u32 = 0x100;
/// A fragment, which is not walked.
const FRAGMENT: u32 = 0x80;
/// A keep-alive.
const KEEP_ALIVE: u32 = 0x08;
/// Reserved: zero.
const RESERVED: u32 = 0x07;

/// The frame behind the header.
pub(crate) fn carried(walk: &Walk<'_>, at: usize) -> Option<Carried> {
    let first = be32(walk.bytes::<HEADER_BYTES>(at)?, 0);
    let header_bytes = (first >> LENGTH_SHIFT & LENGTH_MASK) as usize * 4;
    if first >> PREAMBLE_SHIFT != 0 || first & (FRAGMENT | KEEP_ALIVE | RESERVED) != 0 || header_bytes < HEADER_BYTES {
        return None;
    }
    let at = at + header_bytes;
    let next = if first & NATIVE == 0 {
        Next::Ethernet { at }
    } else if first >> BINDING_SHIFT & BINDING_MASK == IEEE80211 {
        // Version 0 and data in the first byte; where some access points swap the two, it is the second.
        let [one, other] = *walk.bytes::<2>(at)?;
        Next::Ieee80211 { at, swapped: !is_data(one) && is_data(other) }
    } else {
        return None;
    };
    let id = first >> RADIO_SHIFT & RADIO_MASK;
    Some(Carried::new(TunnelKind::Capwap, id, next, walk.end))
}

/// Whether this is the first byte of an 802.11 data frame's control field: version 0, type 2.
fn is_data(control: u8) -> bool {
    control & 0x0f == 0x08
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, join, snap, tcp, udp};
    use crate::{Kind, LinkType, TunnelKind};

    fn found(header: &[u8], payload: &[u8]) -> (Kind, TunnelKind, u32) {
        let found = decoded(LinkType::RAW, &ipv4(17, &udp(5247, &join(&[header, payload]))));
        (found.kind, found.tunnel.kind, found.tunnel.id)
    }

    const NONE: (Kind, TunnelKind, u32) = (Kind::Udp, TunnelKind::None, 0);

    #[test]
    fn frames_of_both_kinds_are_walked() {
        let segment = ipv4(6, &tcp(b"x"));
        let inner = ethernet(0x0800, &segment);
        let tunnel = (Kind::Tcp, TunnelKind::Capwap, 1);
        let data = |control: [u8; 2]| join(&[&control, &[0; 22], &snap(0x0800, &segment)]);
        assert_eq!(found(&[0, 0x10, 0x42, 0, 0, 0, 0, 0], &inner), tunnel);
        assert_eq!(found(&[0, 0x20, 0x42, 0x10, 0, 0, 0, 0, 6, 2, 2, 2, 2, 2, 2, 0], &inner), tunnel, "options");
        assert_eq!(found(&[0, 0x10, 0x43, 0, 0, 0, 0, 0], &data([8, 1])), tunnel);
        assert_eq!(found(&[0, 0x10, 0x43, 0, 0, 0, 0, 0], &data([2, 8])), tunnel, "swapped");
    }

    #[test]
    fn everything_else_stays_a_datagram() {
        let inner = ethernet(0x0800, &ipv4(6, &tcp(b"x")));
        assert_eq!(found(&[1, 0x10, 0x42, 0, 0, 0, 0, 0], &inner), NONE, "encrypted");
        assert_eq!(found(&[0, 0x10, 0x42, 0x80, 0, 0, 0, 0], &inner), NONE, "a fragment");
        assert_eq!(found(&[0, 0x10, 0x42, 0x08, 0, 0, 0, 0], &inner), NONE, "a keep-alive");
        assert_eq!(found(&[0, 0x10, 0x42, 0x01, 0, 0, 0, 0], &inner), NONE, "a reserved bit");
        assert_eq!(found(&[0, 0x08, 0x42, 0, 0, 0, 0, 0], &inner), NONE, "shorter than its fixed part");
        assert_eq!(found(&[0, 0x10, 0x47, 0, 0, 0, 0, 0], &inner), NONE, "another binding");
        assert_eq!(found(&[0, 0x10, 0x43, 0, 0, 0, 0, 0], &[0x80; 40]), NONE, "a beacon");
    }
}
