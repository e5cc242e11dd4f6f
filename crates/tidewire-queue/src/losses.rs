//! Which bytes of which streams a reader did not get, by offsets and ordinals.

use std::collections::BTreeMap;

use crate::{
    layout::Record,
    records::{Direction, Event, Open, RecordType},
};

/// Bytes of a direction that were published and that this reader did not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The stream.
    pub stream: u64,
    /// The direction.
    pub direction: Direction,
    /// Offset of the first one.
    pub offset: u64,
    /// Number of them.
    pub bytes: u64,
}

/// Finds which bytes of which streams a reader missed or lost: within a direction, records continue where the last one ended, and
/// OPEN and CLOSE say how far each direction is. Of streams of which it got nothing, it knows how many there were.
#[derive(Debug)]
pub struct Losses {
    streams: BTreeMap<u64, Known>,
    streams_max: usize,
    /// Whether other readers get some of the streams, or the beginnings of some.
    is_member: bool,
    /// Ordinal of the first stream that was opened before this reader's eyes, and the one behind the last that it knows of.
    ordinals: Option<(u64, u64)>,
    /// Streams of these that it knows.
    seen: u64,
    forgotten: u64,
}

/// A stream.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// How far each direction is.
    next: [Option<u64>; 2],
    /// Where each direction was when the reader saw it first, as long as it is not known whether the stream is an old one.
    began: [u64; 2],
    /// Whether its ordinal was counted.
    is_counted: bool,
}

impl Losses {
    /// Follows at most so many streams at a time; beyond, it forgets the oldest.
    #[must_use]
    pub fn new(streams_max: usize) -> Self {
        let streams_max = streams_max.max(1);
        Self { streams: BTreeMap::new(), streams_max, is_member: false, ordinals: None, seen: 0, forgotten: 0 }
    }

    /// As [`new`](Self::new), for a member of a group: what it got nothing of may have been another member's.
    #[must_use]
    pub fn of_member(streams_max: usize) -> Self {
        Self { is_member: true, ..Self::new(streams_max) }
    }

    /// A record that was read, with its payload. What it shows to be missing is appended.
    pub fn read(&mut self, record: &Record, payload: &[u8], missing: &mut Vec<Missing>) {
        let stream = record.stream;
        match Event::new(record, payload) {
            Some(Event::Open { is_repeated, open }) => self.open(stream, is_repeated, &open, missing),
            Some(Event::Data { direction, offset, bytes, repeated_bytes, .. }) => {
                let fresh = offset.saturating_add(repeated_bytes as u64);
                self.reach(stream, direction, fresh, missing);
                self.set(stream, direction, offset.saturating_add(bytes.len() as u64));
            }
            Some(Event::Gap(gap)) => {
                self.reach(stream, gap.direction, gap.offset, missing);
                self.set(stream, gap.direction, gap.offset.saturating_add(gap.bytes));
            }
            Some(Event::Close(close)) => {
                let is_new = self.count(stream, close.ordinal);
                self.begin(stream, is_new, missing);
                for direction in Direction::BOTH {
                    self.reach(stream, direction, close.end_offset[direction as usize], missing);
                }
                self.streams.remove(&stream);
            }
            _ => {}
        }
    }

    /// A record that was missed: its head is known.
    pub fn missed(&mut self, record: &Record, missing: &mut Vec<Missing>) {
        match RecordType::from_number(record.kind) {
            Some(RecordType::Data) => {
                let fresh = record.offset.saturating_add(record.detail);
                let end = record.offset.saturating_add(u64::from(record.bytes));
                self.reach(record.stream, record.direction(), fresh, missing);
                self.set(record.stream, record.direction(), fresh);
                self.reach(record.stream, record.direction(), end.max(fresh), missing);
            }
            Some(RecordType::Close) => drop(self.streams.remove(&record.stream)),
            _ => {}
        }
    }

    /// Streams that were opened since this reader saw a stream's first OPEN, and of which it got neither OPEN nor CLOSE; 0 for
    /// members of groups.
    #[must_use]
    pub fn streams_missed(&self) -> u64 {
        self.ordinals.map_or(0, |(first, end)| end - first).saturating_sub(self.seen)
    }

    /// Streams that were forgotten because there were too many: what is missing of them is not known.
    #[must_use]
    pub fn streams_forgotten(&self) -> u64 {
        self.forgotten
    }

    fn open(&mut self, stream: u64, is_repeated: bool, open: &Open, missing: &mut Vec<Missing>) {
        if self.ordinals.is_none() && !is_repeated && !self.is_member {
            self.ordinals = Some((open.ordinal, open.ordinal));
        }
        let is_new = self.count(stream, open.ordinal);
        self.begin(stream, is_new || !is_repeated, missing);
        for direction in Direction::BOTH {
            self.reach(stream, direction, open.next_offset[direction as usize], missing);
        }
    }

    /// Counts a stream by its ordinal. Returns whether it was opened while this reader was there.
    fn count(&mut self, stream: u64, ordinal: u64) -> bool {
        let Some((first, end)) = &mut self.ordinals else { return false };
        let is_new = ordinal >= *first && ordinal != u64::MAX;
        if is_new {
            *end = (*end).max(ordinal + 1);
            let known = self.streams.entry(stream).or_default();
            if !std::mem::replace(&mut known.is_counted, true) {
                self.seen += 1;
            }
        }
        is_new
    }

    /// A stream that was opened while this reader was there begins at 0.
    fn begin(&mut self, stream: u64, is_new: bool, missing: &mut Vec<Missing>) {
        let known = self.streams.entry(stream).or_default();
        if is_new {
            for direction in Direction::BOTH {
                known.next[direction as usize].get_or_insert(0);
                let bytes = std::mem::take(&mut known.began[direction as usize]);
                if bytes != 0 {
                    missing.push(Missing { stream, direction, offset: 0, bytes });
                }
            }
        }
        if self.streams.len() > self.streams_max {
            self.streams.pop_first();
            self.forgotten += 1;
        }
    }

    /// The direction continues at `offset`: what is before it is missing, if it is known how far it was.
    fn reach(&mut self, stream: u64, direction: Direction, offset: u64, missing: &mut Vec<Missing>) {
        self.begin(stream, false, missing);
        let Some(known) = self.streams.get_mut(&stream) else { return };
        let Some(next) = &mut known.next[direction as usize] else {
            known.next[direction as usize] = Some(offset);
            known.began[direction as usize] = offset;
            return;
        };
        if offset > *next {
            missing.push(Missing { stream, direction, offset: *next, bytes: offset - *next });
            *next = offset;
        }
    }

    fn set(&mut self, stream: u64, direction: Direction, offset: u64) {
        if let Some(known) = self.streams.get_mut(&stream) {
            let next = known.next[direction as usize].get_or_insert(offset);
            *next = (*next).max(offset);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Close;

    fn payload(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&mut out);
        out
    }

    fn open(ordinal: u64, next_offset: [u64; 2]) -> Vec<u8> {
        payload(|out| Open { ordinal, next_offset, ..Open::default() }.encode(out))
    }

    fn close(ordinal: u64, end_offset: [u64; 2]) -> Vec<u8> {
        payload(|out| Close { ordinal, end_offset, ..Close::default() }.encode(out))
    }

    #[test]
    fn what_was_not_read_is_found_by_offsets_and_ordinals() {
        use Direction::{ClientToServer as Up, ServerToClient as Down};
        let (mut losses, mut missing) = (Losses::new(10), Vec::new());
        let head = |kind, stream| Record::new(kind, stream, 0);
        let missing_of = |stream, direction, offset, bytes| Missing { stream, direction, offset, bytes };
        losses.read(&head(RecordType::Open, 5), &open(7, [0, 0]), &mut missing);
        losses.read(&Record::data(5, Up, 0, 0, 0), b"hello", &mut missing);
        losses.read(&Record::data(5, Up, 3, 2, 0), b"lo you", &mut missing);
        assert_eq!(missing, []);
        // 20 bytes of the other direction were in records that were lost.
        losses.read(&Record::data(5, Down, 20, 0, 0), b"x", &mut missing);
        let lost = Record { bytes: 10, ..Record::data(5, Up, 9, 0, 0) };
        losses.missed(&lost, &mut missing);
        assert_eq!(missing, [missing_of(5, Down, 0, 20), missing_of(5, Up, 9, 10)]);
        missing.clear();
        // A stream whose open was lost, and one of which only the close came; ordinal 9 never showed itself.
        losses.read(&Record::data(6, Up, 4, 0, 0), b"late", &mut missing);
        let repeated = Record { flags: crate::records::flags::REPEATED, ..head(RecordType::Open, 6) };
        losses.read(&repeated, &open(8, [8, 0]), &mut missing);
        losses.read(&head(RecordType::Close, 8), &close(10, [3, 0]), &mut missing);
        losses.read(&head(RecordType::Close, 5), &close(7, [19, 30]), &mut missing);
        assert_eq!(missing, [missing_of(6, Up, 0, 4), missing_of(8, Up, 0, 3), missing_of(5, Down, 21, 9)]);
        assert_eq!((losses.streams_missed(), losses.streams_forgotten()), (1, 0));
        for stream in 20..40 {
            losses.read(&Record::data(stream, Up, 4, 0, 0), b"late", &mut missing);
        }
        assert_eq!(losses.streams_forgotten(), 11);
    }
}
