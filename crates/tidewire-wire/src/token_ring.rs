//! Token ring (IEEE 802.5, LINKTYPE_IEEE802_5).

use crate::decoded::Kind;
use crate::malformation::Malformation::{self, LinkCut, LinkShort};
use crate::walk::{Next, Walk};

/// Access control, frame control, destination and source; in bytes.
const HEADER_BYTES: usize = 14;
/// Frame control: the kind of frame; LLC is 1.
const TYPE_MASK: u8 = 0xc0;
const TYPE_LLC: u8 = 0x40;
/// Of the source's first byte: a routing information field follows the header.
const SOURCE_ROUTED: u8 = 0x80;
/// Of that field's first byte: its length in bytes, an even number from 2 on.
const ROUTING_LENGTH: u8 = 0x1f;

/// A frame: LLC behind the header and its routing information.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = walk.header::<HEADER_BYTES>(at, LinkShort, LinkCut)?;
    if header[1] & TYPE_MASK != TYPE_LLC {
        return Ok(Next::Done(Kind::OtherLink));
    }
    let mut at = at + HEADER_BYTES;
    if header[8] & SOURCE_ROUTED != 0 {
        let [first, _] = *walk.header::<2>(at, LinkShort, LinkCut)?;
        let bytes = usize::from(first & ROUTING_LENGTH);
        if bytes < 2 || bytes % 2 != 0 {
            return Ok(Next::Done(Kind::OtherLink));
        }
        at += bytes;
    }
    Ok(Next::Llc { at })
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ipv4, join, snap, tcp};
    use crate::{Kind, LinkType};

    #[test]
    fn routing_information_is_stepped_over() {
        let payload = snap(0x0800, &ipv4(6, &tcp(b"x")));
        let kind = |control: u8, source: u8, routing: &[u8]| {
            let header = join(&[&[0x10, control], &[2; 6], &[source, 2, 2, 2, 2, 2], routing]);
            decoded(LinkType::IEEE802_5, &join(&[&header, &payload])).kind
        };
        assert_eq!(kind(0x40, 0, &[]), Kind::Tcp);
        assert_eq!(kind(0x40, 0x80, &[6, 0x30, 0, 1, 0, 2]), Kind::Tcp);
        assert_eq!(kind(0x40, 0x80, &[0, 0]), Kind::OtherLink, "no length");
        assert_eq!(kind(0x40, 0x80, &[3, 0, 0]), Kind::OtherLink, "an odd length");
        assert_eq!(kind(0x00, 0, &[]), Kind::OtherLink, "the ring's own");
    }
}
