//! Signatures of pcap and pcapng captures, also in the place of a record: files are often concatenated.

use crate::record_cursor::{u16_at, u32_at};

/// Length of pcap's file header in all forms but Ixia's.
pub(crate) const FILE_HEADER_BYTES: usize = 24;
const MAGIC_MICRO: u32 = 0xa1b2_c3d4;
pub(crate) const MAGIC_NANO: u32 = 0xa1b2_3c4d;
pub(crate) const MAGIC_MODIFIED: u32 = 0xa1b2_cd34;
/// Ixia's captures by hardware and software: microseconds (as tshark reads them), with a word more in the file header.
pub(crate) const MAGICS_IXIA: [u32; 2] = [0x1c00_01ac, 0x1c00_01ab];
/// The link type in the header's last word.
pub(crate) const LINK_MASK: u32 = 0x03ff_ffff;

/// pcapng's first block.
pub(crate) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Whether `head` begins with one of pcap's magic numbers, in either order.
pub(crate) fn is_pcap(head: &[u8]) -> bool {
    [false, true].iter().any(|&order| u32_at(head, 0, order).is_some_and(is_magic))
}

pub(crate) fn is_magic(word: u32) -> bool {
    matches!(word, MAGIC_MICRO | MAGIC_NANO | MAGIC_MODIFIED) || MAGICS_IXIA.contains(&word)
}

/// Whether `head` begins with a section header of pcapng.
pub(crate) fn is_pcapng(head: &[u8]) -> bool {
    u32_at(head, 0, false) == Some(SECTION_HEADER) && byte_order(head).is_some_and(|order| order.is_ok())
}

/// Whether the section that `block` begins is big-endian; none if too few bytes are there, an error if neither.
pub(crate) fn byte_order(block: &[u8]) -> Option<Result<bool, u32>> {
    match (u32_at(block, 8, false)?, u32_at(block, 8, true)?) {
        (BYTE_ORDER_MAGIC, _) => Some(Ok(false)),
        (_, BYTE_ORDER_MAGIC) => Some(Ok(true)),
        (other, _) => Some(Err(other)),
    }
}

/// Whether the header of another file begins in the place of a record of pcap.
pub(crate) fn begins_another(rest: &[u8]) -> bool {
    is_pcapng(rest) || begins_pcap(rest)
}

/// Whether the header of a file of pcap begins in the place of a record or a block. No sender can bring that about: as a record its
/// lengths would be 0 on the wire (the time zone and the accuracy of a file of pcap), or beyond any limit (the byte-order
/// magic of pcapng). Forms that state a time zone, and Ixia's, are not recognised.
pub(crate) fn begins_pcap(rest: &[u8]) -> bool {
    let Some(header) = rest.get(..FILE_HEADER_BYTES) else { return false };
    let big_endian = u32_at(header, 0, true).is_some_and(is_magic);
    let half = |at| u16_at(header, at, big_endian);
    let word = |at| u32_at(header, at, big_endian);
    let is_known = word(0).is_some_and(|word| is_magic(word) && !MAGICS_IXIA.contains(&word));
    is_known
        && (half(4), half(6)) == (Some(2), Some(4))
        && (word(8), word(12)) == (Some(0), Some(0))
        && word(20).is_some_and(|link| link & LINK_MASK <= u32::from(u16::MAX))
}
