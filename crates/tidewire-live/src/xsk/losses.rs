//! When a socket lost frames, by the kernel's counts: read beside its frames, so that holes of that time have this cause.

use tidewire_wire::{PacketLoss, Timestamp};

use crate::sys::xsk::Statistics;

/// Time between two readings of the counts where the ring has room, nanoseconds: 1,000 system calls a second at most.
const READ_NS: u64 = 1_000_000;
/// From this level on, in thousandths, the counts are read with each batch: the ring was or will soon be full.
const TIGHT_PERMILLE: u32 = 750;

/// Losses of a ring.
#[derive(Debug, Default)]
pub(super) struct Losses {
    /// Frames that were lost until the last reading.
    counted: u64,
    /// When the counts were read last, by the monotonic clock, and how many frames had been collected.
    read_ns: u64,
    read_at: u64,
    /// The time of the last frame then.
    read_frame_ns: u64,
    /// Of a lossy ring, the number of the last frame that was received before the loss.
    last_before: Option<u64>,
    /// Whether the driver writes into our memory; `None`: not yet known.
    pub is_zero_copy: Option<bool>,
    pending: Option<PacketLoss>,
}

impl Losses {
    /// Whether the counts are to be read with frames that were just collected, or behind the last ones.
    pub fn is_due(&self, level_permille: u32, monotonic_ns: u64) -> bool {
        level_permille >= TIGHT_PERMILLE || monotonic_ns.saturating_sub(self.read_ns) >= READ_NS
    }

    /// Whether frames were collected since the counts were read: so many were in all. What was lost before the last ones is not known yet.
    pub fn is_unread(&self, noted: u64) -> bool {
        self.read_at != noted
    }

    /// Notes what the kernel counted. `now`: of the last frame and by the monotonic clock. `noted` and `last`: the numbers of the last frame
    /// that was collected, and of the last one in the ring, which no loss comes before.
    pub fn add(&mut self, statistics: &Statistics, interface: u16, now: (u64, u64), (noted, last): (u64, u64)) {
        (self.read_ns, self.read_at) = (now.1, noted);
        let counted = lost(statistics, self.is_zero_copy.unwrap_or(false));
        let packets = counted.saturating_sub(self.counted);
        self.counted = counted;
        if packets > 0 {
            self.report(packets, interface, now.0);
            self.last_before = Some(last);
        }
        self.read_frame_ns = now.0;
    }

    /// Notes that frames up to this number were collected, the last of them with this time: a loss behind the last one that came before it
    /// is not earlier.
    pub fn pass(&mut self, number: u64, interface: u16, timestamp_ns: u64) {
        if self.last_before.is_some_and(|last| number >= last) {
            self.last_before = None;
            self.report(0, interface, timestamp_ns);
        }
    }

    fn report(&mut self, packets: u64, interface: u16, timestamp_ns: u64) {
        let since_ns = if self.read_frame_ns == 0 { timestamp_ns } else { self.read_frame_ns };
        let (since, timestamp) = (Timestamp::from_nanos(since_ns), Timestamp::from_nanos(timestamp_ns));
        let first = PacketLoss::between(interface, since, timestamp, 0);
        let loss = self.pending.get_or_insert(first);
        (loss.timestamp, loss.packets) = (timestamp, loss.packets + packets);
    }

    /// Losses since the last call.
    pub fn take(&mut self) -> Option<PacketLoss> {
        self.pending.take()
    }

    /// Another socket counts from 0.
    pub fn restart(&mut self) {
        (self.counted, self.is_zero_copy) = (0, None);
    }
}

/// Frames that a socket lost: no room in its ring (`rx_ring_full`), or no buffer for a copy (`rx_dropped`). Where the driver writes into our
/// memory, it drops frames itself for which it finds no buffer, and counts how often (`rx_fill_ring_empty_descs`); of copies that
/// count is one of all sockets on the queue, and each frame is in `rx_dropped` of its own.
fn lost(statistics: &Statistics, is_zero_copy: bool) -> u64 {
    let without_buffer = if is_zero_copy { statistics.fill_empty } else { 0 };
    statistics.ring_full.saturating_add(statistics.dropped).saturating_add(without_buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics(ring_full: u64, dropped: u64, fill_empty: u64) -> Statistics {
        Statistics { dropped, invalid: 9, ring_full, fill_empty }
    }

    #[test]
    fn each_kind_of_loss_counts_where_it_is_one_of_this_socket() {
        assert_eq!(lost(&statistics(1, 2, 0), false), 3);
        assert_eq!(lost(&statistics(1, 2, 4), false), 3, "copies that found no buffer are in the second");
        assert_eq!(lost(&statistics(1, 0, 4), true), 5, "a driver counts frames that it found no buffer for");
    }

    #[test]
    fn a_loss_is_reported_once_and_again_behind_the_frames_before_it() {
        let mut losses = Losses::default();
        losses.add(&statistics(0, 0, 0), 3, (100, 10), (0, 0));
        assert_eq!(losses.take(), None);
        losses.add(&statistics(5, 1, 0), 3, (200, 20), (40, 64));
        let loss = |(since_ns, timestamp_ns), packets| {
            Some(PacketLoss::between(3, Timestamp::from_nanos(since_ns), Timestamp::from_nanos(timestamp_ns), packets))
        };
        assert_eq!(losses.take(), loss((100, 200), 6));
        losses.pass(63, 3, 300);
        assert_eq!(losses.take(), None, "frames before the loss are still in the ring");
        losses.pass(64, 3, 400);
        assert_eq!(losses.take(), loss((200, 400), 0));
        losses.add(&statistics(5, 1, 0), 3, (500, 50), (70, 70));
        losses.pass(80, 3, 500);
        assert_eq!(losses.take(), None, "nothing else was lost");
        losses.restart();
        losses.add(&statistics(2, 0, 0), 3, (600, 60), (90, 90));
        assert_eq!(losses.take(), loss((500, 600), 2), "another socket counts from 0");
    }

    #[test]
    fn counts_are_read_now_and_then_and_always_of_a_ring_that_is_nearly_full() {
        let mut losses = Losses::default();
        losses.add(&statistics(0, 0, 0), 0, (0, 5 * READ_NS), (7, 7));
        assert!(!losses.is_due(100, 5 * READ_NS + READ_NS / 2) && losses.is_due(100, 6 * READ_NS));
        assert!(losses.is_due(TIGHT_PERMILLE, 5 * READ_NS));
        assert!(!losses.is_unread(7) && losses.is_unread(8), "the last frames are not forgotten");
    }
}
