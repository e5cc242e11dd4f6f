//! Numbers on frames, and which of them are missing.
//!
//! The last [`TRAILER_BYTES`] of a frame are its number: a check byte and 40 bits, in network order. They lie behind the IP
//! packet, like Ethernet padding, so that they do not change payloads, checksums and streams. GRO does not merge frames with a
//! trailer, so that no number is lost.

use std::{collections::BTreeMap, ops::Range};

/// Bytes of the number at a frame's end.
pub const TRAILER_BYTES: usize = 6;

/// The initial value of the check byte.
const CHECK: u8 = 0x74;

/// The trailer with a number, of which 40 bits count.
#[must_use]
pub fn trailer(number: u64) -> [u8; TRAILER_BYTES] {
    let [_, _, _, a, b, c, d, e] = number.to_be_bytes();
    [CHECK ^ a ^ b ^ c ^ d ^ e, a, b, c, d, e]
}

/// A frame's number; `None` if it has none. One in 256 frames without a number seems to have one.
#[must_use]
pub fn of(frame: &[u8]) -> Option<u64> {
    let &[check, a, b, c, d, e] = frame.last_chunk::<TRAILER_BYTES>()?;
    let expected = CHECK ^ a ^ b ^ c ^ d ^ e;
    (check == expected).then(|| u64::from_be_bytes([0, 0, 0, a, b, c, d, e]))
}

/// The numbers that arrived. Memory is used for holes only, so that arrival in order is cheap.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// First number of a run, and the number after its last.
    runs: BTreeMap<u64, u64>,
    /// The run that was extended last.
    current: Range<u64>,
    /// Numbers that arrived, each counted once.
    received: u64,
    /// Frames whose number had arrived before.
    pub repeated: u64,
    /// Frames that arrived after one with a greater number.
    pub late: u64,
    /// The greatest number plus one.
    end: u64,
}

impl Numbers {
    /// Records a number.
    pub fn add(&mut self, number: u64) {
        let behind = number.saturating_add(1);
        if number < self.end {
            self.late += 1;
        }
        self.end = self.end.max(behind);
        if number == self.current.end && !self.current.is_empty() {
            // The usual case, without a look-up.
            if self.runs.range(number..=number).next().is_none() {
                self.current.end = behind;
                self.runs.insert(self.current.start, behind);
                self.received += 1;
                return;
            }
        }
        self.add_anywhere(number, behind);
    }

    fn add_anywhere(&mut self, number: u64, behind: u64) {
        let before = self.runs.range(..=number).next_back().map(|(&start, &end)| start..end);
        if before.as_ref().is_some_and(|run| run.contains(&number)) {
            self.repeated += 1;
            return;
        }
        self.received += 1;
        let start = before.filter(|run| run.end == number).map_or(number, |run| run.start);
        let end = self.runs.remove(&behind).unwrap_or(behind);
        self.runs.insert(start, end);
        self.current = start..end;
    }

    /// How many different numbers arrived.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// The greatest number that arrived, plus one.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The numbers below `sent` that did not arrive, as runs in order.
    pub fn missing(&self, sent: u64) -> impl Iterator<Item = Range<u64>> + '_ {
        let starts = self.runs.keys().copied().chain([u64::MAX]);
        let ends = [0].into_iter().chain(self.runs.values().copied());
        ends.zip(starts).map(move |(end, start)| end..start.min(sent)).filter(|hole| hole.start < hole.end)
    }

    /// How many numbers below `sent` did not arrive.
    #[must_use]
    pub fn lost(&self, sent: u64) -> u64 {
        self.missing(sent).map(|hole| hole.end - hole.start).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn a_trailer_is_read_back() {
        for number in [0, 1, 0xff, 0x1234_5678, (1 << 40) - 1] {
            let mut frame = vec![7; 60];
            frame.extend(trailer(number));
            assert_eq!(of(&frame), Some(number));
            frame[60] ^= 1;
            assert_eq!(of(&frame), None);
        }
        assert_eq!(of(&[0; 5]), None);
        assert_eq!(of(&[0; 60]), None, "padding of zeroes is no number");
    }

    #[test]
    fn holes_are_named() {
        let mut numbers = Numbers::default();
        for number in [0, 1, 4, 3, 9, 9] {
            numbers.add(number);
        }
        assert_eq!(numbers.missing(12).collect::<Vec<_>>(), [2..3, 5..9, 10..12]);
        assert_eq!((numbers.received(), numbers.repeated, numbers.late, numbers.end()), (5, 1, 2, 10));
        assert_eq!(numbers.lost(12), 7);
        assert!(Numbers::default().missing(3).flatten().eq(0..3) && Numbers::default().lost(3) == 3);
    }

    #[test]
    fn any_order_gives_the_same_holes() {
        let mut random = Random::new(5);
        for _ in 0..200 {
            let mut wanted = [false; 64];
            let mut numbers = Numbers::default();
            for _ in 0..random.below(120) {
                let number = random.below(64);
                wanted[number as usize] = true;
                numbers.add(number);
            }
            let missing: Vec<u64> = numbers.missing(64).flatten().collect();
            let expected: Vec<u64> = (0..64).filter(|number| !wanted[*number as usize]).collect();
            assert_eq!(missing, expected);
            assert_eq!(numbers.received() + numbers.lost(64), 64);
        }
    }
}
