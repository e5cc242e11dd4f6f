//! What a handle tells `tidewire run`: its counts, in this instance's slot of the board.

use std::{
    process,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use tidewire_live::sys::shared_counters::{Count, SharedCounters, Slot};

use tidewire_pcap_config::Instance;

/// Between two reports while packets come: a program may end without a word, and one costs a system call.
pub const PERIOD: Duration = Duration::from_millis(1);

/// Between two questions to the devices, which cost more.
const DEVICES_PERIOD: Duration = Duration::from_millis(200);

/// The slot, and what of this handle is in it already.
pub struct Report {
    board: SharedCounters,
    slot: usize,
    published: Counts,
    at: Instant,
    /// When the devices were asked last.
    devices_at: Instant,
    /// The process that read last: a daemon's is not the one that opened the handle.
    reader: u32,
}

/// What a handle counted since it was activated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that passed the filter, those that found no room included.
    pub received: u64,
    /// Packets that found no room.
    pub dropped: u64,
    /// Packets that the devices had no room for.
    pub dropped_by_interface: u64,
    /// Packets that a steering program dropped: none of the others.
    pub steered_out: u64,
    /// Packets handed to the program.
    pub delivered: u64,
}

impl Report {
    /// For a handle that was just activated; none where nobody wants to know, or the board is gone.
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

    /// Leaves word of what went wrong with a handle.
    pub fn fail(instance: Option<&Instance>, message: &str) {
        let Some(instance) = instance else { return };
        let Some(board) = instance.counters.as_ref().and_then(|path| SharedCounters::open(path).ok()) else { return };
        if let Some(slot) = usize::try_from(instance.number).ok().and_then(|number| board.slot(number)) {
            slot.set_text(message);
            note_time(&slot);
        }
    }

    /// Whether it is time to tell again.
    pub fn is_due(&self) -> bool {
        self.at.elapsed() >= PERIOD
    }

    /// Whether it is time to ask the devices again; they are then.
    pub fn asks_devices(&mut self) -> bool {
        let is_due = self.devices_at.elapsed() >= DEVICES_PERIOD;
        if is_due {
            self.devices_at = Instant::now();
        }
        is_due
    }

    /// Whether it was told that so many packets were delivered.
    pub fn has_published(&self, delivered: u64) -> bool {
        delivered == self.published.delivered
    }

    /// The calling process reads.
    pub fn note_reader(&mut self) {
        self.reader = process::id();
    }

    /// The process that read last; 0: none.
    pub fn reader(&self) -> u32 {
        self.reader
    }

    /// Tells.
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
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
    slot.store(Count::UpdatedNs, now);
}
