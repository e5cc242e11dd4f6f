//! One subflow: which of its bytes are which of the connection, by the mappings of its segments (RFC 8684 section 3.3.1).
//!
//! The engine passes the bytes of a subflow in order, and what it gave up. Here they get their data sequence numbers and leave as
//! [`Event`]s of the connection. Bytes without a mapping wait for one until bytes with one follow, and are then left out: where
//! they belong is not known.

use std::collections::VecDeque;

use super::{
    options::{DataSequence, Mapping},
    registry::ConnectionId,
};
use crate::{Direction, GapCause};

/// Mappings of a direction that are remembered, neighbours as one; further ones are not, and their bytes are left out.
const MAPPINGS_MAX: usize = 1024;
/// Bytes that wait for a mapping: four segments of usual size and more. Senders state it with or before the bytes.
const UNMAPPED_MAX: usize = 16 << 10;

/// A contribution of a subflow to its connection.
#[derive(Debug)]
pub(crate) struct Event {
    pub connection: ConnectionId,
    /// Whether it is of the connection's first subflow.
    pub is_of_first: bool,
    /// The connection's.
    pub direction: Direction,
    pub timestamp_ns: u64,
    pub kind: EventKind,
}

#[derive(Debug)]
pub(crate) enum EventKind {
    /// A subflow joined.
    Joined,
    /// A subflow that joined has ended.
    Left,
    Bytes {
        at: DataSequence,
        bytes: Vec<u8>,
    },
    /// Bytes that are known to be missing.
    Missing {
        at: DataSequence,
        bytes: u64,
        cause: GapCause,
    },
    /// The receiver of the direction has all bytes before this number.
    Acknowledged(DataSequence),
    /// The direction ends before this number.
    End(DataSequence),
}

/// A mapping, or what is left of it.
#[derive(Clone, Copy, Debug)]
struct Range {
    /// Offsets in the subflow.
    start: u64,
    end: u64,
    data: DataSequence,
}

/// One direction of a subflow.
#[derive(Debug, Default)]
struct Side {
    /// In the order of their offsets, without overlaps.
    mappings: VecDeque<Range>,
    /// Offset of the first byte that has not left.
    next: u64,
    /// Bytes from there on, which wait for a mapping.
    unmapped: Vec<u8>,
    /// Bytes of the subflow that the engine gave up; and of these, those that were in captured packets.
    missing_bytes: u64,
    stated_missing_bytes: u64,
    /// Whether any mapping was stated.
    is_mapped: bool,
}

/// A subflow of a known connection.
#[derive(Debug)]
pub(crate) struct Subflow {
    connection: ConnectionId,
    /// Of the connection's first subflow, the data sequence numbers of its first bytes.
    first: Option<[u64; 2]>,
    sides: [Side; 2],
}

impl Subflow {
    pub(crate) fn new(connection: ConnectionId, first: Option<[u64; 2]>) -> Self {
        Self { connection, first, sides: Default::default() }
    }

    pub(crate) fn is_first(&self) -> bool {
        self.first.is_some()
    }

    /// Bytes of a direction that the engine gave up.
    pub(crate) fn missing_bytes(&self, direction: Direction) -> u64 {
        self.sides[direction as usize].missing_bytes
    }

    /// Of these, bytes that were in captured packets: see [`GapCause::is_of_packets`].
    pub(crate) fn stated_missing_bytes(&self, direction: Direction) -> u64 {
        self.sides[direction as usize].stated_missing_bytes
    }

    /// Memory beyond this.
    pub(crate) fn bytes(&self) -> u64 {
        let of = |side: &Side| side.mappings.capacity() * size_of::<Range>() + side.unmapped.capacity();
        self.sides.iter().map(of).sum::<usize>() as u64
    }

    /// An event of a direction of this subflow.
    pub(crate) fn event(&self, direction: Direction, timestamp_ns: u64, kind: EventKind) -> Event {
        let direction = if self.connection.is_of_client { direction.opposite() } else { direction };
        Event { connection: self.connection, is_of_first: self.is_first(), direction, timestamp_ns, kind }
    }

    /// Notes a mapping. What an earlier one says of the same bytes stays, unless this one came with the bytes that are next: hosts
    /// read the mapping of the segment that they accept.
    pub(crate) fn map(&mut self, direction: Direction, mapping: Mapping, is_next: bool) {
        let side = &mut self.sides[direction as usize];
        // The number of the byte at offset 0 is 1. The lower half of the offset is stated.
        let stated = mapping.subflow.wrapping_sub(1);
        let near = side.next + side.unmapped.len() as u64;
        let start = near.wrapping_add(i64::from(stated.wrapping_sub(near as u32) as i32) as u64);
        if start > near + (1 << 31) {
            return;
        }
        side.is_mapped = true;
        let end = mapping.bytes.map_or(u64::MAX, |bytes| start + u64::from(bytes));
        if is_next {
            side.clear(end);
        }
        side.insert(Range { start, end, data: mapping.data });
    }

    /// Notes the mapping of the connection's first bytes, which come with its keys.
    pub(crate) fn map_first(&mut self, direction: Direction, bytes: u16) {
        if let Some(first) = self.first {
            let data = DataSequence::Whole(first[direction as usize]);
            self.map(direction, Mapping { data, subflow: 1, bytes: Some(bytes) }, true);
        }
    }

    /// Accepts bytes that continue the subflow.
    pub(crate) fn accept(&mut self, direction: Direction, bytes: &[u8], timestamp_ns: u64, events: &mut Vec<Event>) {
        let side = &mut self.sides[direction as usize];
        if let Some(first) = self.first.filter(|_| !side.is_mapped && side.next == 0) {
            // A first segment without a mapping: the connection is one of TCP from the beginning on (section 3.7).
            side.is_mapped = true;
            side.insert(Range { start: 0, end: u64::MAX, data: DataSequence::Whole(first[direction as usize]) });
        }
        if side.unmapped.is_empty() {
            let rest = self.place(direction, bytes, timestamp_ns, events);
            self.sides[direction as usize].unmapped.extend_from_slice(&bytes[bytes.len() - rest..]);
        } else {
            side.unmapped.extend_from_slice(bytes);
            let waiting = std::mem::take(&mut side.unmapped);
            let rest = self.place(direction, &waiting, timestamp_ns, events);
            self.sides[direction as usize].unmapped = waiting[waiting.len() - rest..].to_vec();
        }
        if self.sides[direction as usize].unmapped.len() > UNMAPPED_MAX {
            self.leave_out(direction);
        }
    }

    /// Accepts that bytes which continue the subflow are missing.
    pub(crate) fn miss(
        &mut self,
        direction: Direction,
        bytes: u64,
        cause: GapCause,
        timestamp_ns: u64,
        events: &mut Vec<Event>,
    ) {
        self.leave_out(direction);
        let side = &mut self.sides[direction as usize];
        side.missing_bytes += bytes;
        if cause.is_of_packets() {
            side.stated_missing_bytes += bytes;
        }
        let until = side.next + bytes;
        loop {
            let side = &mut self.sides[direction as usize];
            let (data, end) = side.mapped(until);
            let bytes = end - std::mem::replace(&mut side.next, end);
            side.forget_passed();
            // Of a hole the connection knows as much, and another subflow may fill it.
            let is_hole = matches!(cause, GapCause::NotCaptured | GapCause::LostByCapture);
            if let Some(at) = data.filter(|_| !is_hole) {
                events.push(self.event(direction, timestamp_ns, EventKind::Missing { at, bytes, cause }));
            }
            if end >= until {
                break;
            }
        }
    }

    /// Leaves out what waits for a mapping: there will be none.
    pub(crate) fn leave_out(&mut self, direction: Direction) {
        let side = &mut self.sides[direction as usize];
        side.next += std::mem::take(&mut side.unmapped).len() as u64;
    }

    /// Sends bytes on from the next offset, as far as mappings say where they belong. Bytes without one are left out if any with
    /// one follow. Returns how many are left.
    fn place(&mut self, direction: Direction, bytes: &[u8], timestamp_ns: u64, events: &mut Vec<Event>) -> usize {
        let mut bytes = bytes;
        while !bytes.is_empty() {
            let side = &mut self.sides[direction as usize];
            let (data, end) = side.mapped(side.next + bytes.len() as u64);
            let (piece, rest) = bytes.split_at(((end - side.next) as usize).min(bytes.len()));
            match data {
                Some(at) => {
                    let kind = EventKind::Bytes { at, bytes: piece.to_vec() };
                    events.push(self.event(direction, timestamp_ns, kind));
                }
                None if rest.is_empty() => break,
                None => {}
            }
            let side = &mut self.sides[direction as usize];
            side.next = end;
            side.forget_passed();
            bytes = rest;
        }
        bytes.len()
    }
}

impl Side {
    /// The data sequence number of the next byte, if a mapping has it; and how far that, or its absence, reaches.
    fn mapped(&self, until: u64) -> (Option<DataSequence>, u64) {
        match self.mappings.iter().find(|range| range.end > self.next) {
            Some(range) if range.start <= self.next => {
                (Some(range.data.plus(self.next - range.start)), range.end.min(until))
            }
            Some(range) => (None, range.start.min(until)),
            None => (None, until),
        }
    }

    /// Forgets what is mapped before an offset.
    fn clear(&mut self, end: u64) {
        self.mappings.retain(|range| range.end > end);
        if let Some(range) = self.mappings.front_mut() {
            range.clip(end);
        }
    }

    fn forget_passed(&mut self) {
        while self.mappings.front().is_some_and(|range| range.end <= self.next) {
            self.mappings.pop_front();
        }
    }

    /// Adds the parts of a range that no other one has.
    fn insert(&mut self, range: Range) {
        let mut rest = range;
        rest.clip(self.next);
        let mut at = self.mappings.partition_point(|known| known.end <= rest.start);
        while rest.start < rest.end && self.mappings.len() < MAPPINGS_MAX {
            let known = self.mappings.get(at).copied();
            if let Some(known) = known.filter(|known| known.start <= rest.start) {
                rest.clip(known.end);
                at += 1;
                continue;
            }
            let end = known.map_or(rest.end, |known| known.start.min(rest.end));
            match at
                .checked_sub(1)
                .and_then(|before| self.mappings.get_mut(before))
                .filter(|one| one.continues_as(&rest))
            {
                Some(before) => before.end = end,
                None => {
                    self.mappings.insert(at, Range { end, ..rest });
                    at += 1;
                }
            }
            rest.clip(end);
        }
    }
}

impl Range {
    fn continues_as(&self, next: &Self) -> bool {
        self.end == next.start && self.data.plus(self.end - self.start) == next.data
    }

    /// Drops what lies before an offset.
    fn clip(&mut self, start: u64) {
        if start > self.start {
            self.data = self.data.plus(start - self.start);
            self.start = start.min(self.end);
        }
    }
}
