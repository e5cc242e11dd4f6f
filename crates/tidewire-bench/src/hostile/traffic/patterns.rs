//! Text that nearly matches patterns.

use super::{Made, Side, stream};

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
