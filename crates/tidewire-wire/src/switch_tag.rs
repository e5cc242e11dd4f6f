//! Tags that Ethernet switch chips add to frames for their host: Marvell's (DSA, EDSA) and Broadcom's. The formats are
//! those of the Linux kernel (net/dsa/tag_dsa.c, tag_brcm.c) and of tcpdump.org's registry.

use crate::ethernet;
use crate::malformation::Malformation::{self, LinkCut, LinkShort};
use crate::walk::{Next, Walk, be16};

/// Destination and source address, in bytes: the tags stand behind them, before the type.
const ADDRESSES_BYTES: usize = 12;
/// A tag, in bytes.
const TAG_BYTES: usize = 4;
/// EDSA: an EtherType (0xdada by default, but hosts can set it) and two reserved bytes before the tag.
const EDSA_BYTES: usize = 4;
/// Marvell, first byte: the frame had a VLAN tag, whose id is in the last 12 bits.
const TAGGED: u8 = 0x20;
/// Marvell, first byte: its upper two bits are the kind of tag; a tag of the first kind has 4 more bytes if this bit of
/// its third byte is set.
const EXTENDED: u8 = 0x10;

/// Marvell's tag.
pub(crate) fn marvell(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    tagged(walk, at + ADDRESSES_BYTES)
}

/// Marvell's tag behind an EtherType.
pub(crate) fn marvell_ether_type(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    tagged(walk, at + ADDRESSES_BYTES + EDSA_BYTES)
}

/// The tag at `at`; it replaces the frame's VLAN tag.
fn tagged(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let tag = walk.header::<TAG_BYTES>(at, LinkShort, LinkCut)?;
    if tag[0] & TAGGED != 0 {
        ethernet::note_vlan(walk, be16(tag, 2));
    }
    let bytes = if tag[2] & EXTENDED != 0 { 2 * TAG_BYTES } else { TAG_BYTES };
    type_at(walk, at + bytes)
}

/// Broadcom's tag.
pub(crate) fn broadcom(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    type_at(walk, at + ADDRESSES_BYTES + TAG_BYTES)
}

/// Broadcom's tag before the frame.
pub(crate) fn broadcom_before(at: usize) -> Next {
    Next::Ethernet { at: at + TAG_BYTES }
}

/// The EtherType or length at `at`.
fn type_at(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let value = be16(walk.header::<2>(at, LinkShort, LinkCut)?, 0);
    Ok(ethernet::type_or_length(walk, value, at + 2))
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ethernet, ipv4, join, snapped, tcp};
    use crate::{Kind, LinkType, Malformation, Vlans};

    #[test]
    fn tags_of_every_kind() {
        let segment = ipv4(6, &tcp(b"x"));
        let found = |link, tag: &[u8]| {
            let found = decoded(link, &join(&[&[2; 12], tag, &[8, 0], &segment]));
            (found.kind, found.vlans)
        };
        let plain = (Kind::Tcp, Vlans::NONE);
        assert_eq!(found(LinkType::DSA_TAG_BRCM, &[0, 0, 0, 5]), plain);
        assert_eq!(found(LinkType::DSA_TAG_DSA, &[0xc0, 8, 0, 5]), plain, "not tagged: the switch's own VLAN");
        assert_eq!(found(LinkType::DSA_TAG_DSA, &[0xe0, 8, 0x60, 5]), (Kind::Tcp, Vlans::new([5])), "priority aside");
        assert_eq!(
            found(LinkType::DSA_TAG_EDSA, &[0xda, 0xda, 0, 0, 0xe0, 8, 0x0f, 0xa0]),
            (Kind::Tcp, Vlans::new([4000]))
        );
        let before = join(&[&[0; 4], &ethernet(0x0800, &segment)]);
        assert_eq!(decoded(LinkType::DSA_TAG_BRCM_PREPEND, &before).kind, Kind::Tcp);
    }

    #[test]
    fn short_and_cut() {
        assert_eq!(decoded(LinkType::DSA_TAG_DSA, &[2; 15]).malformed, Some(Malformation::LinkShort));
        assert_eq!(snapped(LinkType::DSA_TAG_DSA, &[2; 60], 15).malformed, Some(Malformation::LinkCut));
    }
}
