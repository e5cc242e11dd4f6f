//! Ranges of a direction that are known to be missing, with their causes, for when their hole is given up.

use crate::{GapCause, list::List};

/// Ranges recorded for each direction. Beyond, the hole before them is given up, or they count as not captured.
pub(crate) const LOST_MAX: usize = 256;

/// A range, internal offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub start: u64,
    pub end: u64,
    pub cause: GapCause,
}

/// Ranges in order, without overlaps.
#[derive(Debug, Default)]
pub(crate) struct LostRanges(List<Range>);

impl LostRanges {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.0.len() >= LOST_MAX
    }

    /// Start of the first range.
    pub(crate) fn first_start(&self) -> Option<u64> {
        self.0.first().map(|range| range.start)
    }

    /// End of the last range.
    pub(crate) fn end(&self) -> Option<u64> {
        self.0.last().map(|range| range.end)
    }

    /// Index of the first range that ends beyond `offset`.
    fn first_beyond(&self, offset: u64) -> usize {
        self.0.partition_point(|range| range.end <= offset)
    }

    /// The first range that ends beyond `offset`.
    pub(crate) fn beyond(&self, offset: u64) -> Option<Range> {
        self.0.get(self.first_beyond(offset)).copied()
    }

    /// The cause of the first part of `[from, until)`, and its end. `cause`: of what is in no range.
    pub(crate) fn cause_at(&self, from: u64, until: u64, cause: GapCause) -> (u64, GapCause) {
        match self.beyond(from) {
            Some(range) if range.start <= from => (until.min(range.end), range.cause),
            next => (until.min(next.map_or(until, |range| range.start)), cause),
        }
    }

    /// Number of bytes of `[start, end)` that are in ranges.
    pub(crate) fn bytes_in(&self, start: u64, end: u64) -> u64 {
        let from = self.first_beyond(start);
        let ranges = self.0[from..].iter().take_while(|range| range.start < end);
        ranges.map(|range| range.end.min(end) - range.start.max(start)).sum()
    }

    /// Adds the parts of a range that are not recorded yet. Returns whether there was room; `bytes`: the list's memory.
    pub(crate) fn note(&mut self, start: u64, end: u64, cause: GapCause, bytes: &mut u64) -> bool {
        let mut at = start;
        let mut index = self.first_beyond(at);
        while at < end {
            let next = self.0.get(index).copied();
            if let Some(known) = next.filter(|range| range.start <= at) {
                at = known.end;
                index += 1;
                continue;
            }
            let until = next.map_or(end, |range| range.start.min(end));
            let before =
                index.checked_sub(1).filter(|&before| self.0[before].end == at && self.0[before].cause == cause);
            match before {
                Some(before) => self.0[before].end = until,
                None if self.is_full() => return false,
                None => {
                    self.0.insert(index, Range { start: at, end: until, cause }, bytes);
                    index += 1;
                }
            }
            at = until;
        }
        true
    }

    /// Removes a range that is no longer missing. If there is no room for the remainders on both sides of it, the one
    /// behind it is dropped.
    pub(crate) fn forget(&mut self, start: u64, end: u64, bytes: &mut u64) {
        let mut index = self.first_beyond(start);
        while let Some(range) = self.0.get(index).copied().filter(|range| range.start < end) {
            match (range.start < start, range.end > end) {
                (true, true) => {
                    self.0[index].end = start;
                    if !self.is_full() {
                        self.0.insert(index + 1, Range { start: end, ..range }, bytes);
                    }
                    return;
                }
                (true, false) => {
                    self.0[index].end = start;
                    index += 1;
                }
                (false, true) => {
                    self.0[index].start = end;
                    return;
                }
                (false, false) => self.0.remove(index..index + 1),
            }
        }
    }

    /// Removes ranges that end at or before `offset`.
    pub(crate) fn forget_before(&mut self, offset: u64) {
        let passed = self.first_beyond(offset);
        self.0.remove(0..passed);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CAUSES: [GapCause; 2] = [GapCause::Snapped, GapCause::Shed];

    proptest! {
        /// Compares with one cause for each byte: ranges in order and disjoint, neighbours of one cause joined or not.
        #[test]
        fn ranges_are_those_of_single_bytes(
            steps in proptest::collection::vec((0..200_u64, 0..30_u64, 0..2_usize, 0..4_u8), 1..60),
        ) {
            let (mut lost_ranges, mut bytes) = (LostRanges::default(), 0);
            let mut model = [None; 240];
            for (start, length, cause, kind) in steps {
                let (end, cause) = (start + length, CAUSES[cause]);
                match kind {
                    0 | 1 => {
                        prop_assert!(lost_ranges.note(start, end, cause, &mut bytes));
                        model[start as usize..end as usize].iter_mut().for_each(|byte| *byte = byte.or(Some(cause)));
                    }
                    2 => {
                        lost_ranges.forget(start, end, &mut bytes);
                        model[start as usize..end as usize].fill(None);
                    }
                    _ => {
                        lost_ranges.forget_before(start);
                        // A range that reaches beyond it stays whole.
                        let keeps = lost_ranges.first_start().unwrap_or(u64::MAX).min(start) as usize;
                        model[..keeps].fill(None);
                    }
                }
                let mut found = [None; 240];
                let mut last = 0;
                for range in lost_ranges.0.iter() {
                    prop_assert!(range.start < range.end && range.start >= last);
                    last = range.end;
                    found[range.start as usize..range.end as usize].fill(Some(range.cause));
                }
                prop_assert_eq!(found, model);
                let counted = model[start as usize..end as usize].iter().flatten().count() as u64;
                prop_assert_eq!(lost_ranges.bytes_in(start, end), counted);
            }
        }
    }

    /// A packet that adds to a full list costs a search, not a walk over all ranges.
    #[test]
    fn a_full_list_takes_no_more() {
        let (mut lost_ranges, mut bytes) = (LostRanges::default(), 0);
        for range in 0..LOST_MAX as u64 {
            assert!(lost_ranges.note(range * 10, range * 10 + 5, GapCause::Snapped, &mut bytes));
        }
        assert!(lost_ranges.is_full() && !lost_ranges.note(5, 10, GapCause::Shed, &mut bytes));
        assert!(lost_ranges.note(5, 6, GapCause::Snapped, &mut bytes), "a neighbour grows");
        assert!((bytes as usize) < 2 * LOST_MAX * size_of::<Range>());
        lost_ranges.forget(12, 13, &mut bytes);
        assert!(lost_ranges.is_full());
        assert_eq!(lost_ranges.bytes_in(10, 15), 2, "the part behind found no room");
    }
}
