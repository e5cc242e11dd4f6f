//! The bytes of a connection, put together from its subflows by data sequence numbers (RFC 8684 section 3.3).
//!
//! A byte that two subflows carried (section 3.3.6) counts once: the first that arrived. A hole waits for another subflow as one
//! of a subflow waits for its segment: until the receiver has acknowledged what lies behind it and enough has arrived there.

use super::options::DataSequence;
use crate::{
    Direction, GapCause, TcpPolicy,
    lost_ranges::LostRanges,
    queue::{Incoming, Piece, Queue},
};

/// How far bytes may lie ahead of the next expected one: the largest window (RFC 7323 section 2.3).
const AHEAD_MAX: u64 = 1 << 30;

/// How long a hole waits, and what may wait behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HoleLimits {
    pub segments: u32,
    pub bytes: u64,
    /// Whether a hole waits until it is acknowledged, whatever arrives behind it.
    pub needs_acknowledgment: bool,
    /// 0: no limit.
    pub timeout_ns: u64,
    pub buffer_bytes: u64,
    pub holes: u32,
}

/// Bytes or a gap that continue a direction.
#[derive(Debug)]
pub(crate) enum Output {
    Bytes(Piece),
    Gap { offset: u64, bytes: u64, cause: GapCause },
}

/// The times between which a hole opened.
type Opened = (u64, u64);

/// One direction of a connection. Offsets are those of its stream.
#[derive(Debug, Default)]
pub(crate) struct Side {
    /// Data sequence number of offset 0.
    first: u64,
    next: u64,
    queue: Queue,
    lost_ranges: LostRanges,
    /// Memory of `lost_ranges`.
    lost_bytes: u64,
    /// Offset behind the last byte, if it is known.
    end: Option<u64>,
    acknowledged: u64,
    missing_bytes: u64,
    /// Segments that arrived behind the first hole, and their bytes.
    waiting_segments: u32,
    waiting_bytes: u64,
    /// Clock at which the first hole opened, and of the last segment before it.
    hole_since_ns: u64,
    before_ns: u64,
    hole_after_ns: u64,
    /// Memory that was charged.
    pub charged_bytes: u64,
}

impl Side {
    fn new(first: u64) -> Self {
        Self { first, ..Self::default() }
    }

    /// Offset of the next byte: all before it were delivered, or are missing.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    pub(crate) fn missing_bytes(&self) -> u64 {
        self.missing_bytes
    }

    /// The times between which the first hole opened.
    pub(crate) fn opened_ns(&self) -> Opened {
        (self.hole_after_ns, self.hole_since_ns)
    }

    /// Memory beyond this.
    pub(crate) fn bytes(&mut self) -> u64 {
        if self.lost_ranges.is_empty() {
            (self.lost_ranges, self.lost_bytes) = (LostRanges::default(), 0);
        }
        self.queue.charged_bytes() + self.lost_bytes
    }

    /// The offset of a data sequence number; `None`: it is out of reach.
    fn offset_of(&self, number: DataSequence) -> Option<i64> {
        let next = self.first.wrapping_add(self.next);
        let distance = number.near(next).wrapping_sub(next) as i64;
        (distance.unsigned_abs() <= AHEAD_MAX).then(|| (self.next as i64).wrapping_add(distance))
    }

    /// Accepts bytes of a subflow. Calls `on_conflict` for bytes that differ from waiting ones.
    pub(crate) fn accept(
        &mut self,
        number: DataSequence,
        bytes: &[u8],
        clock_ns: u64,
        on_conflict: &mut dyn FnMut(u64, u64),
    ) {
        let Some(start) = self.offset_of(number) else { return };
        let end = (start + bytes.len() as i64).max(0) as u64;
        let end = self.end.map_or(end, |last| end.min(last));
        let from = start.max(self.next as i64);
        if (end as i64) <= from {
            return;
        }
        let bytes = &bytes[(from - start) as usize..(end as i64 - start) as usize];
        let from = from as u64;
        if from > self.next {
            if self.waiting_segments == 0 {
                (self.hole_since_ns, self.hole_after_ns) = (clock_ns, self.before_ns);
            }
            self.waiting_segments = self.waiting_segments.saturating_add(1);
            self.waiting_bytes += bytes.len() as u64;
        } else {
            self.before_ns = clock_ns;
        }
        let incoming = Incoming { start: from, bytes, length: bytes.len() as u64, ..Incoming::default() };
        self.queue.insert(TcpPolicy::Linux, self.next, &incoming, on_conflict);
        self.lost_ranges.forget(from, end, &mut self.lost_bytes);
    }

    /// Notes bytes that are missing, unless another subflow has them.
    pub(crate) fn miss(&mut self, number: DataSequence, bytes: u64, cause: GapCause) {
        let Some(start) = self.offset_of(number) else { return };
        let end = start.saturating_add_unsigned(bytes.min(AHEAD_MAX));
        let (start, end) = (start.max(self.next as i64) as u64, end.max(0) as u64);
        if start < end {
            self.lost_ranges.note(start, end, cause, &mut self.lost_bytes);
        }
    }

    /// Notes what the receiver has.
    pub(crate) fn acknowledge(&mut self, number: DataSequence) {
        if let Some(offset) = self.offset_of(number) {
            self.acknowledged = self.acknowledged.max(offset.max(0) as u64);
        }
    }

    /// Notes where the direction ends. The first statement counts.
    pub(crate) fn end_at(&mut self, number: DataSequence) {
        if let Some(offset) = self.offset_of(number).filter(|offset| *offset >= self.next as i64) {
            self.end.get_or_insert(offset as u64);
        }
    }

    /// Whether the direction's end was reached.
    pub(crate) fn has_ended(&self) -> bool {
        self.end == Some(self.next)
    }

    /// Bytes or a gap that continue the direction; `None`: nothing yet. `limits`: `None` where nothing more will arrive, for `cause`.
    /// `hole_cause` is that of holes of which no more is known.
    pub(crate) fn advance(
        &mut self,
        limits: Option<&HoleLimits>,
        hole_cause: GapCause,
        clock_ns: u64,
    ) -> Option<Output> {
        let end = self.end.unwrap_or(u64::MAX);
        if let Some(piece) = self.queue.take(self.next, end, u64::MAX) {
            self.next += piece.length;
            self.waiting_bytes = self.waiting_bytes.saturating_sub(piece.length);
            self.note_hole(clock_ns);
            return Some(Output::Bytes(piece));
        }
        if self.next >= end {
            // Bytes beyond the end are never delivered.
            self.queue.clear();
            self.lost_ranges.forget_before(u64::MAX);
            return None;
        }
        let first = self.queue.first_start().filter(|first| *first < end);
        let last = first.unwrap_or(end);
        let lost = self.lost_ranges.beyond(self.next).filter(|range| range.start <= self.next);
        if let Some(range) = lost {
            return Some(self.give_up(range.end.min(last), range.cause, clock_ns));
        }
        let until = match limits {
            Some(limits) => first.filter(|first| self.is_over(*first, limits, clock_ns))?,
            None => first.or_else(|| self.tail())?,
        };
        let (until, cause) = self.lost_ranges.cause_at(self.next, until, hole_cause);
        Some(self.give_up(until, cause, clock_ns))
    }

    /// Where bytes at the end that never arrived would have ended.
    fn tail(&self) -> Option<u64> {
        let lost = self.lost_ranges.end().unwrap_or(0);
        // One beyond may be the end, which occupies a number and was not captured.
        let acknowledged = if self.acknowledged > self.next + 1 { self.acknowledged } else { 0 };
        Some(self.end.unwrap_or(acknowledged.max(lost))).filter(|end| *end > self.next)
    }

    fn give_up(&mut self, until: u64, cause: GapCause, clock_ns: u64) -> Output {
        let (offset, bytes) = (self.next, until - self.next);
        self.next = until;
        self.missing_bytes += bytes;
        self.lost_ranges.forget_before(until);
        self.note_hole(clock_ns);
        Output::Gap { offset, bytes, cause }
    }

    /// Begins the wait for the next hole, after a step forward. It opened since the last one did.
    fn note_hole(&mut self, clock_ns: u64) {
        self.waiting_segments = u32::from(!self.queue.is_empty());
        if self.hole_since_ns != clock_ns {
            (self.hole_after_ns, self.hole_since_ns) = (self.hole_since_ns, clock_ns);
        }
        if self.queue.is_empty() {
            self.waiting_bytes = 0;
        }
    }

    /// Whether the hole before `first` waited long enough, or must not wait.
    fn is_over(&self, first: u64, limits: &HoleLimits, clock_ns: u64) -> bool {
        if self.queue.charged_bytes() > limits.buffer_bytes
            || self.queue.holes() > limits.holes
            || self.lost_ranges.is_full()
        {
            return true;
        }
        if limits.needs_acknowledgment && self.acknowledged < first {
            return false;
        }
        let waited_ns = clock_ns.saturating_sub(self.hole_since_ns);
        let is_late = limits.timeout_ns != 0 && waited_ns >= limits.timeout_ns;
        is_late || self.waiting_segments >= limits.segments && self.waiting_bytes >= limits.bytes
    }
}

/// A connection, as its first subflow has it.
#[derive(Debug)]
pub(crate) struct ConnectionStream {
    pub server_key: u64,
    /// Subflows so far, the first included.
    pub subflows: u32,
    /// Of these, those beside the first that have not ended.
    pub others: u32,
    pub sides: [Side; 2],
}

impl ConnectionStream {
    /// A connection of one subflow, with the data sequence numbers of the first byte of each direction.
    pub(crate) fn new(server_key: u64, first: [u64; 2]) -> Self {
        Self { server_key, subflows: 1, others: 0, sides: first.map(Side::new) }
    }

    pub(crate) fn side(&mut self, direction: Direction) -> &mut Side {
        &mut self.sides[direction as usize]
    }
}
