//! MACsec (IEEE 802.1AE) without encryption: integrity protection alone.

use crate::decoded::Kind;
use crate::malformation::Malformation::{self, LinkCut, LinkShort};
use crate::other_link::OtherLink;
use crate::walk::{Next, Walk, be16};

/// Tag control, short length and packet number, in bytes (9.3); tag control follows the EtherType.
const TAG_BYTES: usize = 6;
/// Secure channel identifier, in bytes, if present.
const CHANNEL_BYTES: usize = 8;
/// The integrity check value of the default cipher suite at the frame's end, in bytes (14.5).
const CHECK_VALUE_BYTES: usize = 16;

/// Tag control: version, which is 0.
const VERSION: u8 = 0x80;
/// Tag control: the secure channel identifier is present.
const HAS_CHANNEL: u8 = 0x20;
/// Tag control: encrypted, or changed in another way (9.5).
const CHANGED: u8 = 0x0c;
/// The short length counts the user data if that is shorter than this, and is 0 otherwise (9.7).
const SHORT_LENGTH_MAX: u8 = 47;

/// A security tag, and the EtherType behind it. Encrypted frames are counted as other link traffic.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let &[control, short_length, ..] = walk.header::<TAG_BYTES>(at, LinkShort, LinkCut)?;
    if control & CHANGED != 0 {
        return Ok(walk.other(OtherLink::MacsecEncrypted));
    }
    if control & VERSION != 0 || short_length > SHORT_LENGTH_MAX {
        return Ok(Next::Done(Kind::OtherLink));
    }
    let at = at + TAG_BYTES + if control & HAS_CHANNEL != 0 { CHANNEL_BYTES } else { 0 };
    let ether_type = be16(walk.header::<2>(at, LinkShort, LinkCut)?, 0);
    let end = match usize::from(short_length) {
        0 => walk.end.saturating_sub(CHECK_VALUE_BYTES),
        bytes => at + bytes,
    };
    if end < at + 2 || end > walk.end {
        return Err(LinkShort);
    }
    walk.end = end;
    Ok(Next::EtherType { ether_type, at: at + 2 })
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, join, snapped, tcp};
    use crate::{Kind, LinkType, Malformation};

    fn frame(tag: &[u8], segment: &[u8]) -> Vec<u8> {
        ethernet(0x88e5, &join(&[tag, &[8, 0], segment, &[0x5a; 16]]))
    }

    #[test]
    fn what_is_only_signed_is_walked() {
        let segment = ipv4(6, &tcp(&[7; 20]));
        let channel = join(&[&[0x20, 0, 0, 0, 0, 1], &[2; 8]]);
        for tag in [&[0x00, 0, 0, 0, 0, 1][..], &channel, &[0x40, 0, 0, 0, 0, 1]] {
            let found = decoded(LinkType::ETHERNET, &frame(tag, &segment));
            assert_eq!((found.kind, found.payload_bytes), (Kind::Tcp, 20));
        }
        let small = ipv4(6, &tcp(b"x"));
        let found = decoded(LinkType::ETHERNET, &join(&[&frame(&[0, 43, 0, 0, 0, 1], &small), &[0; 9]]));
        assert_eq!((found.kind, found.payload_bytes), (Kind::Tcp, 1), "a short length, and padding");
    }

    #[test]
    fn the_rest_is_counted() {
        let segment = ipv4(6, &tcp(&[7; 20]));
        for tag in [[0x0c, 0, 0, 0, 0, 1], [0x08, 0, 0, 0, 0, 1], [0x04, 0, 0, 0, 0, 1], [0x80, 0, 0, 0, 0, 1]] {
            assert_eq!(decoded(LinkType::ETHERNET, &frame(&tag, &segment)).kind, Kind::OtherLink, "{tag:?}");
        }
        let whole = frame(&[0, 0, 0, 0, 0, 1], &segment);
        assert_eq!(decoded(LinkType::ETHERNET, &whole[..22]).malformed, Some(Malformation::LinkShort));
        assert_eq!(snapped(LinkType::ETHERNET, &whole, 21).malformed, Some(Malformation::LinkCut));
        let cut = frame(&[0, 47, 0, 0, 0, 1], &[]);
        assert_eq!(decoded(LinkType::ETHERNET, &cut).malformed, Some(Malformation::LinkShort), "longer than the frame");
    }
}
