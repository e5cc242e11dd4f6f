//! Ranges that arrived with wrong checksums and wait for the receiver's acknowledgment.

/// Unsettled ranges recorded for each direction. Copies of a segment share one; when the list is full, neighbours share
/// one, too. Segments that find no place even then are counted as left out. (Each decision looks at all of them.)
const DOUBTED_MAX: usize = 128;

/// Ranges of bytes with wrong checksums, internal offsets, in order.
pub(super) type AcceptedRanges = Vec<(u64, u64)>;

/// Payload or a FIN with a wrong checksum: internal offsets. Lists of them are in the order of their ends, then starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Doubted {
    pub start: u64,
    pub end: u64,
    /// Its packets without a fate yet.
    pub pending: u32,
}

impl Doubted {
    /// Whether the range can no longer be decided. (Such ranges come first in a list.)
    pub(super) fn is_past(&self, next: u64) -> bool {
        self.end < next || self.end == next && self.start < self.end
    }

    /// Adds packets that wait. Returns whether they can be counted.
    pub(super) fn take_in(&mut self, packets: u32) -> bool {
        let sum = self.pending.checked_add(packets);
        self.pending = sum.unwrap_or(self.pending);
        sum.is_some()
    }

    /// Whether a part of the range, and whether all of it is in `ranges`, which are in order and disjoint.
    pub(super) fn is_in(&self, ranges: &[(u64, u64)]) -> (bool, bool) {
        let at = ranges.partition_point(|range| range.1 <= self.start);
        ranges.get(at).map_or((false, false), |&(from, to)| {
            (from < self.end, self.start < self.end && from <= self.start && to >= self.end)
        })
    }
}

/// Memory of a list, including allocator overhead.
pub(super) fn charge_of(list: &Vec<Doubted>) -> u64 {
    if list.capacity() == 0 { 0 } else { (list.capacity() * size_of::<Doubted>()) as u64 + 16 }
}

/// Records a range in a list. Returns whether there was room.
pub(super) fn note(list: &mut Vec<Doubted>, start: u64, end: u64, pending: u32) -> bool {
    let at = list.partition_point(|one| (one.end, one.start) < (end, start));
    if let Some(same) = list.get_mut(at).filter(|one| (one.start, one.end) == (start, end)) {
        return same.take_in(pending);
    }
    if list.len() < DOUBTED_MAX {
        list.insert(at, Doubted { start, end, pending });
        return true;
    }
    // Payload that adjoins or overlaps. (The order stays as it is: the later end is kept.)
    let joins = |one: &Doubted| one.start < one.end && start < end && one.start <= end && one.end >= start;
    let neighbour = [at.wrapping_sub(1), at].into_iter().find(|&at| list.get(at).is_some_and(joins));
    let Some(one) = neighbour.and_then(|at| list.get_mut(at)) else { return false };
    (one.start, one.end) = (one.start.min(start), one.end.max(end));
    one.take_in(pending)
}
