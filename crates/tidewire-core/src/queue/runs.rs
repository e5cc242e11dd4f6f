//! Where two versions of the same bytes differ.

use super::{segment::slice_of, store::Arrival};

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = LOW << 7;

/// Compares the eight bytes from `at` on: 0 if both versions are equal.
#[inline(always)]
fn difference(old: &[u8], new: &[u8], at: usize) -> Option<u64> {
    let word = |bytes: &[u8]| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    Some(word(old)? ^ word(new)?)
}

/// How many bytes from `at` on are equal.
fn same(old: &[u8], new: &[u8], at: usize) -> usize {
    let mut end = at;
    while let Some(difference) = difference(old, new, end) {
        if difference != 0 {
            return end - at + difference.trailing_zeros() as usize / 8;
        }
        end += 8;
    }
    end - at + old.iter().zip(new).skip(end).take_while(|(old, new)| old == new).count()
}

/// How many bytes from `at` on differ. An adversary sends these, so it is as fast as for equal ones.
fn other(old: &[u8], new: &[u8], at: usize) -> usize {
    let mut end = at;
    while let Some(difference) = difference(old, new, end) {
        // The lowest bit set marks the first byte that is 0.
        let zeros = difference.wrapping_sub(LOW) & !difference & HIGH;
        if zeros != 0 {
            return end - at + zeros.trailing_zeros() as usize / 8;
        }
        end += 8;
    }
    end - at + old.iter().zip(new).skip(end).take_while(|(old, new)| old != new).count()
}

/// Joins differences to runs, and reports each.
pub(super) struct Runs<'a> {
    report: &'a mut dyn FnMut(u64, u64),
    start: u64,
    length: u64,
}

impl<'a> Runs<'a> {
    pub fn new(report: &'a mut dyn FnMut(u64, u64)) -> Self {
        Self { report, start: 0, length: 0 }
    }

    /// Compares stored bytes at an offset with those that arrived.
    pub fn compare(&mut self, arrival: &Arrival<'_>, at: u64, old: &[u8]) {
        let new = slice_of(arrival.bytes, arrival.start, at, at + old.len() as u64);
        let count = old.len().min(new.len());
        let (old, new) = (&old[..count], &new[..count]);
        let mut from = same(old, new, 0);
        while from < count {
            let differing = other(old, new, from);
            self.add(at + from as u64, differing as u64);
            from += differing;
            from += same(old, new, from);
        }
    }

    fn add(&mut self, start: u64, length: u64) {
        if self.length > 0 && self.start + self.length == start {
            self.length += length;
            return;
        }
        self.finish();
        (self.start, self.length) = (start, length);
    }

    /// Reports the last run.
    pub fn finish(&mut self) {
        if self.length > 0 {
            (self.report)(self.start, self.length);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_those_of_a_comparison_byte_by_byte() {
        let mut state = 1_u64;
        for round in 0..20_000_usize {
            let mut next = |below: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) % below
            };
            let values = 1 + next(4);
            let mut bytes = || (0..round % 40).map(|_| next(values) as u8).collect::<Vec<_>>();
            let (old, new) = (bytes(), bytes());
            let cut = next(1 + old.len() as u64) as usize;
            let mut wanted: Vec<(u64, u64)> = Vec::new();
            for at in (0..old.len()).filter(|&at| old[at] != new[at]) {
                match wanted.last_mut() {
                    Some(run) if run.0 + run.1 == 7 + at as u64 => run.1 += 1,
                    _ => wanted.push((7 + at as u64, 1)),
                }
            }
            let end = 7 + new.len() as u64;
            let arrival = Arrival { start: 7, end, bytes: &new, is_wrong: false };
            let mut found = Vec::new();
            let mut note = |offset, bytes| found.push((offset, bytes));
            let mut runs = Runs::new(&mut note);
            runs.compare(&arrival, 7, &old[..cut]);
            runs.compare(&arrival, 7 + cut as u64, &old[cut..]);
            runs.finish();
            assert_eq!(found, wanted);
        }
    }
}
