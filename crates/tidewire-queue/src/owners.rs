//! State that the publisher keeps for each stream.

use super::{
    layout::Record,
    members::{Table, generation},
    records::{Direction, GAP_SHED, Gap, RecordType, flags},
};

/// State of each stream at its publisher: which members of groups it belongs to, when its OPEN was published, how far each
/// direction came, and what was shed of it. Begin with the default, one for each stream and queue.
#[derive(Clone, Debug, Default)]
pub struct Owners {
    /// The members, a bit for each place.
    mask: u32,
    is_open_published: bool,
    /// The change of the table under which the members were chosen; 0: never.
    at: u64,
    /// The change under which the OPEN was published last; 0: never.
    opened_at: u64,
    /// Offset of the next byte of each direction.
    next: [u64; 2],
    /// Shed bytes that were not yet published as a gap.
    shed: Option<Box<[Shed; 2]>>,
}

/// Bytes of a direction that were shed.
#[derive(Clone, Copy, Debug, Default)]
struct Shed {
    offset: u64,
    bytes: u64,
    time_ns: u64,
}

impl Owners {
    /// Offset of the next byte of each direction, shed ones included: what [`Open`](crate::records::Open) and
    /// [`Close`](crate::records::Close) state.
    #[must_use]
    pub fn next_offset(&self) -> [u64; 2] {
        self.next
    }

    /// The change under which members were chosen.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Chooses members by this table. Returns whether the OPEN must be published (again), and notes that it was.
    pub(crate) fn update(&mut self, table: &Table, turn: &mut u32) -> bool {
        let (mask, is_new) = table.owners(self.mask, self.at, turn);
        (self.mask, self.at) = (mask, table.change);
        let needs_open = is_new || self.opened_at == 0 || self.opened_at < table.opens_at;
        if needs_open {
            self.opened_at = table.change;
        }
        needs_open
    }

    /// The record as this stream's: with its owners, an OPEN marked where it is repeated, and bytes that were published before left
    /// out where those were shed. Returns how many bytes of the payload are left out.
    pub(crate) fn complete(&mut self, record: &mut Record) -> usize {
        record.owners = match self.at {
            0 => 0,
            at => u64::from(self.mask) | u64::from(generation(at)) << 32,
        };
        if record.kind == RecordType::Open as u16 && std::mem::replace(&mut self.is_open_published, true) {
            record.flags |= flags::REPEATED;
        }
        if record.kind != RecordType::Data as u16 || self.pending(record.direction()).is_none() {
            return 0;
        }
        let left_out = std::mem::take(&mut record.detail);
        record.offset = record.offset.wrapping_add(left_out);
        usize::try_from(left_out).unwrap_or(usize::MAX)
    }

    /// Notes how far a record brings its direction. `bytes`: its payload.
    pub(crate) fn advance(&mut self, record: &Record, bytes: usize) {
        let bytes = match RecordType::from_number(record.kind) {
            Some(RecordType::Data) => bytes as u64,
            Some(RecordType::Gap) => record.detail,
            _ => return,
        };
        let next = &mut self.next[record.direction() as usize];
        *next = (*next).max(record.offset.saturating_add(bytes));
    }

    /// Notes that a DATA record was not published.
    pub(crate) fn shed(&mut self, record: &Record, bytes: usize) -> u64 {
        let fresh = (bytes as u64).saturating_sub(record.detail);
        let shed = &mut self.shed.get_or_insert_default()[record.direction() as usize];
        if shed.bytes == 0 {
            shed.offset = record.offset.wrapping_add(record.detail);
        }
        shed.bytes += fresh;
        shed.time_ns = record.time_ns;
        fresh
    }

    fn pending(&self, direction: Direction) -> Option<Shed> {
        self.shed.as_ref().map(|shed| shed[direction as usize]).filter(|shed| shed.bytes != 0)
    }

    /// Whether anything was shed and not yet published as a gap.
    pub(crate) fn has_shed(&self) -> bool {
        self.shed.is_some()
    }

    /// The gap that must be published before `record`, of what was shed; each call another one.
    pub(crate) fn gap_before(&mut self, record: &Record) -> Option<Record> {
        let direction = match RecordType::from_number(record.kind) {
            Some(RecordType::Data | RecordType::Gap) => Some(record.direction()),
            Some(RecordType::Packet | RecordType::Conflict) => return None,
            // A CLOSE, and an OPEN for readers that do not know the stream: all of it.
            _ => Direction::BOTH.into_iter().find(|direction| self.pending(*direction).is_some()),
        }?;
        let shed = self.pending(direction)?;
        let gap = Gap { direction, offset: shed.offset, bytes: shed.bytes, cause: GAP_SHED };
        let mut all = self.shed.take()?;
        all[direction as usize] = Shed::default();
        if all.iter().any(|shed| shed.bytes != 0) {
            self.shed = Some(all);
        }
        let mut gap = gap.record(record.stream, shed.time_ns);
        gap.flags |= flags::SHED_BY_QUEUE;
        gap.owners = record.owners;
        Some(gap)
    }
}
