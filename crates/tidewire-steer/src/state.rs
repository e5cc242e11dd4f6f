//! The state that a program keeps between packets.

use std::collections::{HashMap, VecDeque};

use crate::language::{COUNTERS, SAMPLES_MAX};

/// The index of each count in the state; the kernel's map has the same layout.
pub(crate) mod cell {
    use crate::language::{COUNTERS, SAMPLES_MAX};

    /// The count of `steer_rrobin`.
    pub(crate) const RROBIN: u16 = 0;
    const SAMPLES: u16 = 1;
    const FIRST_COUNTER: u16 = SAMPLES + SAMPLES_MAX as u16;
    /// The number of cells.
    pub(crate) const COUNT: usize = 1 + SAMPLES_MAX + COUNTERS;

    /// The count of the step `sample` with this index.
    pub(crate) fn sample(index: usize) -> Option<u16> {
        u16::try_from(index).ok().filter(|_| index < SAMPLES_MAX).map(|index| SAMPLES + index)
    }

    /// The counter of `inc` and `dec`.
    pub(crate) fn counter(number: u64) -> u16 {
        FIRST_COUNTER + (number as usize % COUNTERS) as u16
    }
}

/// Size of a state's cells in bytes, as in the kernel's map: 64-bit numbers in the machine's byte order.
pub const STATE_BYTES: usize = cell::COUNT * 8;

/// Datagrams whose first fragment is remembered, at most: then the oldest is dropped. 64 Ki pending datagrams are more
/// than any link has; the kernel's map drops the least recently used.
pub const DATAGRAMS_MAX: usize = 1 << 16;

/// The state that a program keeps between packets: one for each running program, for all workers together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    cells: [u64; cell::COUNT],
    datagrams: HashMap<u64, u64>,
    oldest: VecDeque<u64>,
}

impl Default for State {
    fn default() -> Self {
        Self { cells: [0; cell::COUNT], datagrams: HashMap::new(), oldest: VecDeque::new() }
    }
}

impl State {
    /// The state in the bytes of the kernel's map; `None` unless they are [`STATE_BYTES`].
    #[must_use]
    pub fn from_map(bytes: &[u8]) -> Option<Self> {
        let mut state = Self::default();
        let mut numbers = bytes.chunks_exact(8).filter_map(|chunk| chunk.try_into().ok()).map(u64::from_ne_bytes);
        for cell in &mut state.cells {
            *cell = numbers.next()?;
        }
        (bytes.len() == STATE_BYTES).then_some(state)
    }

    /// The counter that `inc` and `dec` change; `None` beyond the last.
    #[must_use]
    pub fn counter(&self, number: usize) -> Option<i64> {
        if number >= COUNTERS {
            return None;
        }
        let cell = self.cells.get(usize::from(cell::counter(number as u64)))?;
        Some(cell.cast_signed())
    }

    /// Number of packets that reached `steer_rrobin`.
    #[must_use]
    pub fn round_robin(&self) -> u64 {
        self.cells.first().copied().unwrap_or(0)
    }

    /// Number of packets that reached each step `sample`, in the order of the text.
    #[must_use]
    pub fn samples(&self) -> &[u64] {
        self.cells.get(1..=SAMPLES_MAX).unwrap_or(&[])
    }

    /// All cells, as in the kernel's map.
    #[must_use]
    pub fn cells(&self) -> &[u64] {
        &self.cells
    }

    /// Returns a cell's number and increments it.
    pub(crate) fn next(&mut self, cell: u16) -> u64 {
        self.change(cell, 1)
    }

    pub(crate) fn change(&mut self, cell: u16, by: u64) -> u64 {
        match self.cells.get_mut(usize::from(cell)) {
            Some(cell) => {
                let was = *cell;
                *cell = was.wrapping_add(by);
                was
            }
            None => 0,
        }
    }

    pub(crate) fn recall(&self, key: u64) -> Option<u64> {
        self.datagrams.get(&key).copied()
    }

    pub(crate) fn remember(&mut self, key: u64, value: u64) {
        if self.datagrams.insert(key, value).is_none() {
            self.oldest.push_back(key);
        }
        while self.oldest.len() > DATAGRAMS_MAX {
            if let Some(key) = self.oldest.pop_front() {
                self.datagrams.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_bounded() {
        let mut state = State::default();
        for key in 0..DATAGRAMS_MAX as u64 + 10 {
            state.remember(key, key + 1);
        }
        assert_eq!((state.recall(9), state.recall(10)), (None, Some(11)));
        assert_eq!(state.datagrams.len(), DATAGRAMS_MAX);
    }

    #[test]
    fn the_kernel_s_map_is_read() {
        let mut bytes = vec![0; STATE_BYTES];
        bytes[..8].copy_from_slice(&7_u64.to_ne_bytes());
        let at = usize::from(cell::counter(3)) * 8;
        bytes[at..at + 8].copy_from_slice(&(-2_i64).to_ne_bytes());
        let state = State::from_map(&bytes).unwrap();
        assert_eq!((state.round_robin(), state.counter(3), state.counter(64)), (7, Some(-2), None));
        assert_eq!(State::from_map(&bytes[8..]), None);
    }
}
