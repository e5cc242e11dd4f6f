//! Numbers of packets: lists of undecided streams, and the set of those that are written.

use std::collections::BTreeMap;

/// Packets that one piece of a set covers, one bit each: 8 KiB.
const PIECE_PACKETS: u64 = 1 << 16;

/// A list of numbers in order of arrival: one byte for most, as the distance to the one before.
#[derive(Debug, Default)]
pub struct NumberList {
    distances: Vec<u8>,
    last: u64,
}

impl NumberList {
    /// Appends a number below 2^62; returns the bytes that it takes.
    pub fn push(&mut self, number: u64) -> usize {
        let before = self.distances.capacity();
        let distance = number as i64 - self.last as i64;
        self.last = number;
        // Numbers mostly grow; those of fragments and of packets that were held back may not.
        let mut rest = ((distance << 1) ^ (distance >> 63)) as u64;
        while rest >= 0x80 {
            self.distances.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.distances.push(rest as u8);
        self.distances.capacity() - before
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> usize {
        self.distances.capacity()
    }

    /// The numbers.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        let (mut bytes, mut last) = (self.distances.iter(), 0_i64);
        std::iter::from_fn(move || {
            let (mut rest, mut shift) = (0_u64, 0);
            loop {
                let byte = *bytes.next()?;
                rest |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    break;
                }
            }
            last += (rest >> 1) as i64 ^ -((rest & 1) as i64);
            Some(last as u64)
        })
    }
}

/// A set of numbers of packets, which mostly lie close together: one bit for each number of a piece that has any.
#[derive(Debug, Default)]
pub struct NumberSet {
    pieces: BTreeMap<u64, Box<[u64; (PIECE_PACKETS / 64) as usize]>>,
    count: u64,
}

impl NumberSet {
    /// Adds a number.
    pub fn insert(&mut self, number: u64) {
        let empty = || Box::new([0; (PIECE_PACKETS / 64) as usize]);
        let piece = self.pieces.entry(number / PIECE_PACKETS).or_insert_with(empty);
        let (word, bit) = place(number);
        self.count += u64::from(piece[word] & bit == 0);
        piece[word] |= bit;
    }

    /// Whether it has a number.
    pub fn contains(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        let piece = self.pieces.get(&(number / PIECE_PACKETS));
        piece.is_some_and(|piece| piece[word] & bit != 0)
    }

    /// Adds all numbers of another set.
    pub fn merge(&mut self, other: Self) {
        for (index, piece) in other.pieces {
            let first = index * PIECE_PACKETS;
            for (word, bits) in piece.iter().enumerate() {
                (0..64).filter(|bit| bits >> bit & 1 == 1).for_each(|bit| self.insert(first + word as u64 * 64 + bit));
            }
        }
    }

    /// How many numbers it has.
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// The word of a piece and the bit in it.
fn place(number: u64) -> (usize, u64) {
    ((number % PIECE_PACKETS / 64) as usize, 1 << (number % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_sets_return_what_they_were_given() {
        let numbers = [1, 2, 3, 200, 199, 65_535, 65_536, 1 << 43, 7, 7];
        let mut list = NumberList::default();
        let bytes: usize = numbers.iter().map(|&number| list.push(number)).sum();
        assert!(list.iter().eq(numbers));
        assert_eq!(list.bytes(), bytes);
        let (mut set, mut other) = (NumberSet::default(), NumberSet::default());
        let few = &numbers[..7];
        few.iter().for_each(|&number| if number % 2 == 0 { set.insert(number) } else { other.insert(number) });
        set.merge(other);
        assert!((0..70_000).all(|number| set.contains(number) == few.contains(&number)));
        assert_eq!(set.count(), 7);
    }
}
