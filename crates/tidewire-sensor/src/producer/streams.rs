//! A stream queue: the calls of a handler, as records.

use std::sync::MutexGuard;

use tidewire::{Chunk, Direction, EndReason, Gap, Handler, Stream};
use tidewire_queue::{
    Owners, Record,
    records::{Conflict, Gap as GapRecord, RecordType, flags},
};

use super::{
    describe,
    set::{Queue, QueueSet},
};
use crate::config::Distribution;

/// Publishes streams in a queue, or each in one queue of a set.
///
/// A stream's records are its OPEN, then DATA, GAP and CONFLICT as they come, and its CLOSE. What a queue sheds for a slow reader
/// is a GAP as well, before the next record of its direction. A chunk that is longer than a record may be is several DATA records;
/// of a datagram, none of these has the flag.
#[derive(Debug)]
pub struct StreamQueue {
    set: QueueSet,
    /// The priority of streams that have none of their own: set in the engine, or stated in the queue alone.
    priority: u8,
    stated: u8,
}

/// State of a stream.
#[derive(Debug, Default)]
pub struct StreamState {
    owners: Owners,
    /// Its number in its queue.
    ordinal: u64,
    /// By direction, conflicts that were published.
    conflicts: [u32; 2],
    /// Its queue in the set.
    queue: u32,
}

impl StreamQueue {
    /// Publishes to `set`.
    #[must_use]
    pub fn new(set: QueueSet) -> Self {
        Self { set, priority: 0, stated: 0 }
    }

    /// The priority of streams that have none of their own (0), where the engine does not know it.
    #[must_use]
    pub fn priority(self, priority: u8) -> Self {
        Self { priority, ..self }
    }

    /// The same, beside a handler of the engine whose records state the stream's own priority (0).
    #[must_use]
    pub fn stating(self, priority: u8) -> Self {
        Self { stated: priority, ..self }
    }

    /// The stream's queue, after what is due before the next record: its OPEN where a reader lacks it, and conflicts.
    #[inline]
    fn ready<'a>(&'a self, stream: &mut Stream<'_, StreamState>) -> MutexGuard<'a, Queue> {
        let mut queue = self.set.queue(stream.data().queue as usize);
        if queue.needs_open(&mut stream.data().owners) {
            publish_open(&mut queue, stream, self.stated);
        }
        // Both lists are empty in nearly every stream.
        if stream.conflicts(Direction::BOTH[0]).len() + stream.conflicts(Direction::BOTH[1]).len() != 0 {
            publish_conflicts(&mut queue, stream);
        }
        queue
    }
}

#[cold]
fn publish_open(queue: &mut Queue, stream: &mut Stream<'_, StreamState>, stated: u8) {
    let record = Record::new(RecordType::Open, stream.id(), stream.start().as_nanos());
    let (ordinal, next_offset) = (stream.data().ordinal, stream.data().owners.next_offset());
    queue.scratch.clear();
    let mut open = describe::open(stream, ordinal, next_offset);
    open.priority = open.priority.max(stated);
    open.encode(&mut queue.scratch);
    queue.publish_scratch(&mut stream.data().owners, &record);
}

#[cold]
fn publish_conflicts(queue: &mut Queue, stream: &mut Stream<'_, StreamState>) {
    let (id, time_ns) = (stream.id(), stream.end().as_nanos());
    for direction in Direction::BOTH {
        let at = direction as usize;
        let mut seen = stream.data().conflicts[at];
        while let Some(conflict) = stream.conflicts(direction).get(seen as usize).copied() {
            seen += 1;
            let conflict = Conflict { direction, offset: conflict.offset, bytes: conflict.bytes };
            queue.publish_always(&mut stream.data().owners, &conflict.record(id, time_ns));
        }
        stream.data().conflicts[at] = seen;
    }
}

impl Handler for StreamQueue {
    type Data = StreamState;

    fn open(&mut self, stream: &mut Stream<'_, StreamState>) {
        if stream.priority() == 0 {
            stream.set_priority(self.priority);
        }
        let index = match self.set.distribution() {
            Distribution::FlowHash => self.set.of_flow(&stream.key()),
            Distribution::RoundRobin => self.set.next(),
        };
        let mut queue = self.set.queue(index);
        let state = stream.data();
        state.queue = index as u32;
        state.ordinal = queue.count_stream();
        queue.needs_open(&mut state.owners);
        publish_open(&mut queue, stream, self.stated);
    }

    #[inline]
    fn data(&mut self, stream: &mut Stream<'_, StreamState>, chunk: Chunk<'_>) {
        let mut queue = self.ready(stream);
        let (id, priority) = (stream.id(), stream.priority().max(self.stated));
        let owners = &mut stream.data().owners;
        let mut record = Record::data(id, chunk.direction, chunk.offset, 0, chunk.timestamp.as_nanos());
        let (mut bytes, mut repeated) = (chunk.bytes, chunk.repeated_bytes);
        // A part of a datagram is not a datagram.
        let is_datagram = chunk.is_datagram && bytes.len() <= self.set.record_bytes_max();
        record.flags |= if is_datagram { flags::DATAGRAM } else { 0 };
        // Longer than a record may be: several records. One turn, nearly always.
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(bytes.len().min(self.set.record_bytes_max()));
            let old = repeated.min(piece.len());
            record.detail = old as u64;
            queue.publish(owners, priority, &record, piece);
            record.offset += piece.len() as u64;
            repeated -= old;
            bytes = rest;
        }
    }

    fn gap(&mut self, stream: &mut Stream<'_, StreamState>, gap: Gap) {
        let mut queue = self.ready(stream);
        let Gap { direction, offset, bytes, cause, .. } = gap;
        let gap = GapRecord { direction, offset, bytes, cause: cause as u8 };
        let record = gap.record(stream.id(), stream.end().as_nanos());
        queue.publish_always(&mut stream.data().owners, &record);
    }

    fn close(&mut self, stream: &mut Stream<'_, StreamState>, reason: EndReason) {
        let mut queue = self.ready(stream);
        let record = Record::new(RecordType::Close, stream.id(), stream.end().as_nanos()).with_code(reason as u8);
        let (ordinal, end_offset) = (stream.data().ordinal, stream.data().owners.next_offset());
        queue.scratch.clear();
        describe::close(stream, reason, ordinal, end_offset).encode(&mut queue.scratch);
        queue.publish_scratch(&mut stream.data().owners, &record);
    }
}
