//! A fold that is open: its first event, and columns of what varies.

use super::{
    profile::{Mask, places},
    settings::Times,
};
use crate::{
    column::{BlobColumn, IntColumn},
    error::DecodeError,
    lanes::{Plan, Values},
    limits::RECORD_HEADER_BYTES_MAX,
    message::Message,
    record::{Head, Parts, Record},
};

/// Bytes of messages between two looks at what a fold takes: with 4,096 folds it is known to a few MiB.
const LOOK_BYTES: usize = 1024;

/// A fold that is open. `count`: events of the part that was begun; 0 behind a cut.
pub(super) struct Fold {
    pub id: u64,
    pub part: u64,
    pub group: usize,
    pub mask: Mask,
    pub hash: u64,
    /// When it was opened, and when it is closed.
    pub opened_ns: u64,
    pub deadline_ns: u64,
    /// Events of parts that were given out.
    pub given: u64,
    pub count: u64,
    /// The first message of the part, or of the last one.
    first: Vec<u8>,
    ints: Vec<u64>,
    blobs: Vec<Vec<u8>>,
    numbers: IntColumn,
    int_columns: Vec<Option<Box<IntColumn>>>,
    blob_columns: Vec<Option<Box<BlobColumn>>>,
    first_number: u64,
    last_number: u64,
    first_ns: u64,
    last_ns: u64,
    /// Bytes of the messages, with their frames.
    message_bytes: usize,
    /// Of these when `charged_bytes` was last summed up.
    looked_bytes: usize,
    charged_bytes: usize,
}

impl Fold {
    /// A fold without events.
    pub(super) fn new(id: u64, group: usize, mask: Mask, hash: u64, opened_ns: u64, deadline_ns: u64) -> Self {
        Self {
            id,
            part: 0,
            group,
            mask,
            hash,
            opened_ns,
            deadline_ns,
            given: 0,
            count: 0,
            first: Vec::new(),
            ints: Vec::new(),
            blobs: Vec::new(),
            numbers: IntColumn::new(0, 0),
            int_columns: Vec::new(),
            blob_columns: Vec::new(),
            first_number: 0,
            last_number: 0,
            first_ns: 0,
            last_ns: 0,
            message_bytes: 0,
            looked_bytes: 0,
            charged_bytes: 0,
        }
    }

    /// Whether an event with these values belongs to it.
    pub(super) fn matches(&self, mask: Mask, values: &Values<'_>) -> bool {
        self.mask == mask
            && places(mask.ints).all(|place| self.ints.get(place) == values.ints.get(place))
            && places(mask.blobs)
                .all(|place| self.blobs.get(place).map(Vec::as_slice) == values.blobs.get(place).copied())
    }

    pub(super) fn charged_bytes(&self) -> usize {
        self.charged_bytes
    }

    /// The first message, of this part or of the last one.
    pub(super) fn first(&self) -> &[u8] {
        &self.first
    }

    /// Adds an event to it. Numbers only grow.
    pub(super) fn push(&mut self, number: u64, message: &Message<'_>, values: &Values<'_>) {
        let time_ns = message.time_ns();
        if self.count == 0 {
            self.begin(number, message, values);
            (self.first_ns, self.last_ns) = (time_ns, time_ns);
        } else {
            self.numbers.push(number);
            self.push_values(values);
            self.first_ns = self.first_ns.min(time_ns);
            self.last_ns = self.last_ns.max(time_ns);
        }
        self.last_number = number;
        self.count += 1;
        self.message_bytes += 4 + message.bytes().len();
        if self.count.is_power_of_two() || self.message_bytes - self.looked_bytes >= LOOK_BYTES {
            self.look();
        }
    }

    /// Makes an event the one that identifies the fold.
    pub(super) fn begin(&mut self, number: u64, message: &Message<'_>, values: &Values<'_>) {
        self.first.clear();
        self.first.extend_from_slice(message.bytes());
        self.ints.clear();
        self.ints.extend_from_slice(&values.ints);
        self.blobs.clear();
        self.blobs.extend(values.blobs.iter().map(|blob| blob.to_vec()));
        self.int_columns.resize_with(self.ints.len(), || None);
        self.blob_columns.resize_with(self.blobs.len(), || None);
        self.numbers = IntColumn::new(number, 0);
        self.first_number = number;
        self.look();
    }

    fn push_values(&mut self, values: &Values<'_>) {
        // Of the first event there is no value in a column.
        let repeated = (self.count - 1) as usize;
        for ((value, first), column) in values.ints.iter().zip(&self.ints).zip(&mut self.int_columns) {
            match column {
                Some(column) => column.push(*value),
                None if value == first => {}
                None => column.insert(Box::new(IntColumn::new(*first, repeated))).push(*value),
            }
        }
        for ((value, first), column) in values.blobs.iter().zip(&self.blobs).zip(&mut self.blob_columns) {
            match column {
                Some(column) => column.push(value),
                None if value == first => {}
                None => column.insert(Box::new(BlobColumn::new(first, repeated))).push(value),
            }
        }
    }

    /// Sums up what it takes.
    fn look(&mut self) {
        let ints = self.int_columns.iter().flatten().map(|column| column.charged_bytes());
        let blobs = self.blob_columns.iter().flatten().map(|column| column.charged_bytes());
        let values = self.ints.capacity() * 8 + self.blobs.iter().map(|blob| 24 + blob.capacity()).sum::<usize>();
        let columns = (self.int_columns.capacity() + self.blob_columns.capacity()) * size_of::<usize>();
        self.charged_bytes = size_of::<Self>() + 64 + self.first.capacity() + values + columns;
        self.charged_bytes += self.numbers.charged_bytes() + ints.chain(blobs).sum::<usize>();
        self.looked_bytes = self.message_bytes;
    }

    /// The part as a record; the next event begins another. `None`: it has no event.
    pub(super) fn cut(&mut self, plan: &Plan, times: Times) -> Result<Option<Record>, DecodeError> {
        if self.count == 0 {
            return Ok(None);
        }
        let mut columns = Vec::new();
        let numbers = std::mem::replace(&mut self.numbers, IntColumn::new(0, 0));
        if self.last_number - self.first_number >= self.count {
            columns.push((0, numbers.finish()));
        }
        let (mut ints, mut blobs) = (self.int_columns.iter_mut(), self.blob_columns.iter_mut());
        for (at, lane) in plan.lanes.iter().enumerate() {
            let blocks = if lane.is_blob() {
                blobs.next().and_then(Option::take).map(|column| column.finish())
            } else {
                ints.next().and_then(Option::take).map(|column| column.finish())
            };
            columns.extend(blocks.map(|blocks| (at + 1, blocks)));
        }
        // Lane 1 is the time. Where more varies, each time belongs to an event of its own.
        let has_times = times == Times::All || columns.iter().any(|(lane, _)| *lane > 1) || self.count == 1;
        columns.retain(|(lane, _)| has_times || *lane != 1);
        let (fold, part, count) = (self.id, self.part, self.count);
        let (first, last) = (self.first_number, self.last_number);
        let head = Head { fold, part, count, first, last, first_ns: self.first_ns, last_ns: self.last_ns, has_times };
        let mut record = Parts { head, message: Message::new(&self.first)?, columns }.encode();
        if has_times && record.bytes().len() > self.message_bytes + RECORD_HEADER_BYTES_MAX {
            record = record.to_plain()?;
        }
        self.part += 1;
        self.given += self.count;
        (self.count, self.message_bytes) = (0, 0);
        self.look();
        Ok(Some(record))
    }
}
