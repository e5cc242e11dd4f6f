//! Builds the index of a segment. While packets are written, little is done for each; extents are made when it is encoded.

use super::{
    encode::{self, Sections},
    placed::{Jump, Mark, Placed},
    record::{Amount, FlowRecord},
};
use crate::settings::IndexSettings;

/// Packets of a segment at most: 8 bytes of memory each.
const PACKETS_MAX: usize = 4 << 20;
/// Numbers of flows are less than this, whatever a caller does: 4 bytes of memory each, when an index is encoded.
const FLOWS_MAX: u32 = (1 << 24) - 1;
/// Bytes of a segment between two marks of its times.
pub(crate) const MARK_BYTES: u64 = 1 << 20;

/// Fields of a record that change with each packet: one line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Counts {
    first_ns: u64,
    last_ns: u64,
    written: [Amount; 2],
    tcp_flags: [u8; 2],
}

impl Counts {
    fn of(record: &FlowRecord) -> Self {
        let FlowRecord { first_ns, last_ns, written, tcp_flags, .. } = *record;
        Self { first_ns, last_ns, written, tcp_flags }
    }

    fn in_record(self, record: FlowRecord) -> FlowRecord {
        let Self { first_ns, last_ns, written, tcp_flags } = self;
        FlowRecord { first_ns, last_ns, written, tcp_flags, ..record }
    }
}

/// The index of a segment that is being written. Its memory is bounded by [`is_full`](Self::is_full).
#[derive(Clone, Debug)]
pub struct IndexBuilder {
    settings: IndexSettings,
    packets: Vec<Placed>,
    jumps: Vec<Jump>,
    marks: Vec<Mark>,
    /// By number; what `counts` has is not up to date in them.
    records: Vec<FlowRecord>,
    counts: Vec<Counts>,
    /// Where the next packet lies, if nothing is before it.
    next: u64,
    /// Where the next mark is due.
    mark_at: u64,
    mark: Mark,
}

impl IndexBuilder {
    /// An empty index.
    #[must_use]
    pub fn new(settings: &IndexSettings) -> Self {
        Self {
            settings: *settings,
            packets: Vec::new(),
            jumps: Vec::new(),
            marks: Vec::new(),
            records: Vec::new(),
            counts: Vec::new(),
            next: u64::MAX,
            mark_at: 0,
            mark: Mark { first_ns: u64::MAX, ..Mark::NONE },
        }
    }

    /// Notes a packet. `flow`: the number of its record in this segment, from 0 and dense; `offset` and `block_bytes`: where its
    /// block lies in the segment's plain bytes. Offsets only grow.
    #[inline]
    pub fn packet(&mut self, flow: u32, offset: u64, block_bytes: u32, timestamp_ns: u64) {
        let flow = flow.min(FLOWS_MAX);
        if offset != self.next {
            self.jumps.push(Jump { packet: self.packets.len(), offset });
        }
        if offset >= self.mark_at {
            self.begin_mark(offset);
        }
        self.mark.first_ns = self.mark.first_ns.min(timestamp_ns);
        self.mark.last_ns = self.mark.last_ns.max(timestamp_ns);
        self.next = offset + u64::from(block_bytes);
        self.packets.push(Placed { flow, block_bytes });
    }

    #[cold]
    fn begin_mark(&mut self, offset: u64) {
        if !self.packets.is_empty() {
            self.marks.push(self.mark);
        }
        self.mark = Mark { offset, first: self.packets.len() as u64, first_ns: u64::MAX, last_ns: 0 };
        self.mark_at = offset + MARK_BYTES;
    }

    /// Sets the record of a number, in place of an earlier one.
    pub fn flow(&mut self, flow: u32, record: FlowRecord) {
        let index = flow as usize;
        if index >= self.records.len() {
            // Numbers are dense: a caller that breaks this cannot take all of memory.
            let most = (self.packets.len() + self.records.len() + 1).next_power_of_two();
            if index > most.max(1024) {
                return;
            }
            self.records.resize(index + 1, FlowRecord::NONE);
            self.counts.resize(index + 1, Counts::of(&FlowRecord::NONE));
        }
        if let (Some(place), Some(counts)) = (self.records.get_mut(index), self.counts.get_mut(index)) {
            *place = record;
            *counts = Counts::of(&record);
        }
    }

    /// Renumbers a packet, counted from 0: its record was found later.
    pub(crate) fn renumber(&mut self, packet: usize, flow: u32) {
        if let Some(placed) = self.packets.get_mut(packet) {
            placed.flow = flow.min(FLOWS_MAX);
        }
    }

    /// Moves a packet, counted from 0, to another record: what it belongs to was found out later. `bytes`: captured ones.
    pub fn attribute(
        &mut self,
        packet: usize,
        flow: u32,
        (from, to): (usize, usize),
        (bytes, timestamp_ns): (u64, u64),
    ) {
        let Some(before) = self.packets.get(packet).map(|placed| placed.flow) else { return };
        if let Some(written) = self.counts.get_mut(before as usize).and_then(|counts| counts.written.get_mut(from)) {
            written.packets = written.packets.saturating_sub(1);
            written.bytes = written.bytes.saturating_sub(bytes);
        }
        self.renumber(packet, flow);
        self.count(flow, to, (bytes, timestamp_ns), 0);
    }

    /// Counts a packet that was written in a record, which is made if there is none. `direction`: 0 or 1; `bytes`: captured ones;
    /// `tcp_flags`: are added to those of the direction.
    #[inline]
    pub fn count(&mut self, flow: u32, direction: usize, (bytes, timestamp_ns): (u64, u64), tcp_flags: u8) {
        if flow as usize >= self.counts.len() {
            self.flow(flow, FlowRecord::NONE);
        }
        let Some(counts) = self.counts.get_mut(flow as usize) else { return };
        counts.first_ns = counts.first_ns.min(timestamp_ns);
        counts.last_ns = counts.last_ns.max(timestamp_ns);
        if let (Some(written), Some(all)) = (counts.written.get_mut(direction), counts.tcp_flags.get_mut(direction)) {
            written.packets += 1;
            written.bytes += bytes;
            *all |= tcp_flags;
        }
    }

    /// Notes that a packet of a record was there at this time, and was not written.
    pub fn see(&mut self, flow: u32, timestamp_ns: u64) {
        if let Some(counts) = self.counts.get_mut(flow as usize) {
            counts.first_ns = counts.first_ns.min(timestamp_ns);
            counts.last_ns = counts.last_ns.max(timestamp_ns);
        }
    }

    /// Sets the TCP flags of a record.
    pub(crate) fn set_tcp_flags(&mut self, flow: u32, tcp_flags: [u8; 2]) {
        if let Some(counts) = self.counts.get_mut(flow as usize) {
            counts.tcp_flags = tcp_flags;
        }
    }

    /// Fetches what [`count`](Self::count) will change.
    #[inline]
    pub fn prefetch(&self, flow: u32) {
        if let Some(counts) = self.counts.get(flow as usize) {
            tidewire::prefetch::prefetch(counts);
        }
    }

    /// The record of a number, to be changed; made if there is none. Its times, TCP flags and what was written are set by
    /// [`count`](Self::count).
    pub fn record(&mut self, flow: u32) -> Option<&mut FlowRecord> {
        if flow as usize >= self.records.len() {
            self.flow(flow, FlowRecord::NONE);
        }
        self.records.get_mut(flow as usize)
    }

    /// Packets so far.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Whether a bound is reached: the segment is to be completed.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.packets.len() >= PACKETS_MAX || self.records.len() >= self.settings.flows_max as usize
    }

    /// Bytes of memory that it holds on to.
    #[must_use]
    pub fn allocated_bytes(&self) -> usize {
        self.packets.capacity() * size_of::<Placed>()
            + self.records.capacity() * size_of::<FlowRecord>()
            + self.counts.capacity() * size_of::<Counts>()
            + self.marks.capacity() * size_of::<Mark>()
            + self.jumps.capacity() * size_of::<Jump>()
    }

    /// Encodes what is known: all at the end of a segment, or so far. Takes some 100 ms for a full segment: call it where no packet
    /// waits.
    #[must_use]
    pub fn encode(&self) -> Sections {
        let mut marks = self.marks.clone();
        if !self.packets.is_empty() {
            marks.push(self.mark);
        }
        let counted = self.records.iter().zip(&self.counts).map(|(record, counts)| counts.in_record(*record));
        let records: Vec<FlowRecord> = counted.collect();
        encode::encode(&self.packets, &self.jumps, &marks, &records, self.settings.extent_gap_bytes)
    }
}
