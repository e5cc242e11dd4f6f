//! Whose turn it is in a ring that one side fills and the other empties: two numbers that only grow, and wrap.
//!
//! The items belong to the caller, which gets their indices. Under `sanitize/` loom runs this source over its own atomics and
//! cells, with the kernel's side as a thread.

use super::atomic::{AtomicU32, Ordering};

/// The side that fills. There is room for every item that is ever in the ring.
#[derive(Debug)]
pub(crate) struct Producer {
    entries: u32,
    /// End of the items in the ring; the other side sees them after its number is written.
    next: u32,
}

impl Producer {
    /// Of a ring of so many entries, a power of two.
    pub(crate) fn new(entries: u32, producer: &AtomicU32) -> Self {
        Self { entries, next: producer.load(Ordering::Relaxed) }
    }

    /// Has `write` fill entries (it is given the entry, and which of the `count` items goes there), as many as there is room
    /// for, and hands them over; how many.
    pub(crate) fn push(
        &mut self,
        producer: &AtomicU32,
        consumer: &AtomicU32,
        count: usize,
        mut write: impl FnMut(u32, usize),
    ) -> usize {
        // Acquire: the other side has read what it consumed, before it is written over.
        let consumed = consumer.load(Ordering::Acquire);
        let room = self.entries - self.next.wrapping_sub(consumed).min(self.entries);
        let count = count.min(room as usize);
        for item in 0..count {
            write(self.next & (self.entries - 1), item);
            self.next = self.next.wrapping_add(1);
        }
        // Release: the items are written before the other side sees the number.
        producer.store(self.next, Ordering::Release);
        count
    }
}

/// The side that empties. What was read stays until it is released.
#[derive(Debug)]
pub(crate) struct Consumer {
    entries: u32,
    /// The oldest that was read and not released.
    released: u32,
    /// The next to be read.
    next: u32,
    /// The first that the other side had not yet written when we looked.
    known: u32,
}

impl Consumer {
    /// Of a ring of so many entries, a power of two.
    pub(crate) fn new(entries: u32, consumer: &AtomicU32) -> Self {
        let at = consumer.load(Ordering::Relaxed);
        Self { entries, released: at, next: at, known: at }
    }

    /// How many there are to be read.
    pub(crate) fn available(&mut self, producer: &AtomicU32) -> u32 {
        // Acquire: the items were written before the number.
        self.known = producer.load(Ordering::Acquire);
        self.known.wrapping_sub(self.next)
    }

    /// The entry with the `index`-th to be read, of those that [`available`](Self::available) counted. The other side does not
    /// write to it.
    pub(crate) fn peek(&self, index: u32) -> Option<u32> {
        (index < self.known.wrapping_sub(self.next)).then(|| self.entry(self.next.wrapping_add(index)))
    }

    /// The next `count` have been read.
    pub(crate) fn advance(&mut self, count: u32) {
        self.next = self.next.wrapping_add(count.min(self.known.wrapping_sub(self.next)));
    }

    /// The entry with the `index`-th of those that were read and not released.
    pub(crate) fn held(&self, index: u32) -> Option<u32> {
        (index < self.held_count()).then(|| self.entry(self.released.wrapping_add(index)))
    }

    /// How many were read and not released.
    pub(crate) fn held_count(&self) -> u32 {
        self.next.wrapping_sub(self.released)
    }

    /// The other side may write over the oldest `count` that were read.
    pub(crate) fn release(&mut self, consumer: &AtomicU32, count: u32) {
        self.released = self.released.wrapping_add(count.min(self.held_count()));
        // Release: they have been read before the other side sees the number.
        consumer.store(self.released, Ordering::Release);
    }

    /// How many entries the other side cannot use, as far as we looked: not yet read, or not released.
    pub(crate) fn used(&self) -> u32 {
        self.known.wrapping_sub(self.released)
    }

    fn entry(&self, number: u32) -> u32 {
        number & (self.entries - 1)
    }
}
