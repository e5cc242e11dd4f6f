//! Where a recording is: written by its threads, read by who shows it.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use serde::{Deserialize, Serialize};

use crate::{PRIORITIES_MAX, Totals};

/// The state of a worker's recording.
#[derive(Debug, Default)]
pub struct Status {
    totals: Mutex<Totals>,
    /// Packets that were taken and could not be written, by priority.
    lost: Mutex<[(u64, u64); PRIORITIES_MAX]>,
    stored_bytes: AtomicU64,
    segments: AtomicU64,
    completed_packets: AtomicU64,
    /// Packets of buffers that were written or lost.
    handled_packets: AtomicU64,
    removed: AtomicU64,
    dropped: AtomicU64,
    level_permille: AtomicU64,
    flows: AtomicU64,
    waiting: Mutex<Option<Waiting>>,
    is_failed: AtomicBool,
}

/// Packets that wait in memory for a trigger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Bytes of memory that packets take which wait; at the end of a recording, those that waited then.
    pub bytes: u64,
    /// Time between the oldest and the newest of them.
    pub span_ns: u64,
    /// Triggers so far.
    pub triggers: u64,
}

impl Waiting {
    fn add(&mut self, other: &Self) {
        self.bytes += other.bytes;
        self.span_ns = self.span_ns.max(other.span_ns);
        self.triggers += other.triggers;
    }
}

/// Figures at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Packets by fate and priority.
    #[serde(rename = "priorities")]
    pub totals: Totals,
    /// Bytes that were written to files, after compression and encryption.
    pub stored_bytes: u64,
    /// Segments that were completed.
    pub segments: u64,
    /// Packets in these; others that were written are in segments that the next recorder completes.
    pub completed_packets: u64,
    /// Of the written ones, packets in buffers that no file has yet.
    #[serde(default)]
    pub buffered_packets: u64,
    /// Segments that were removed to keep within bounds.
    pub removed: u64,
    /// Packets that the kernel dropped before the recorder got them.
    pub dropped: u64,
    /// The share of buffers in use, in thousandths.
    pub level_permille: u64,
    /// Flows that are remembered.
    pub flows: u64,
    /// Packets that wait for a trigger; `None`: packets are recorded at once.
    pub waiting: Option<Waiting>,
}

impl Snapshot {
    /// Adds those of another worker.
    pub fn add(&mut self, other: &Self) {
        self.totals.add(&other.totals);
        self.stored_bytes += other.stored_bytes;
        self.segments += other.segments;
        self.completed_packets += other.completed_packets;
        self.buffered_packets += other.buffered_packets;
        self.removed += other.removed;
        self.dropped += other.dropped;
        self.level_permille = self.level_permille.max(other.level_permille);
        self.flows += other.flows;
        if let Some(waiting) = &other.waiting {
            self.waiting.get_or_insert_default().add(waiting);
        }
    }
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Status {
    /// The figures now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let read = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let handled_packets = read(&self.handled_packets);
        let mut totals = held(&self.totals).clone();
        let buffered_packets = totals.all().written_packets.saturating_sub(handled_packets);
        totals.lose(&held(&self.lost));
        Snapshot {
            totals,
            stored_bytes: read(&self.stored_bytes),
            segments: read(&self.segments),
            completed_packets: read(&self.completed_packets),
            buffered_packets,
            removed: read(&self.removed),
            dropped: read(&self.dropped),
            level_permille: read(&self.level_permille),
            flows: read(&self.flows),
            waiting: *held(&self.waiting),
        }
    }

    /// Whether the recording cannot go on.
    #[must_use]
    pub fn is_failed(&self) -> bool {
        self.is_failed.load(Ordering::Relaxed)
    }

    pub(crate) fn fail(&self) {
        self.is_failed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn publish(&self, totals: &Totals, flows: u64, dropped: u64, level_permille: u32) {
        held(&self.totals).clone_from(totals);
        self.flows.store(flows, Ordering::Relaxed);
        self.dropped.store(dropped, Ordering::Relaxed);
        self.level_permille.store(level_permille.into(), Ordering::Relaxed);
    }

    pub(crate) fn publish_waiting(&self, waiting: Waiting) {
        *held(&self.waiting) = Some(waiting);
    }

    pub(crate) fn lose(&self, packets: &[(u64, u64); PRIORITIES_MAX]) {
        for (sum, lost) in held(&self.lost).iter_mut().zip(packets) {
            sum.0 += lost.0;
            sum.1 += lost.1;
        }
    }

    /// Counts the packets of a buffer that was written, or lost.
    pub(crate) fn handle(&self, packets: &[(u64, u64); PRIORITIES_MAX]) {
        let count = packets.iter().map(|(packets, _)| packets).sum();
        self.handled_packets.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn store(&self, bytes: u64) {
        self.stored_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn complete(&self, packets: u64) {
        self.segments.fetch_add(1, Ordering::Relaxed);
        self.completed_packets.fetch_add(packets, Ordering::Relaxed);
    }

    pub(crate) fn remove(&self, segments: u64) {
        self.removed.fetch_add(segments, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_in_buffers_are_in_no_file_yet() {
        let (status, mut totals) = (Status::default(), Totals::default());
        let packets = |count| [(count, 100 * count); PRIORITIES_MAX];
        totals.write(&packets(5));
        status.publish(&totals, 0, 0, 0);
        assert_eq!(status.snapshot().buffered_packets, 5 * PRIORITIES_MAX as u64);
        // One buffer is written, the other one lost.
        status.handle(&packets(3));
        assert_eq!(status.snapshot().buffered_packets, 2 * PRIORITIES_MAX as u64);
        status.handle(&packets(2));
        status.lose(&packets(2));
        let snapshot = status.snapshot();
        assert_eq!((snapshot.buffered_packets, snapshot.totals.all().written_packets), (0, 24));
    }
}
