//! Reading: copy, then check that the copy is not of bytes that were being overwritten.

use super::super::layout::{QueueEnd, Record, Word};
use super::{
    atomic::{Ordering, fence},
    words::Words,
};

/// Result of a read.
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
        /// Bytes of their payloads, each rounded up to 8.
        bytes: u64,
    },
    /// No record is there yet.
    Empty,
    /// The queue has ended and every record was read.
    Ended(QueueEnd),
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
        /// Header in the slot.
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

/// Result of a step of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Result for the caller.
    Next(Next),
    /// So many records for other readers.
    Passed(u64),
}

/// The place of a member of a group, and the generation under which it attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub place: u32,
    pub generation: u32,
}

/// Records for others that one step passes, at most.
const PASSED_MAX: u64 = 64;
/// How often a reader looks for a slot to go on with that is not being overwritten.
const SKIP_TRIES: u32 = 4;

/// Where a reader stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    sequence: u64,
    /// Sequence up to which records are known to be published.
    published: u64,
    /// Position of the next record's payload; `None`: not known.
    position: Option<u64>,
    member: Option<Member>,
    /// Bytes of lost records that were not yet reported.
    lost_bytes: u64,
    /// Whether the last record was missed.
    has_missed: bool,
}

impl Cursor {
    /// Begins with this record, whose payload has this position.
    pub(crate) fn at(sequence: u64, position: Option<u64>, member: Option<Member>) -> Self {
        Self { sequence, published: 0, position, member, lost_bytes: 0, has_missed: false }
    }

    /// The sequence of the record to be read next.
    pub(crate) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The next record, or what became of it, its payload appended to `out`; or some for others that were passed. Never waits; the
    /// number of steps is bounded, whatever the memory holds.
    #[inline]
    pub(crate) fn next(&mut self, words: &Words<'_>, out: &mut Vec<u8>) -> Result<Step, Corrupt> {
        let record = match self.head(words)? {
            (Step::Next(Next::Record(record)), true) => record,
            (step, _) => return Ok(step),
        };
        let begin = out.len();
        words.load_payload(record.position, record.bytes as usize, out);
        if self.is_intact(words, &record) {
            return Ok(Step::Next(Next::Record(record)));
        }
        self.has_missed = true;
        out.truncate(begin);
        Ok(Step::Next(Next::Missed(record)))
    }

    /// As [`next`](Self::next) without a copy of the payload: check [`is_intact`](Self::is_intact) after looking at it.
    #[inline]
    pub(crate) fn next_in_place(&mut self, words: &Words<'_>) -> Result<Step, Corrupt> {
        Ok(self.head(words)?.0)
    }

    /// Whether what was read of the record's payload before this call is what was published.
    #[inline]
    pub(crate) fn is_intact(&self, words: &Words<'_>, record: &Record) -> bool {
        fence(Ordering::Acquire);
        !is_overwritten(words, record, 0)
    }

    /// As [`is_intact`](Self::is_intact), when the caller is done with a record that it read in place.
    #[inline]
    pub(crate) fn confirm(&mut self, words: &Words<'_>, record: &Record) -> bool {
        let is_intact = self.is_intact(words, record);
        self.has_missed = !is_intact;
        is_intact
    }

    /// The next record's slot; `true`: the payload is there.
    #[inline]
    fn head(&mut self, words: &Words<'_>) -> Result<(Step, bool), Corrupt> {
        if self.published <= self.sequence
            && let Some(next) = self.look(words)?
        {
            return Ok((Step::Next(next), false));
        }
        let begin = self.sequence;
        while self.sequence < self.published && self.sequence - begin < PASSED_MAX {
            let Some(record) = self.slot(words)? else {
                // Passed records are counted before lost ones.
                if self.sequence > begin {
                    break;
                }
                return Ok((Step::Next(self.skip(words)), false));
            };
            if self.member.is_some_and(|member| !record.is_for(member.place, member.generation)) {
                self.advance(&record);
                continue;
            }
            if self.sequence > begin {
                break;
            }
            self.advance(&record);
            // A reader that was overtaken passes over an eighth more, so that it is not overtaken again at once.
            let margin = if self.has_missed { words.geometry().payload_bytes() / 8 } else { 0 };
            let is_there = !is_overwritten(words, &record, margin);
            self.has_missed = !is_there;
            let next = if is_there { Next::Record(record) } else { Next::Missed(record) };
            return Ok((Step::Next(next), is_there));
        }
        Ok((Step::Passed(self.sequence - begin), false))
    }

    /// Looks how much is published. Returns what there is to say where nothing is to be read.
    fn look(&mut self, words: &Words<'_>) -> Result<Option<Next>, Corrupt> {
        // The state before the sequence: a queue that has ended publishes nothing more.
        let state = words.word(Word::State).load(Ordering::Relaxed);
        if state != 0 {
            fence(Ordering::Acquire);
        }
        let published = published(words);
        if published < self.sequence {
            return Err(Corrupt::Sequence { published, read: self.sequence });
        }
        self.published = published;
        let is_empty = published == self.sequence;
        Ok(is_empty.then(|| QueueEnd::from_word(state).map_or(Next::Empty, Next::Ended)))
    }

    /// The slot of the next record; `None`: it was overwritten.
    #[inline]
    fn slot(&self, words: &Words<'_>) -> Result<Option<Record>, Corrupt> {
        let record = words.load_slot(self.sequence);
        fence(Ordering::Acquire);
        let intent = words.word(Word::SlotIntent).load(Ordering::Relaxed);
        if intent.wrapping_sub(self.sequence) > words.geometry().slots() {
            return Ok(None);
        }
        if record.sequence != self.sequence {
            return Err(Corrupt::Slot { expected: self.sequence, found: record.sequence });
        }
        if u64::from(record.bytes) > words.geometry().record_bytes_max() || !record.position.is_multiple_of(8) {
            let Record { sequence, position, bytes, .. } = record;
            return Err(Corrupt::Payload { sequence, position, bytes });
        }
        Ok(Some(record))
    }

    /// Goes behind a record whose slot was read.
    #[inline]
    fn advance(&mut self, record: &Record) {
        let expected = self.position.unwrap_or(record.position);
        self.lost_bytes = self.lost_bytes.wrapping_add(record.position.wrapping_sub(expected));
        self.position = Some(record.position.wrapping_add(record.payload_taken()));
        self.sequence += 1;
    }

    /// Passes over records whose slots are gone, and an eighth more, so that the reader is not overtaken again at once.
    fn skip(&mut self, words: &Words<'_>) -> Next {
        let slots = words.geometry().slots();
        let first = self.sequence;
        for _ in 0..SKIP_TRIES {
            self.published = published(words).max(self.published);
            let to = self.published.saturating_sub(slots - slots / 8);
            // At least one: a producer that is caught while it overwrites the slot has not published yet.
            self.sequence = to.max(first.saturating_add(1)).min(self.published.max(first.saturating_add(1)));
            if let Ok(Some(record)) = self.slot(words) {
                let bytes = self.position.map_or(0, |expected| record.position.wrapping_sub(expected));
                self.position = Some(record.position);
                return Next::Lost { first, records: self.sequence - first, bytes };
            }
        }
        // The bytes are found with the next record that can be read.
        Next::Lost { first, records: self.sequence - first, bytes: 0 }
    }

    /// Bytes of lost records that no [`Next::Lost`] had; 0 again after this.
    #[inline]
    pub(crate) fn take_lost_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.lost_bytes)
    }
}

/// Loads the published sequence, then the values written before it. Of memory that is mapped for reading only, nothing but relaxed loads is
/// promised to work.
#[inline]
fn published(words: &Words<'_>) -> u64 {
    let published = words.word(Word::Published).load(Ordering::Relaxed);
    fence(Ordering::Acquire);
    published
}

/// Whether a record's payload may be overwritten by now, or after so many bytes more.
#[inline]
fn is_overwritten(words: &Words<'_>, record: &Record, margin: u64) -> bool {
    let intent = words.word(Word::PayloadIntent).load(Ordering::Relaxed);
    // Of a record without payload, the slot is all there is.
    record.bytes != 0 && intent.wrapping_sub(record.position) > words.geometry().payload_bytes() - margin
}
