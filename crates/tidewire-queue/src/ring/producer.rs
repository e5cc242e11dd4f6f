//! Publishing: two intents, the bytes, and then the sequence.

use super::super::layout::{QueueEnd, Record, Word};
use super::{
    atomic::{Ordering, fence},
    words::Words,
};

/// Up to where a producer may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// A sequence (exclusive).
    pub sequence: u64,
    /// A position (exclusive).
    pub position: u64,
}

impl Limits {
    /// Anywhere.
    pub(crate) const NONE: Self = Self { sequence: u64::MAX, position: u64::MAX };
}

/// Where the producer stands. It never reads what another process can write.
#[derive(Debug, Default)]
pub(crate) struct Producer {
    sequence: u64,
    position: u64,
    /// Values of the words of the intents.
    sequence_intent: u64,
    position_intent: u64,
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
    #[inline]
    pub(crate) fn publish(&mut self, words: &Words<'_>, record: &Record, payload: &[u8], limits: Limits) -> bool {
        if payload.len() as u64 > words.geometry().record_bytes_max() {
            return false;
        }
        let record =
            Record { sequence: self.sequence, position: self.position, bytes: payload.len() as u32, ..*record };
        let (sequence, position) = (self.sequence + 1, self.position + record.payload_taken());
        if sequence > self.sequence_intent || position > self.position_intent {
            self.intend(words, sequence, position, limits);
        }
        words.store_payload(record.position, payload);
        words.store_slot(&record);
        words.word(Word::Published).store(sequence, Ordering::Release);
        (self.sequence, self.position) = (sequence, position);
        true
    }

    /// Says up to where will be written: for several records at once, as readers look at these words for each record.
    fn intend(&mut self, words: &Words<'_>, sequence: u64, position: u64, limits: Limits) {
        let geometry = words.geometry();
        if sequence > self.sequence_intent {
            let ahead = sequence.saturating_add(geometry.slots_ahead());
            self.sequence_intent = ahead.min(limits.sequence).max(sequence);
            words.word(Word::SlotIntent).store(self.sequence_intent, Ordering::Relaxed);
        }
        if position > self.position_intent {
            let ahead = position.saturating_add(geometry.payload_ahead());
            self.position_intent = ahead.min(limits.position).max(position);
            words.word(Word::PayloadIntent).store(self.position_intent, Ordering::Relaxed);
        }
        // Later writes are not seen before the intents. Words that were covered by an earlier intent are behind an
        // earlier fence.
        fence(Ordering::Release);
    }

    /// Ends the queue. Readers see this after every published record.
    pub(crate) fn end(&self, words: &Words<'_>, why: QueueEnd) {
        words.word(Word::State).store(why.word(), Ordering::Release);
    }
}
