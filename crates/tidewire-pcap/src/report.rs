//! Publishes the counts of a handle in this instance's slot of the shared counters.

use std::{
    process,
    time::{Duration, Instant},
};

use tidewire_live::sys::shared_counters::{Count, SharedCounters, Slot};

use tidewire_pcap_config::Instance;

/// Time between two reports while packets arrive: a program may be killed at any time, and a report costs a system call.
pub const PERIOD: Duration = Duration::from_millis(1);

/// Time between two queries of the devices, which cost more.
const DEVICES_PERIOD: Duration = Duration::from_millis(200);

/// The slot, and the counts of this handle that it already has.
pub struct Report {
    board: SharedCounters,
    slot: usize,
    published: Counts,
    at: Instant,
    /// When the devices were queried last.
    devices_at: Instant,
    /// The process that read last: a daemon is not the process that opened the handle.
    reader: u32,
}

/// Counts of a handle since its activation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that passed the filter, including those dropped because the ring was full.
    pub received: u64,
    /// Packets dropped because the ring was full.
    pub dropped: u64,
    /// Packets that the devices dropped for lack of room.
    pub dropped_by_interface: u64,
    /// Packets that a steering program dropped; not included in the others.
    pub steered_out: u64,
    /// Packets delivered to the program.
    pub delivered: u64,
}

impl Report {
    /// Opens the report of a new handle; `None` if nothing is published, or the shared counters are gone.
    pub fn open(instance: Option<&Instance>) -> Option<Self> {
        let instance = instance?;
        let board = SharedCounters::open(instance.counters.as_ref()?).ok()?;
        let (slot, published) = (usize::try_from(instance.number).ok()?, Counts::default());
        let now = Instant::now();
        let report = Self { board, slot, published, at: now, devices_at: now, reader: 0 };
        let slot = report.board.slot(report.slot)?;
        slot.add(Count::Handles, 1);
        slot.store(Count::Process, process::id().into());
        note_time(&slot);
        Some(report)
    }

    /// Stores the error message of a handle.
    pub fn fail(instance: Option<&Instance>, message: &str) {
        let Some(instance) = instance else { return };
        let Some(board) = instance.counters.as_ref().and_then(|path| SharedCounters::open(path).ok()) else { return };
        if let Some(slot) = usize::try_from(instance.number).ok().and_then(|number| board.slot(number)) {
            slot.set_text(message);
            note_time(&slot);
        }
    }

    /// Whether a report is due.
    pub fn is_due(&self) -> bool {
        self.at.elapsed() >= PERIOD
    }

    /// Whether a query of the devices is due; resets the timer.
    pub fn asks_devices(&mut self) -> bool {
        let is_due = self.devices_at.elapsed() >= DEVICES_PERIOD;
        if is_due {
            self.devices_at = Instant::now();
        }
        is_due
    }

    /// Whether this number of delivered packets was published.
    pub fn has_published(&self, delivered: u64) -> bool {
        delivered == self.published.delivered
    }

    /// Notes that the calling process reads.
    pub fn note_reader(&mut self) {
        self.reader = process::id();
    }

    /// The process that read last; 0: none.
    pub fn reader(&self) -> u32 {
        self.reader
    }

    /// Publishes counts.
    pub fn publish(&mut self, counts: Counts) {
        self.at = Instant::now();
        let Some(slot) = self.board.slot(self.slot) else { return };
        let published = self.published;
        for (count, is, was) in [
            (Count::Received, counts.received, published.received),
            (Count::Dropped, counts.dropped, published.dropped),
            (Count::InterfaceDropped, counts.dropped_by_interface, published.dropped_by_interface),
            (Count::SteeredOut, counts.steered_out, published.steered_out),
            (Count::Delivered, counts.delivered, published.delivered),
        ] {
            // Several handles of a process share the slot.
            slot.add(count, is.saturating_sub(was));
        }
        if self.reader != 0 {
            slot.store(Count::Process, self.reader.into());
        }
        note_time(&slot);
        self.published = counts;
    }
}

fn note_time(slot: &Slot<'_>) {
    slot.store(Count::UpdatedNs, tidewire_live::sys::wait::now_ns());
}
