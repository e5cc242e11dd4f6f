//! IEEE 802.15.4 data frames with 6LoWPAN (RFC 4944, RFC 6282). Uncompressed IPv6 is walked; compressed headers (which
//! may need contexts agreed on elsewhere) and fragments are counted by name.

use crate::malformation::Malformation::{self, LinkCut, LinkHeaderLength, LinkShort};
use crate::other_link::OtherLink;
use crate::walk::{Next, Walk};

/// The check sequence at a frame's end, in bytes.
const CHECK_SEQUENCE_BYTES: usize = 2;
/// Preamble, start delimiter and length before a frame of the non-ASK physical layers, in bytes.
const PHYSICAL_BYTES: usize = 6;
/// TAP: version, reserved, length; in bytes, little-endian. Then fields of type, length and padding to 4.
const TAP_BYTES: usize = 4;
/// TAP: the field with the kind of check sequence, and the sizes of its values in bytes: none, 16 bits, 32 bits.
const TAP_CHECK_SEQUENCE: u16 = 0;
const TAP_FIELDS_MAX: usize = 32;

/// Frame control, first byte: frame type; data.
const TYPE_MASK: u8 = 0x07;
const TYPE_DATA: u8 = 0x01;
/// Frame control, first byte.
const SECURED: u8 = 0x08;
const ONE_NETWORK: u8 = 0x40;
/// Frame control, second byte.
const NO_SEQUENCE: u8 = 0x01;
const HAS_ELEMENTS: u8 = 0x02;
/// Frame control, second byte: version 2 (IEEE 802.15.4-2015) has other rules for network ids; version 3 is undefined.
const VERSION_SHIFT: u8 = 4;

/// Mesh headers and broadcasts walked before a dispatch (RFC 4944, 5.2 and 11.1).
const MESH_MAX: usize = 4;

/// A frame; `check_sequence`: it ends with one.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize, check_sequence: bool) -> Result<Next, Malformation> {
    if check_sequence {
        walk.end = walk.end.saturating_sub(CHECK_SEQUENCE_BYTES).max(at);
    }
    let [first, second] = *walk.header::<2>(at, LinkShort, LinkCut)?;
    let version = second >> VERSION_SHIFT & 3;
    if first & TYPE_MASK != TYPE_DATA || version == 3 {
        return Ok(walk.other(OtherLink::Ieee802154Control));
    }
    if first & SECURED != 0 {
        return Ok(walk.other(OtherLink::Ieee802154Encrypted));
    }
    if version == 2 && second & HAS_ELEMENTS != 0 {
        return Ok(walk.other(OtherLink::Ieee802154Data));
    }
    let (destination, source) = (address_bytes(second >> 2 & 3), address_bytes(second >> 6 & 3));
    let sequence = usize::from(version < 2 || second & NO_SEQUENCE == 0);
    let networks = networks(version, first & ONE_NETWORK != 0, destination, source);
    lowpan(walk, at + 2 + sequence + networks * 2 + destination + source)
}

/// The bytes of an address of this mode; mode 1 is reserved.
fn address_bytes(mode: u8) -> usize {
    match mode {
        2 => 2,
        3 => 8,
        _ => 0,
    }
}

/// Number of network ids (2 bytes each): IEEE 802.15.4-2015, 7.2.2.6 and table 7-2.
fn networks(version: u8, one: bool, destination: usize, source: usize) -> usize {
    match (version, destination, source) {
        (2, 0, 0) => usize::from(one),
        (2, _, 0) | (2, 0, _) | (2, 8, 8) => usize::from(!one),
        (_, 0, 0) => 0,
        (_, 0, _) | (_, _, 0) => 1,
        _ => 2 - usize::from(one),
    }
}

/// Walks what the dispatch at `at` announces (RFC 4944, 5.1; RFC 6282, 2).
fn lowpan(walk: &mut Walk<'_>, mut at: usize) -> Result<Next, Malformation> {
    for _ in 0..MESH_MAX {
        let [dispatch] = *walk.header::<1>(at, LinkShort, LinkCut)?;
        at += match dispatch {
            0x41 => return Ok(Next::Ipv6 { at: at + 1 }),
            0x42 => return Ok(walk.other(OtherLink::SixLowpanHc1)),
            0x50 => 2,
            0x60..=0x7f => return Ok(walk.other(OtherLink::SixLowpanIphc)),
            // A mesh header: hops left (15: in another byte), then two addresses, short ones where their bits are set.
            0x80..=0xbf => {
                let hops = if dispatch & 0x0f == 0x0f { 2 } else { 1 };
                hops + [0x20, 0x10].map(|short| if dispatch & short != 0 { 2 } else { 8 }).iter().sum::<usize>()
            }
            0xc0..=0xc7 | 0xe0..=0xe7 => return Ok(walk.other(OtherLink::SixLowpanFragment)),
            0x40 | 0x43 => return Ok(walk.other(OtherLink::SixLowpanOther)),
            // "Not a LoWPAN frame", and reserved values: ZigBee, which is older, begins with either.
            _ => return Ok(walk.other(OtherLink::Ieee802154Data)),
        };
    }
    Ok(walk.other(OtherLink::SixLowpanOther))
}

/// A frame behind its physical header.
pub(crate) fn physical(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = walk.header::<PHYSICAL_BYTES>(at, LinkShort, LinkCut)?;
    let at = at + PHYSICAL_BYTES;
    let bytes = usize::from(header[PHYSICAL_BYTES - 1] & 0x7f);
    if at + bytes > walk.end {
        return Err(LinkHeaderLength);
    }
    walk.end = at + bytes;
    self::walk(walk, at, true)
}

/// A frame behind a TAP header, which states whether the frame ends with a check sequence.
pub(crate) fn tap(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let &[version, _, l0, l1] = walk.header::<TAP_BYTES>(at, LinkShort, LinkCut)?;
    let bytes = usize::from(u16::from_le_bytes([l0, l1]));
    if version != 0 || bytes < TAP_BYTES || at + bytes > walk.end {
        return Err(LinkHeaderLength);
    }
    let mut check_sequence = 0;
    let mut field_at = at + TAP_BYTES;
    for _ in 0..TAP_FIELDS_MAX {
        if field_at + 4 > at + bytes {
            break;
        }
        let &[t0, t1, n0, n1] = walk.header::<4>(field_at, LinkShort, LinkCut)?;
        if u16::from_le_bytes([t0, t1]) == TAP_CHECK_SEQUENCE {
            check_sequence = walk.header::<5>(field_at, LinkShort, LinkCut)?[4];
        }
        field_at += 4 + usize::from(u16::from_le_bytes([n0, n1])).next_multiple_of(4);
    }
    let at = at + bytes;
    if check_sequence == 2 {
        // A 32-bit one: two bytes more than `walk` removes.
        walk.end = walk.end.saturating_sub(CHECK_SEQUENCE_BYTES).max(at);
    }
    self::walk(walk, at, check_sequence != 0)
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ipv6, join, tcp};
    use crate::{Decoded, Kind, LinkType, OtherLink};

    /// A frame with this control field, these bytes of sequence number and addresses, and this payload.
    fn found(control: [u8; 2], fields: usize, payload: &[u8]) -> Decoded {
        decoded(LinkType::IEEE802_15_4_NOFCS, &join(&[&control, &vec![7; fields], payload]))
    }

    #[test]
    fn fields_come_and_go_by_the_control_field() {
        let packet = join(&[&[0x41], &ipv6(6, &tcp(b"x"))]);
        for (control, fields) in [
            ([0x41, 0x88], 1 + 2 + 2 + 2),
            ([0x01, 0x88], 1 + 2 + 2 + 2 + 2),
            ([0x41, 0xdc], 1 + 2 + 8 + 8),
            ([0x41, 0xd8], 1 + 2 + 2 + 8),
            ([0x01, 0x08], 1 + 2 + 2),
            ([0x01, 0x80], 1 + 2 + 2),
            ([0x41, 0xec], 1 + 8 + 8),
            ([0x01, 0xed], 2 + 8 + 8),
            ([0x01, 0x28], 1 + 2 + 2),
            ([0x41, 0x28], 1 + 2),
        ] {
            assert_eq!(found(control, fields, &packet).kind, Kind::Tcp, "{control:x?}");
        }
    }

    #[test]
    fn what_is_not_walked_has_a_name() {
        let name = |control: [u8; 2], payload: &[u8]| {
            let found = found(control, 7, payload);
            assert_eq!(found.kind, Kind::OtherLink);
            found.other_link
        };
        let dispatch = |dispatch: &[u8]| name([0x41, 0x88], &join(&[dispatch, &[0; 40]]));
        assert_eq!(dispatch(&[0x7a, 0x33]), Some(OtherLink::SixLowpanIphc));
        assert_eq!(dispatch(&[0x42]), Some(OtherLink::SixLowpanHc1));
        assert_eq!(dispatch(&[0xc1, 0x23]), Some(OtherLink::SixLowpanFragment));
        assert_eq!(dispatch(&[0xe1, 0x23]), Some(OtherLink::SixLowpanFragment));
        assert_eq!(dispatch(&[0x48, 0x02]), Some(OtherLink::Ieee802154Data), "ZigBee");
        assert_eq!(dispatch(&[0x08, 0x02]), Some(OtherLink::Ieee802154Data), "ZigBee");
        assert_eq!(dispatch(&[0x43]), Some(OtherLink::SixLowpanOther));
        assert_eq!(dispatch(&[0xb5, 0, 1, 0, 2, 0x50, 1, 0x60]), Some(OtherLink::SixLowpanIphc), "mesh, broadcast");
        assert_eq!(name([0x02, 0x00], &[]), Some(OtherLink::Ieee802154Control), "an acknowledgment");
        assert_eq!(name([0x49, 0x88], &[0x41; 60]), Some(OtherLink::Ieee802154Encrypted));
        assert_eq!(name([0x41, 0xaa], &[0x41; 60]), Some(OtherLink::Ieee802154Data), "information elements");
    }

    #[test]
    fn check_sequences_and_headers_before_the_frame() {
        let frame = join(&[&[0x41, 0x88], &[7; 7], &[0x41], &ipv6(6, &tcp(b"x"))]);
        let with = join(&[&frame, &[1, 2]]);
        let physical = join(&[&[0, 0, 0, 0, 0xa7, with.len() as u8], &with]);
        let tap = |kind: u8| [0, 0, 12, 0, 0, 0, 1, 0, kind, 0, 0, 0];
        for (link, frame) in [
            (LinkType::IEEE802_15_4_WITHFCS, with.clone()),
            (LinkType::IEEE802_15_4_NONASK_PHY, physical),
            (LinkType::IEEE802_15_4_TAP, join(&[&tap(0), &frame])),
            (LinkType::IEEE802_15_4_TAP, join(&[&tap(1), &with])),
            (LinkType::IEEE802_15_4_TAP, join(&[&tap(2), &with, &[3, 4]])),
        ] {
            let found = decoded(link, &frame);
            assert_eq!((found.kind, found.payload_bytes), (Kind::Tcp, 1), "{link:?}");
        }
    }
}
