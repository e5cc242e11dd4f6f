//! Text that nearly matches patterns.

use super::{Made, SEGMENT_BYTES, Side, stream};

/// Matches all but the last byte of a pattern at every byte.
pub(in super::super) fn near(made: &mut Made, packets: usize) -> usize {
    stream(made, 4444, &[], (Side::Client, b"a"), packets)
}

/// The same, with another byte now and then.
pub(in super::super) fn broken(made: &mut Made, packets: usize) -> usize {
    let text = [&[b'a'; 57][..], b"c"].concat();
    stream(made, 4444, &[], (Side::Client, &text), packets)
}

/// Text of other letters.
pub(in super::super) fn other(made: &mut Made, packets: usize) -> usize {
    let text: Vec<u8> = (b'c'..=b'z').chain(b'0'..=b'9').collect();
    stream(made, 4444, &[], (Side::Client, &text), packets)
}

/// Eight matches at every byte. Their number.
pub(in super::super) fn inside(made: &mut Made, packets: usize) -> usize {
    near(made, packets) * SEGMENT_BYTES * 8
}

/// A match of the shortest of these patterns every five bytes. Their number.
pub(in super::super) fn apart(made: &mut Made, packets: usize) -> usize {
    stream(made, 4444, &[], (Side::Client, b"aaaac"), packets) * SEGMENT_BYTES / 5
}
