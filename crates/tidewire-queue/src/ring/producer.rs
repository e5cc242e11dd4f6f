//! Publishing: two intents, the bytes, and then the sequence.

use super::{
    atomic::{Ordering, fence},
    words::Words,
};
use crate::layout::{Ended, Record, Word};

/// Where the producer stands. It never reads what another process can write.
#[derive(Debug, Default)]
pub(crate) struct Producer {
    sequence: u64,
    position: u64,
}

impl Producer {
    /// Records published so far; the sequence of the next one.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The position of the next payload.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Publishes one record: its `sequence`, `position` and `bytes` are set here. Returns `false`, and publishes nothing, if
    /// the payload is longer than [`record_bytes_max`](crate::Geometry::record_bytes_max).
    ///
    /// A reader that reads a word written here sees the intents as well (the fence), so it knows that what it read may be
    /// overwritten; a reader that sees the published sequence sees every word of the record.
    pub(crate) fn publish(&mut self, words: &Words<'_>, record: &Record, payload: &[u8]) -> bool {
        if payload.len() as u64 > words.geometry().record_bytes_max() {
            return false;
        }
        let record =
            Record { sequence: self.sequence, position: self.position, bytes: payload.len() as u32, ..*record };
        let (sequence, position) = (self.sequence + 1, self.position + record.payload_taken());
        words.word(Word::SlotIntent).store(sequence, Ordering::Relaxed);
        words.word(Word::PayloadIntent).store(position, Ordering::Relaxed);
        fence(Ordering::Release);
        words.store_payload(record.position, payload);
        words.store_slot(&record);
        words.word(Word::Published).store(sequence, Ordering::Release);
        (self.sequence, self.position) = (sequence, position);
        true
    }

    /// Ends the queue. Readers see this after every published record.
    pub(crate) fn end(&self, words: &Words<'_>, why: Ended) {
        words.word(Word::State).store(why.word(), Ordering::Release);
    }
}
