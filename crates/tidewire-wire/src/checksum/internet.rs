//! The one's-complement sum of RFC 1071, in the machine's byte order (section 2(B): the sum does not depend on it).

/// Bytes summed in one round: four 16-byte vectors, which keeps the adders busy.
const ROUND_BYTES: usize = 64;

/// The sum of `bytes` as 32-bit words in sixteen lanes, not yet folded; an odd last byte counts as if a zero followed.
///
/// 32-bit words in 64-bit lanes cannot overflow below 16 GiB, so carries are handled once at the end; the compiler
/// turns the lanes into vectors.
#[inline]
pub(super) fn sum(bytes: &[u8]) -> u64 {
    let (rounds, rest) = bytes.as_chunks::<ROUND_BYTES>();
    let mut total = 0;
    if !rounds.is_empty() {
        total = sum_rounds(rounds);
    }
    let (words, rest) = rest.as_chunks::<4>();
    for word in words {
        total += u64::from(u32::from_ne_bytes(*word));
    }
    let mut last = [0; 4];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    total + u64::from(u32::from_ne_bytes(last))
}

fn sum_rounds(rounds: &[[u8; ROUND_BYTES]]) -> u64 {
    let mut lanes = [0u64; ROUND_BYTES / 4];
    for round in rounds {
        let (words, _) = round.as_chunks::<4>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane += u64::from(u32::from_ne_bytes(*word));
        }
    }
    lanes.iter().sum()
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
