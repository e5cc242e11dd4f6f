//! How many different values: exact while there are few, then an estimate in the same 256 bytes.
//!
//! The estimate is HyperLogLog (Flajolet and others, 2007) with 256 registers of the values' keyed hashes: its standard error is
//! 6.5 %. Who does not know the key cannot choose values that are counted as one.

/// Values that are counted exactly.
pub(super) const EXACT_MAX: usize = 64;
/// Registers of the sketch.
const REGISTERS: usize = 4 * EXACT_MAX;
/// Bits of a hash that choose the register.
const INDEX_BITS: u32 = REGISTERS.trailing_zeros();

/// A count of different values.
#[derive(Clone, Debug)]
pub(super) struct Distinct {
    /// Hashes of the values, or four registers in each.
    cells: [u32; EXACT_MAX],
    /// Values so far, exact or estimated.
    count: u32,
    is_sketch: bool,
}

impl Default for Distinct {
    fn default() -> Self {
        Self { cells: [0; EXACT_MAX], count: 0, is_sketch: false }
    }
}

impl Distinct {
    /// How many different values were noted.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Whether the count is an estimate.
    pub(super) fn is_estimate(&self) -> bool {
        self.is_sketch
    }

    /// Notes a value by its hash.
    pub(super) fn note(&mut self, hash: u64) {
        let hash = (hash >> 32) as u32;
        if self.is_sketch {
            if self.raise(hash) {
                self.count = self.count.max(self.estimate());
            }
            return;
        }
        let known = self.count as usize;
        if self.cells[..known].contains(&hash) {
            return;
        }
        if known < EXACT_MAX {
            self.cells[known] = hash;
            self.count += 1;
            return;
        }
        let values = std::mem::replace(&mut self.cells, [0; EXACT_MAX]);
        self.is_sketch = true;
        for value in values.into_iter().chain([hash]) {
            self.raise(value);
        }
        // The count never goes back.
        self.count = (known as u32 + 1).max(self.estimate());
    }

    /// Notes a hash in its register. Whether that changed it.
    fn raise(&mut self, hash: u32) -> bool {
        let register = (hash & (REGISTERS as u32 - 1)) as usize;
        let rank = (hash >> INDEX_BITS).leading_zeros() + 1 - INDEX_BITS;
        let (cell, shift) = (register / 4, 8 * (register % 4) as u32);
        let known = self.cells[cell] >> shift & 0xff;
        if rank <= known {
            return false;
        }
        self.cells[cell] = self.cells[cell] & !(0xff << shift) | rank << shift;
        true
    }

    fn estimate(&self) -> u32 {
        let registers = || self.cells.iter().flat_map(|cell| cell.to_le_bytes());
        let m = REGISTERS as f64;
        let sum: f64 = registers().map(|rank| f64::from(rank).exp2().recip()).sum();
        let raw = 0.7213 / (1.0 + 1.079 / m) * m * m / sum;
        let zeros = registers().filter(|rank| *rank == 0).count();
        let estimate = if raw <= 2.5 * m && zeros != 0 { m * (m / zeros as f64).ln() } else { raw };
        estimate as u32
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher as _, RandomState};

    use super::*;

    #[test]
    fn few_values_are_counted_exactly() {
        let key = RandomState::new();
        let mut distinct = Distinct::default();
        for value in 0..EXACT_MAX as u32 {
            for _ in 0..3 {
                distinct.note(key.hash_one(value));
                assert_eq!(distinct.count(), value + 1);
            }
        }
        assert!(!distinct.is_estimate());
    }

    #[test]
    fn many_values_are_estimated() {
        // Over many keys the mean is right within a few standard errors of the mean.
        for (count, keys) in [(100_u32, 64), (1_000, 64), (10_000, 32), (1_000_000, 4)] {
            let mut sum = 0.0;
            for _ in 0..keys {
                let key = RandomState::new();
                let (mut distinct, mut before) = (Distinct::default(), 0);
                for value in 0..count {
                    distinct.note(key.hash_one(value));
                    assert!(distinct.count() >= before, "the count never goes back");
                    before = distinct.count();
                }
                assert!(distinct.is_estimate());
                let found = f64::from(distinct.count()) / f64::from(count);
                assert!((0.6..1.5).contains(&found), "{count}: {found}");
                sum += found;
            }
            let mean = sum / f64::from(keys);
            assert!((0.85..1.2).contains(&mean), "{count}: {mean}");
        }
    }
}
