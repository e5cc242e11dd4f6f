//! A queue's memory as words, each read and written whole: what two processes may do at once without undefined behaviour.

use super::super::layout::{Geometry, Record, SLOT_WORDS, Word};
use super::atomic::{AtomicU64, load_bytes, load_words, store_bytes, store_words};

/// The parts of a mapped queue. Each part has the length that [`Geometry`] states.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words<'a> {
    header: &'a [AtomicU64],
    index: &'a [AtomicU64],
    /// Twice the payload: the second half is the first again.
    payload: &'a [AtomicU64],
    geometry: Geometry,
}

impl<'a> Words<'a> {
    /// Parts as long as `geometry` states, which the mapping of a queue has checked.
    #[inline]
    pub(crate) fn new(
        header: &'a [AtomicU64],
        index: &'a [AtomicU64],
        payload: &'a [AtomicU64],
        geometry: Geometry,
    ) -> Self {
        debug_assert!(header.len() > Word::Wake as usize, "words of a queue's header");
        debug_assert_eq!(index.len() as u64, geometry.slots() * SLOT_WORDS as u64, "words of a queue's index");
        debug_assert_eq!(payload.len() as u64, geometry.payload_bytes() / 4, "words of a queue's payload, twice");
        Self { header, index, payload, geometry }
    }

    #[inline]
    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    #[inline]
    pub(crate) fn word(&self, word: Word) -> &'a AtomicU64 {
        &self.header[word as usize]
    }

    #[inline]
    fn slot(&self, sequence: u64) -> &'a [AtomicU64] {
        let at = (sequence & (self.geometry.slots() - 1)) as usize * SLOT_WORDS;
        &self.index[at..at + SLOT_WORDS]
    }

    #[inline]
    pub(crate) fn store_slot(&self, record: &Record) {
        store_words(self.slot(record.sequence), record.words());
    }

    #[inline]
    pub(crate) fn load_slot(&self, sequence: u64) -> Record {
        Record::from_words(load_words(self.slot(sequence)))
    }

    /// The words of `bytes` payload bytes at a position; `bytes` is at most the payload.
    #[inline]
    pub(crate) fn payload(&self, position: u64, bytes: usize) -> &'a [AtomicU64] {
        let at = (position & (self.geometry.payload_bytes() - 1)) as usize / 8;
        &self.payload[at..at + bytes.div_ceil(8)]
    }

    /// Writes a payload of at most [`Geometry::record_bytes_max`] bytes.
    #[inline]
    pub(crate) fn store_payload(&self, position: u64, bytes: &[u8]) {
        store_bytes(self.payload(position, bytes.len()), bytes);
    }

    /// Appends `bytes` payload bytes at a position; at most [`Geometry::record_bytes_max`].
    #[inline]
    pub(crate) fn load_payload(&self, position: u64, bytes: usize, out: &mut Vec<u8>) {
        load_bytes(self.payload(position, bytes), bytes, out);
    }
}
