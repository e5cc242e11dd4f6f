//! Pseudo-headers of capture drivers before an 802.11 header: radiotap, prism, AVS; and PPI, which may precede
//! anything.

use crate::ieee80211;
use crate::malformation::Malformation::{self, LinkCut, LinkHeaderLength, LinkShort};
use crate::walk::{Next, Walk};

/// Radiotap's version, padding, length and first presence word, in bytes (radiotap.org).
const RADIOTAP_BYTES: usize = 8;
/// Presence bit 31: another presence word follows.
const MORE_WORDS: u32 = 1 << 31;
/// Presence words walked; each names 32 fields, and fewer than 32 fields exist.
const WORDS_MAX: usize = 32;
/// Presence bit of the timestamp, 8 bytes, aligned.
const HAS_TIMESTAMP: u32 = 1 << 0;
/// Presence bit of the flags, 1 byte.
const HAS_FLAGS: u32 = 1 << 1;
/// Flag: the frame ends with its check sequence, 4 bytes.
const FLAG_CHECK_SEQUENCE: u8 = 0x10;
/// Flag: the 802.11 header is padded to a multiple of 4 bytes.
const FLAG_PADDED: u8 = 0x20;

/// A radiotap header: little-endian, its length stated.
pub(crate) fn walk(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = walk.header::<RADIOTAP_BYTES>(at, LinkShort, LinkCut)?;
    let bytes = usize::from(u16::from_le_bytes([header[2], header[3]]));
    if header[0] != 0 || bytes < RADIOTAP_BYTES || at + bytes > walk.end {
        return Err(LinkHeaderLength);
    }
    let flags = radiotap_flags(walk, at, at + bytes).unwrap_or(0);
    if flags & FLAG_CHECK_SEQUENCE != 0 && at + bytes + 4 <= walk.end {
        walk.end -= 4;
    }
    ieee80211::walk(walk, at + bytes, flags & FLAG_PADDED != 0)
}

/// The flags field of the radiotap header between `at` and `end`, if it has one.
fn radiotap_flags(walk: &Walk<'_>, at: usize, end: usize) -> Option<u8> {
    let present = u32::from_le_bytes(*walk.bytes::<4>(at + 4)?);
    if present & HAS_FLAGS == 0 {
        return None;
    }
    let mut word = present;
    let mut field = RADIOTAP_BYTES;
    for _ in 0..WORDS_MAX {
        if word & MORE_WORDS == 0 {
            break;
        }
        word = u32::from_le_bytes(*walk.bytes::<4>(at + field)?);
        field += 4;
    }
    if present & HAS_TIMESTAMP != 0 {
        field = field.next_multiple_of(8) + 8;
    }
    if at + field >= end {
        return None;
    }
    walk.bytes::<1>(at + field).map(|[flags]| *flags)
}

/// The prism header's usual length, in bytes; it states its own, in the capturing host's byte order.
const PRISM_BYTES: u32 = 144;
/// First word of an AVS header, which some drivers send where prism's is announced.
const AVS_MAGIC: [u32; 2] = [0x8021_1001, 0x8021_1002];

/// A prism header, or the AVS header that older drivers send in its place.
pub(crate) fn prism(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let header = walk.header::<8>(at, LinkShort, LinkCut)?;
    let [m0, m1, m2, m3, l0, l1, l2, l3] = *header;
    if AVS_MAGIC.contains(&u32::from_be_bytes([m0, m1, m2, m3])) {
        return avs(walk, at);
    }
    let length = u32::from_le_bytes([l0, l1, l2, l3]);
    let bytes = if length == PRISM_BYTES.swap_bytes() { PRISM_BYTES } else { length };
    after(walk, at, bytes)
}

/// An AVS header: magic, length, both in network byte order.
pub(crate) fn avs(walk: &mut Walk<'_>, at: usize) -> Result<Next, Malformation> {
    let [_, _, _, _, l0, l1, l2, l3] = *walk.header::<8>(at, LinkShort, LinkCut)?;
    after(walk, at, u32::from_be_bytes([l0, l1, l2, l3]))
}

/// The 802.11 header after a pseudo-header of this many bytes.
fn after(walk: &mut Walk<'_>, at: usize, bytes: u32) -> Result<Next, Malformation> {
    let bytes = bytes as usize;
    if bytes < 8 || bytes > walk.end - at {
        return Err(LinkHeaderLength);
    }
    ieee80211::walk(walk, at + bytes, false)
}

/// A PPI header: version, flags, length, link type, little-endian. Returns the link type and the offset of its header.
pub(crate) fn ppi(walk: &mut Walk<'_>) -> Result<(u32, usize), Malformation> {
    let [_, _, n0, n1, l0, l1, l2, l3] = *walk.header::<8>(0, LinkShort, LinkCut)?;
    let bytes = usize::from(u16::from_le_bytes([n0, n1]));
    if bytes < 8 || bytes > walk.end {
        return Err(LinkHeaderLength);
    }
    Ok((u32::from_le_bytes([l0, l1, l2, l3]), bytes))
}

#[cfg(test)]
mod tests {
    use crate::testing::{decoded, ipv4, join, snap, tcp};
    use crate::{Kind, LinkType, Malformation};

    fn data(padding: &[u8]) -> Vec<u8> {
        join(&[&[0x88, 1], &[0; 24], padding, &snap(0x0800, &ipv4(6, &tcp(b"x")))])
    }

    #[test]
    fn flags_are_found_behind_timestamp_and_further_presence_words() {
        let header = [0, 0, 25, 0, 3, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 0x30];
        let frame = join(&[&header, &data(&[0; 2]), &[1, 2, 3, 4]]);
        assert_eq!(decoded(LinkType::IEEE802_11_RADIOTAP, &frame).kind, Kind::Tcp);
    }

    #[test]
    fn lengths_that_contradict() {
        let reason = |link, header: &[u8]| decoded(link, &join(&[header, &data(&[])])).malformed;
        let wrong = Some(Malformation::LinkHeaderLength);
        assert_eq!(reason(LinkType::IEEE802_11_RADIOTAP, &[0, 0, 7, 0, 0, 0, 0, 0]), wrong);
        assert_eq!(reason(LinkType::IEEE802_11_RADIOTAP, &[0, 0, 0, 9, 0, 0, 0, 0]), wrong);
        assert_eq!(reason(LinkType::IEEE802_11_RADIOTAP, &[1, 0, 8, 0, 0, 0, 0, 0]), wrong);
        assert_eq!(reason(LinkType::IEEE802_11_AVS, &[0x80, 0x21, 0x10, 1, 0xff, 0, 0, 64]), wrong);
        assert_eq!(reason(LinkType::PPI, &[0, 0, 7, 0, 105, 0, 0, 0]), wrong);
    }
}
