//! The one's-complement sum of RFC 1071, in the machine's byte order (section 2(B): the sum does not depend on it).

use super::lanes::{ROUND_BYTES, sum_rounds};

/// The sum of `bytes` as 32-bit words, not yet folded; an odd last byte counts as if a zero followed.
#[inline]
pub(super) fn sum(bytes: &[u8]) -> u64 {
    let (rounds, rest) = bytes.as_chunks::<ROUND_BYTES>();
    let mut total = 0;
    if !rounds.is_empty() {
        total = sum_rounds(rounds);
    }
    total + sum_rest(rest)
}

/// The sum of fewer bytes than a round: by halves, which needs no loop.
#[inline(always)]
fn sum_rest(mut rest: &[u8]) -> u64 {
    let mut total = 0;
    if let Some((half, behind)) = rest.split_first_chunk::<32>() {
        (total, rest) = (sum_words(half.as_chunks().0), behind);
    }
    if let Some((half, behind)) = rest.split_first_chunk::<16>() {
        (total, rest) = (total + sum_words(half.as_chunks().0), behind);
    }
    if let Some((half, behind)) = rest.split_first_chunk::<8>() {
        (total, rest) = (total + sum_words(&[*half]), behind);
    }
    if let Some((half, behind)) = rest.split_first_chunk() {
        (total, rest) = (total + u64::from(u32::from_ne_bytes(*half)), behind);
    }
    if let Some((half, behind)) = rest.split_first_chunk() {
        (total, rest) = (total + u64::from(u16::from_ne_bytes(*half)), behind);
    }
    total + rest.first().map_or(0, |&last| u64::from(u16::from_ne_bytes([last, 0])))
}

#[inline(always)]
fn sum_words(words: &[[u8; 8]]) -> u64 {
    let sum_word = |word: &[u8; 8]| {
        let word = u64::from_ne_bytes(*word);
        (word & 0xffff_ffff) + (word >> 32)
    };
    words.iter().map(sum_word).sum()
}

/// The sum in 16 bits, carries added back.
#[inline]
pub(super) fn fold(sum: u64) -> u16 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}

/// Whether a sum that includes the checksum is that of an undamaged packet.
#[inline]
pub(super) fn is_good(sum: u64) -> bool {
    fold(sum) == 0xffff
}

/// A number as its two bytes in network order would be read by this machine.
#[inline]
pub(super) fn native(number: u16) -> u16 {
    u16::from_ne_bytes(number.to_be_bytes())
}

/// The Internet checksum to store for these bytes (its own place being zero): RFC 1071, 1.
#[must_use]
pub fn internet(bytes: &[u8]) -> u16 {
    u16::from_be_bytes((!fold(sum(bytes))).to_ne_bytes())
}
