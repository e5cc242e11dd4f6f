//! Arrangements of intervals.

use crate::random::Random;

/// An interval in units of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// First unit.
    pub start: u32,
    /// Unit after the last.
    pub end: u32,
}

/// All arrangements of `count` intervals that differ in the relative order of their ends. The intervals are listed in
/// the order of arrival, so every order is included: 1, 13 (Allen's relations) and 409 for 1, 2 and 3 intervals.
#[must_use]
pub fn all(count: usize) -> Vec<Vec<Interval>> {
    let ends = count * 2;
    let mut found = Vec::new();
    let mut places = vec![0_u32; ends];
    loop {
        let distinct = places.iter().max().map_or(0, |most| most + 1);
        // Grid points without unused ones between them: each arrangement once.
        let is_dense = (0..distinct).all(|place| places.contains(&place));
        if is_dense && places.chunks(2).all(|pair| pair[0] < pair[1]) {
            found.push(places.chunks(2).map(|pair| Interval { start: pair[0], end: pair[1] }).collect());
        }
        let Some(at) = places.iter().rposition(|&place| (place as usize) < ends - 1) else { return found };
        places[at] += 1;
        places[at + 1..].fill(0);
    }
}

/// Random intervals.
pub fn random(random: &mut Random, count: usize, width: u32) -> Vec<Interval> {
    let mut below = |bound: u32| random.below(u64::from(bound)) as u32;
    (0..count)
        .map(|_| {
            let start = below(width - 1);
            Interval { start, end: start + 1 + below((width - start).min(width / 2)) }
        })
        .collect()
}

/// The parts of `[0, end)` that no interval covers.
#[must_use]
pub fn holes(intervals: &[Interval], end: u32) -> Vec<Interval> {
    let is_free = |unit: u32| !intervals.iter().any(|one| (one.start..one.end).contains(&unit));
    let mut holes: Vec<Interval> = Vec::new();
    for unit in (0..end).filter(|&unit| is_free(unit)) {
        match holes.last_mut() {
            Some(last) if last.end == unit => last.end += 1,
            _ => holes.push(Interval { start: unit, end: unit + 1 }),
        }
    }
    holes
}

/// The byte of chunk number `chunk` at an offset. Two chunks of a case differ at every offset.
#[must_use]
pub fn byte(chunk: usize, offset: u32) -> u8 {
    ((chunk * 16 + 7) as u8).wrapping_add((offset % 16) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_interval_orders() {
        assert_eq!([1, 2, 3].map(|count| all(count).len()), [1, 13, 409]);
    }

    #[test]
    fn holes_lie_between() {
        let of = |start, end| Interval { start, end };
        assert_eq!(holes(&[of(1, 3), of(5, 6)], 7), [of(0, 1), of(3, 5), of(6, 7)]);
    }
}
