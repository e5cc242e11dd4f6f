//! The publishing end of a queue.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering, fence},
    },
    time::Duration,
};

use crate::{
    bell::Bell,
    error::Error,
    hold::{Behind, Hold, HoldSettings, behind, fits, is_relieved, is_shed, nanoseconds, wait},
    layout::{Geometry, QueueEnd, Record},
    members::{Members, Table},
    memory::QueueMemory,
    owners::Owners,
    records::RecordType,
    ring::{Limits, Producer},
    sys::{memory_file, seal, wake as wake_all},
};

/// Whether a record was published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// It was.
    Yes,
    /// It was shed for the sake of a slow reader; a gap says so before the next record of its direction.
    Shed,
}

/// Counters of a publisher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PublisherCounts {
    /// Records published.
    pub records: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// Records shed for slow readers, or by [`Publisher::shed_stream`].
    pub shed_records: u64,
    /// Bytes of these that had not been published before.
    pub shed_bytes: u64,
    /// Of the shed ones, records that [`Publisher::shed_stream`] shed.
    pub overload_records: u64,
    /// Nanoseconds that it waited for slow readers.
    pub waited_ns: u64,
}

/// The publishing end. Dropped without [`finish`](Self::finish), it ends the queue as [`QueueEnd::Aborted`].
#[derive(Debug)]
pub struct Publisher {
    shared: Arc<Shared>,
    producer: Producer,
    counts: PublisherCounts,
    /// The readers, as far as the publisher has looked.
    table: Arc<Table>,
    /// For the next stream that needs a member of a group.
    turn: u32,
    /// Up to where it may write without looking at readers again; and under which change that was found.
    limits: (u64, Limits),
    is_shedding: bool,
    has_ended: bool,
}

/// A queue in the process that made it: for the publisher and for the thread that serves readers.
#[derive(Debug)]
struct Shared {
    memory: QueueMemory,
    file: OwnedFd,
    members: Members,
    hold: HoldSettings,
    bell: Bell,
    bytes: AtomicU64,
    shed_records: AtomicU64,
    overload_records: AtomicU64,
    shed_bytes: AtomicU64,
    waited_ns: AtomicU64,
}

/// A queue, for the thread that hands it to readers and wakes them (see [`Server`](crate::Server)).
#[derive(Clone, Debug)]
pub struct Offer {
    shared: Arc<Shared>,
}

impl Offer {
    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.shared.file.as_fd()
    }

    /// Records published so far.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.shared.memory.published()
    }

    /// Records published so far, and the position behind the last one's payload.
    pub(crate) fn end(&self) -> (u64, u64) {
        let words = self.shared.memory.words();
        loop {
            let published = self.published();
            let Some(last) = published.checked_sub(1) else { return (0, 0) };
            let record = words.load_slot(last);
            fence(Ordering::Acquire);
            // The slot is overwritten after a whole round only: a second look is one too many already.
            if record.sequence == last && self.published() - last <= self.shared.memory.geometry().slots() / 2 {
                return (published, record.position + record.payload_taken());
            }
        }
    }

    /// Counters of the publisher so far; from any thread, also while it publishes or waits.
    #[must_use]
    pub fn counts(&self) -> PublisherCounts {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        PublisherCounts {
            records: self.published(),
            bytes: load(&self.shared.bytes),
            shed_records: load(&self.shared.shed_records),
            overload_records: load(&self.shared.overload_records),
            shed_bytes: load(&self.shared.shed_bytes),
            waited_ns: load(&self.shared.waited_ns),
        }
    }

    /// A number that changes whenever a record is published and when the queue ends.
    pub(crate) fn state(&self) -> u64 {
        let published = self.published();
        if self.shared.memory.has_ended() { published | 1 << 63 } else { published }
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.shared.memory.epoch()
    }

    pub(crate) fn members(&self) -> &Members {
        &self.shared.members
    }

    pub(crate) fn bell(&self) -> &Bell {
        &self.shared.bell
    }

    pub(crate) fn hold(&self, hold: Option<Hold>) {
        self.shared.hold.set(hold);
    }

    /// The publisher waits for slow readers until so much time has passed, also where it waits already. Then it waits and sheds no
    /// more, and slow readers lose records: for the end of a run.
    pub fn end_hold(&self, within: Duration) {
        self.shared.hold.end(within);
    }

    /// Wakes every reader that waits on the futex. Not for a thread that captures: each sleeper costs it several microseconds.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn wake(&self) -> io::Result<usize> {
        let word = self.shared.memory.wake_word();
        word.fetch_add(1, Ordering::Release);
        wake_all(word)
    }
}

impl Publisher {
    /// Makes a queue. All of its memory ([`Geometry::file_bytes`]) is there when this returns. `epoch` is a random number, another
    /// one for each queue.
    ///
    /// # Errors
    /// [`Error::Memory`].
    pub fn new(geometry: Geometry, epoch: u64) -> Result<Self, Error> {
        let file = memory_file("tidewire-queue", geometry.file_bytes()).map_err(Error::memory("memory of a queue"))?;
        let memory = QueueMemory::create(&file, geometry, epoch)?;
        seal(&file).map_err(Error::memory("sealing a queue"))?;
        let shared = Shared {
            memory,
            file,
            members: Members::default(),
            hold: HoldSettings::default(),
            bell: Bell::default(),
            bytes: AtomicU64::new(0),
            shed_records: AtomicU64::new(0),
            overload_records: AtomicU64::new(0),
            shed_bytes: AtomicU64::new(0),
            waited_ns: AtomicU64::new(0),
        };
        Ok(Self {
            shared: Arc::new(shared),
            producer: Producer::default(),
            counts: PublisherCounts::default(),
            table: Arc::default(),
            turn: 0,
            limits: (0, Limits::NONE),
            is_shedding: false,
            has_ended: false,
        })
    }

    /// The file to hand to readers (`SCM_RIGHTS`). It cannot be mapped for writing again.
    #[must_use]
    pub fn file(&self) -> BorrowedFd<'_> {
        self.shared.file.as_fd()
    }

    /// The parts that a [`Server`](crate::Server) hands to readers, and wakes them by.
    #[must_use]
    pub fn offer(&self) -> Offer {
        Offer { shared: Arc::clone(&self.shared) }
    }

    /// The queue's sizes.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        self.shared.memory.geometry()
    }

    /// Records published so far.
    #[must_use]
    pub fn published(&self) -> u64 {
        self.producer.sequence()
    }

    /// Bytes of payload published so far, each payload rounded up to 8.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.producer.position()
    }

    /// Its counters so far.
    #[must_use]
    pub fn counts(&self) -> PublisherCounts {
        self.counts
    }

    /// Publishes a record with its payload for every reader; never waits. The record's `sequence`, `position` and `bytes` are set
    /// here.
    ///
    /// # Errors
    /// [`Error::TooLong`]; nothing was published then.
    #[inline]
    pub fn publish(&mut self, record: &Record, payload: &[u8]) -> Result<(), Error> {
        self.put(record, payload, Limits::NONE)
    }

    #[inline]
    fn put(&mut self, record: &Record, payload: &[u8], limits: Limits) -> Result<(), Error> {
        if self.producer.publish(&self.shared.memory.words(), record, payload, limits) {
            self.counts.records += 1;
            self.counts.bytes += payload.len() as u64;
            self.shared.bytes.store(self.counts.bytes, Ordering::Relaxed);
            self.shared.bell.ring();
            return Ok(());
        }
        Err(Error::TooLong { bytes: payload.len(), max: self.geometry().record_bytes_max() })
    }

    /// Chooses the members of groups that a stream belongs to, where they have changed. Returns whether its OPEN must be published
    /// (again) before its next record, because it never was, or readers came that do not have it. It counts as published then.
    ///
    /// Call it before each record of a stream.
    #[inline]
    pub fn needs_open(&mut self, owners: &mut Owners) -> bool {
        let change = self.shared.members.change();
        change != owners.at() && self.update(owners)
    }

    #[cold]
    fn update(&mut self, owners: &mut Owners) -> bool {
        self.look();
        owners.update(&self.table, &mut self.turn)
    }

    /// Takes the table of readers, if it has changed.
    fn look(&mut self) {
        if self.shared.members.change() != self.table.change
            && let Some(table) = self.shared.members.look()
        {
            self.table = table;
        }
    }

    /// Publishes a record of a stream to the readers it belongs to. Where the queue holds for slow readers, it waits for them as
    /// [`Hold`] says, and then sheds DATA and PACKET records by `priority` (0 to 7; 7 is never shed). Other records are always
    /// published. What was shed of a direction is published as a GAP before its next record.
    ///
    /// # Errors
    /// [`Error::TooLong`]; nothing was published then.
    #[inline]
    pub fn publish_stream(
        &mut self,
        owners: &mut Owners,
        priority: u8,
        record: &Record,
        payload: &[u8],
    ) -> Result<Published, Error> {
        let mut record = *record;
        let mut payload = payload;
        if owners.has_shed() || self.shared.hold.is_set() {
            match self.publish_gaps(owners, priority, &mut record, payload)? {
                Some(rest) => payload = rest,
                None => return Ok(Published::Shed),
            }
        } else {
            owners.complete(&mut record);
        }
        self.put(&record, payload, self.limits.1)?;
        owners.advance(&record, payload.len());
        Ok(Published::Yes)
    }

    /// Sheds a DATA or PACKET record of a stream instead of publishing it, because the producer itself has no time for it. The readers learn
    /// of it as of what is shed for slow readers.
    pub fn shed_stream(&mut self, owners: &mut Owners, record: &Record, payload: &[u8]) {
        self.counts.overload_records += 1;
        self.shared.overload_records.store(self.counts.overload_records, Ordering::Relaxed);
        self.shed(owners, record, payload);
    }

    /// Makes room for a record, and publishes what was shed before it. Returns what is left of its payload; `None`: it is shed.
    #[cold]
    fn publish_gaps<'a>(
        &mut self,
        owners: &mut Owners,
        priority: u8,
        record: &mut Record,
        payload: &'a [u8],
    ) -> Result<Option<&'a [u8]>, Error> {
        if payload.len() as u64 > self.geometry().record_bytes_max() {
            return Err(Error::TooLong { bytes: payload.len(), max: self.geometry().record_bytes_max() });
        }
        let is_sheddable = matches!(RecordType::from_number(record.kind), Some(RecordType::Data | RecordType::Packet));
        let slots = if owners.has_shed() { 3 } else { 1 };
        if !self.has_room(slots, payload.len() as u64, is_sheddable.then_some(priority)) {
            self.shed(owners, record, payload);
            return Ok(None);
        }
        let left_out = owners.complete(record);
        while let Some(gap) = owners.gap_before(record) {
            self.put(&gap, &[], self.limits.1)?;
        }
        Ok(Some(payload.get(left_out..).unwrap_or_default()))
    }

    fn shed(&mut self, owners: &mut Owners, record: &Record, payload: &[u8]) {
        owners.advance(record, payload.len());
        let bytes = if record.kind == RecordType::Data as u16 {
            owners.shed(record, payload.len())
        } else {
            payload.len() as u64
        };
        self.counts.shed_records += 1;
        self.counts.shed_bytes += bytes;
        self.shared.shed_records.store(self.counts.shed_records, Ordering::Relaxed);
        self.shared.shed_bytes.store(self.counts.shed_bytes, Ordering::Relaxed);
    }

    /// Whether a record may be published: at once, or after waiting, or because it is not to be shed.
    fn has_room(&mut self, slots: u64, bytes: u64, priority: Option<u8>) -> bool {
        let bytes = bytes.next_multiple_of(8);
        let (sequence, position) = (self.producer.sequence(), self.producer.position());
        let is_new = |limits: (u64, Limits)| limits.0 == self.shared.members.change();
        if !self.is_shedding && is_new(self.limits) && fits(self.limits.1, sequence, position, slots, bytes) {
            return true;
        }
        let mut behind = self.behind();
        if self.shared.hold.is_spent() {
            self.is_shedding = false;
            return true;
        }
        if self.is_shedding && is_relieved(behind.part) {
            self.is_shedding = false;
        }
        if !self.is_shedding && !fits(behind.limits, sequence, position, slots, bytes) {
            let shared = Arc::clone(&self.shared);
            let before = self.counts.waited_ns;
            let (waited, found) = wait(&shared.hold, |waited| {
                // Others see a wait that goes on.
                shared.waited_ns.store(before.saturating_add(nanoseconds(waited)), Ordering::Relaxed);
                behind = self.behind();
                fits(behind.limits, sequence, position, slots, bytes)
            });
            self.counts.waited_ns = before.saturating_add(nanoseconds(waited));
            shared.waited_ns.store(self.counts.waited_ns, Ordering::Relaxed);
            self.is_shedding = !found && !shared.hold.is_spent();
        }
        !(self.is_shedding && priority.is_some_and(|priority| is_shed(priority, behind.part)))
    }

    /// How far the slowest reader is behind, by the newest table; keeps the limits.
    fn behind(&mut self) -> Behind {
        self.look();
        let behind =
            behind(&self.table, &self.shared.memory.words(), self.producer.sequence(), self.producer.position());
        self.limits = (self.table.change, behind.limits);
        behind
    }

    /// Ends the queue: readers find this after the last record.
    pub fn finish(mut self) {
        self.end(QueueEnd::Finished);
    }

    fn end(&mut self, why: QueueEnd) {
        if !std::mem::replace(&mut self.has_ended, true) {
            self.producer.end(&self.shared.memory.words(), why);
            self.shared.bell.ring();
            let _ = self.offer().wake();
        }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.end(QueueEnd::Aborted);
    }
}
