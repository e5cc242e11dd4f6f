//! The payload pattern: one word repeated, so that any part of it can be written and summed without reading
//! its bytes.

use crate::{craft::sum, size::FRAME_BYTES_MAX};

/// The byte at offset `o` is the `o % 8`th of these.
pub(crate) const PATTERN: [u8; 8] = *b"tidewire";

/// The pattern in the length of the longest frame, from any of 8 offsets.
static LONG: [u8; FRAME_BYTES_MAX + 8] = {
    let mut long = [0; FRAME_BYTES_MAX + 8];
    let mut at = 0;
    while at < long.len() {
        long[at] = PATTERN[at % 8];
        at += 1;
    }
    long
};

/// The byte at an offset.
pub(crate) fn pattern_at(at: usize) -> u8 {
    PATTERN.get(at % 8).copied().unwrap_or(0)
}

/// Fills `into` with the pattern from this offset on.
pub(crate) fn fill(into: &mut [u8], offset: u64) {
    let phase = (offset % 8) as usize;
    match LONG.get(phase..phase + into.len()) {
        Some(pattern) => into.copy_from_slice(pattern),
        None => into.iter_mut().enumerate().for_each(|(at, byte)| *byte = pattern_at(phase + at)),
    }
}

/// The sum of RFC 1071 over `bytes` bytes of it that begin at this offset, as if at an even position of the summed data.
pub(crate) fn sum_of(offset: u64, bytes: usize) -> u64 {
    let phase = (offset % 8) as usize;
    let piece = |length: usize| LONG.get(phase..phase + length).map_or(0, |pattern| sum(pattern, 0));
    (bytes / 8) as u64 * piece(8) + piece(bytes % 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::craft::fold;

    #[test]
    fn sums_are_those_of_the_bytes() {
        for offset in 0..17 {
            for bytes in [0, 1, 2, 7, 8, 9, 15, 16, 1447, 8960] {
                let mut written = vec![0; bytes];
                fill(&mut written, offset);
                assert_eq!(fold(sum_of(offset, bytes)), fold(sum(&written, 0)), "{bytes} from {offset}");
                assert!(written.iter().enumerate().all(|(at, byte)| *byte == pattern_at(at + offset as usize)));
            }
        }
    }
}
