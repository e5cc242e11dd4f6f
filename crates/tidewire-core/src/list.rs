//! Lists of a flow, with their memory accounted.

use std::ops::{Deref, DerefMut};

/// Entries of the first allocation.
const FIRST: usize = 4;

/// A list that grows by halves and reports the memory it takes.
#[derive(Debug)]
pub(crate) struct List<T>(Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for List<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> List<T> {
    /// Memory of a list with this capacity, including allocator overhead.
    fn charge(capacity: usize) -> u64 {
        if capacity == 0 { 0 } else { (capacity * size_of::<T>()) as u64 + 16 }
    }

    /// Appends an entry, and adds the memory that the list grew by to `bytes`.
    pub(crate) fn push(&mut self, entry: T, bytes: &mut u64) {
        if self.0.len() == self.0.capacity() {
            let before = Self::charge(self.0.capacity());
            self.0.reserve_exact((self.0.len() / 2).max(FIRST));
            *bytes += Self::charge(self.0.capacity()) - before;
        }
        self.0.push(entry);
    }

    /// Inserts an entry before that at `at`, and adds the memory that the list grew by to `bytes`.
    pub(crate) fn insert(&mut self, at: usize, entry: T, bytes: &mut u64) {
        self.push(entry, bytes);
        self.0[at..].rotate_right(1);
    }

    /// Removes all entries; the memory stays allocated.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Removes a range of entries; the memory stays allocated.
    pub(crate) fn remove(&mut self, range: std::ops::Range<usize>) {
        self.0.drain(range);
    }
}
