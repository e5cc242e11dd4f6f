//! Ranges that arrived with wrong checksums and wait for the receiver's acknowledgment.

/// Unsettled ranges recorded for each direction. Copies of a segment share one; when the list is full, neighbours share
/// one, too. Segments that find no place even then are counted as left out.
const DOUBTED_MAX: usize = 128;

/// Ranges of bytes with wrong checksums, internal offsets, in order.
pub(crate) type AcceptedRanges = Vec<(u64, u64)>;

/// Payload or a FIN with a wrong checksum: internal offsets. Lists of them are in the order of their ends, then starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubted {
    pub start: u64,
    pub end: u64,
    /// Its packets without a fate yet.
    pub pending: u32,
    /// The least start of this range and those behind it in the list: decisions need not read those.
    pub low: u64,
}

impl Doubted {
    /// Whether the range can no longer be decided. (Such ranges come first in a list.)
    pub(crate) fn is_past(&self, next: u64) -> bool {
        self.end < next || self.end == next && self.start < self.end
    }

    /// Adds packets that wait. Returns whether they can be counted.
    pub(crate) fn take_in(&mut self, packets: u32) -> bool {
        let sum = self.pending.checked_add(packets);
        self.pending = sum.unwrap_or(self.pending);
        sum.is_some()
    }

    /// Whether a part of the range, and whether all of it is in `ranges`, which are in order and disjoint.
    pub(crate) fn is_in(&self, ranges: &[(u64, u64)]) -> (bool, bool) {
        let at = ranges.partition_point(|range| range.1 <= self.start);
        ranges.get(at).map_or((false, false), |&(from, to)| {
            (from < self.end, self.start < self.end && from <= self.start && to >= self.end)
        })
    }
}

/// Memory of a list, including allocator overhead.
pub(crate) fn charge_of(list: &Vec<Doubted>) -> u64 {
    if list.capacity() == 0 { 0 } else { (list.capacity() * size_of::<Doubted>()) as u64 + 16 }
}

/// The ranges of a list in order, without overlaps: those that touch are one. Reads no more of the list than is taken.
pub(crate) fn disjoint(list: &[Doubted]) -> impl Iterator<Item = (u64, u64)> {
    let mut rest = list.iter().filter(|one| one.start < one.end).peekable();
    std::iter::from_fn(move || {
        let first = rest.next()?;
        // No range behind the first begins before `low`, and each ends behind all before it.
        let (start, mut end) = (first.low, first.end);
        while let Some(one) = rest.next_if(|one| one.low <= end) {
            end = one.end;
        }
        Some((start, end))
    })
}

/// The least start of the ranges that end behind `reached`; `None`: there are none.
pub(crate) fn least_start_behind(list: &[Doubted], reached: u64) -> Option<u64> {
    list.get(list.partition_point(|one| one.end <= reached)).map(|one| one.low)
}

/// Records a range in a list. Returns whether there was room.
pub(crate) fn note(list: &mut Vec<Doubted>, start: u64, end: u64, pending: u32) -> bool {
    let at = list.partition_point(|one| (one.end, one.start) < (end, start));
    if let Some(same) = list.get_mut(at).filter(|one| (one.start, one.end) == (start, end)) {
        return same.take_in(pending);
    }
    if list.len() < DOUBTED_MAX {
        let low = list.get(at).map_or(start, |behind| behind.low.min(start));
        list.insert(at, Doubted { start, end, pending, low });
        lower(&mut list[..at], start);
        return true;
    }
    // Payload that adjoins or overlaps. (The order stays as it is: the later end is kept.)
    let joins = |one: &Doubted| one.start < one.end && start < end && one.start <= end && one.end >= start;
    let neighbour = [at.wrapping_sub(1), at].into_iter().find(|&at| list.get(at).is_some_and(joins));
    let Some(at) = neighbour else { return false };
    let one = &mut list[at];
    (one.start, one.end) = (one.start.min(start), one.end.max(end));
    let has_room = one.take_in(pending);
    lower(&mut list[..=at], start);
    has_room
}

/// Lowers the least starts of ranges before one that begins at `start`. (They ascend: the first that is low enough ends it.)
fn lower(list: &mut [Doubted], start: u64) {
    for one in list.iter_mut().rev().take_while(|one| one.low > start) {
        one.low = start;
    }
}

#[cfg(test)]
mod tests {
    use super::{DOUBTED_MAX, Doubted, disjoint, least_start_behind, note};

    /// The ranges of a list, from all of it.
    fn joined(list: &[Doubted]) -> Vec<(u64, u64)> {
        let mut all: Vec<_> = list.iter().filter(|one| one.start < one.end).map(|one| (one.start, one.end)).collect();
        all.sort_unstable();
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for (start, end) in all {
            match ranges.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => ranges.push((start, end)),
            }
        }
        ranges
    }

    #[test]
    fn ranges_are_those_of_the_whole_list() {
        let mut state = 1_u64;
        let mut random = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        for round in 0..400 {
            let mut list = Vec::new();
            let span = [300, 3000, 30_000][round % 3];
            for _ in 0..3 * DOUBTED_MAX {
                let start = random(span);
                let end = start + random(8);
                note(&mut list, start, end, 1);
                if random(20) == 0 {
                    let passed = list.len().min(random(9) as usize);
                    list.drain(..passed);
                }
            }
            assert!(disjoint(&list).eq(joined(&list)), "{list:?}");
            for reached in 0..span {
                let starts = list.iter().filter(|one| one.end > reached).map(|one| one.start);
                assert_eq!(least_start_behind(&list, reached), starts.min());
            }
        }
    }
}
