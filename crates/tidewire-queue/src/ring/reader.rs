//! Reading: copy, then check that the copy is not of bytes that were being overwritten.

use super::{
    atomic::{Ordering, fence},
    words::Words,
};
use crate::layout::{Ended, Record, Word};

/// What a reader finds next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// A record; its payload was appended to the caller's buffer.
    Record(Record),
    /// A record whose payload was overwritten before it was read. What it was is known.
    Missed(Record),
    /// Records whose slots were overwritten before they were read: only how many is known, from `first` on.
    Lost {
        /// Sequence of the first one.
        first: u64,
        /// How many.
        records: u64,
    },
    /// No record is there yet.
    Empty,
    /// The queue has ended and every record was read.
    Ended(Ended),
}

/// The producer wrote what no producer of this layout writes. Nothing more can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Corrupt {
    /// The published sequence went back.
    #[error("the queue is corrupt: published sequence {published} after {read} was read")]
    Sequence {
        /// The published sequence.
        published: u64,
        /// The reader's.
        read: u64,
    },
    /// A slot names another record.
    #[error("the queue is corrupt: slot of record {expected} names record {found}")]
    Slot {
        /// The record that was to be read.
        expected: u64,
        /// What the slot says.
        found: u64,
    },
    /// A payload is longer than a record's may be, or does not begin at a word.
    #[error("the queue is corrupt: record {sequence} states {bytes} bytes at {position}")]
    Payload {
        /// The record.
        sequence: u64,
        /// Its position.
        position: u64,
        /// Its bytes.
        bytes: u32,
    },
}

/// Where a reader stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    sequence: u64,
}

impl Cursor {
    /// Begins with this record.
    pub(crate) fn at(sequence: u64) -> Self {
        Self { sequence }
    }

    /// The sequence of the record to be read next.
    pub(crate) fn sequence(self) -> u64 {
        self.sequence
    }

    /// The next record, or what became of it. Never waits; the number of steps is bounded, whatever the memory holds.
    pub(crate) fn next(&mut self, words: &Words<'_>, out: &mut Vec<u8>) -> Result<Next, Corrupt> {
        // The state before the sequence: a queue that has ended publishes nothing more.
        let state = words.word(Word::State).load(Ordering::Acquire);
        let published = words.word(Word::Published).load(Ordering::Acquire);
        let Some(waiting) = published.checked_sub(self.sequence) else {
            return Err(Corrupt::Sequence { published, read: self.sequence });
        };
        if waiting == 0 {
            return Ok(Ended::from_word(state).map_or(Next::Empty, Next::Ended));
        }
        if waiting > words.geometry().slots() {
            return Ok(self.skip(words, published));
        }
        let record = words.load_slot(self.sequence);
        fence(Ordering::Acquire);
        let intent = words.word(Word::SlotIntent).load(Ordering::Relaxed);
        if intent.wrapping_sub(self.sequence) > words.geometry().slots() {
            let published = words.word(Word::Published).load(Ordering::Acquire);
            return Ok(self.skip(words, published));
        }
        self.check(words, &record)?;
        let begin = out.len();
        let is_whole = !self.is_overwritten(words, &record) && {
            words.load_payload(record.position, record.bytes as usize, out);
            fence(Ordering::Acquire);
            !self.is_overwritten(words, &record)
        };
        self.sequence += 1;
        if is_whole {
            return Ok(Next::Record(record));
        }
        out.truncate(begin);
        Ok(Next::Missed(record))
    }

    /// Passes over records whose slots are gone, and an eighth more, so that the reader is not overtaken again at once.
    fn skip(&mut self, words: &Words<'_>, published: u64) -> Next {
        let slots = words.geometry().slots();
        let first = self.sequence;
        // At least one: a producer that is caught while it overwrites the slot has not published yet.
        let to = published.saturating_sub(slots - slots / 8).max(first.saturating_add(1)).min(published.max(first + 1));
        self.sequence = to;
        Next::Lost { first, records: to - first }
    }

    fn check(self, words: &Words<'_>, record: &Record) -> Result<(), Corrupt> {
        if record.sequence != self.sequence {
            return Err(Corrupt::Slot { expected: self.sequence, found: record.sequence });
        }
        if u64::from(record.bytes) > words.geometry().record_bytes_max() || !record.position.is_multiple_of(8) {
            let Record { sequence, position, bytes, .. } = *record;
            return Err(Corrupt::Payload { sequence, position, bytes });
        }
        Ok(())
    }

    fn is_overwritten(self, words: &Words<'_>, record: &Record) -> bool {
        let intent = words.word(Word::PayloadIntent).load(Ordering::Relaxed);
        intent.wrapping_sub(record.position) > words.geometry().payload_bytes()
    }
}
