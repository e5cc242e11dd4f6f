use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of the programs, on all processors, since they were loaded.
///
/// `received` is the sum of [`filtered`](Self::filtered), [`cut`](Self::cut), [`shed`](Self::shed),
/// [`delivered`](Self::delivered), [`absent`](Self::absent) and [`unsteered`](Self::unsteered), always; while packets arrive,
/// a snapshot may be off by those in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelCounters {
    /// Packets seen.
    pub received: u64,
    /// Their bytes.
    pub received_bytes: u64,
    /// Final place: not wanted by the filter.
    pub filtered: u64,
    /// Their bytes.
    pub filtered_bytes: u64,
    /// Final place: counted for a direction that is cut off.
    pub cut: u64,
    /// Their bytes.
    pub cut_bytes: u64,
    /// Final place: shed under overload, by priority.
    pub shed: [u64; 8],
    /// Their bytes.
    pub shed_bytes: u64,
    /// Final place: to a ring, or on to the stack.
    pub delivered: u64,
    /// Final place: there was no socket for the queue.
    pub absent: u64,
    /// Final place: dropped by the steering program, or it had no socket.
    pub unsteered: u64,
    /// Of those not cut: no key could be made of them (not TCP, UDP or SCTP, a fragment, a tunnel, damaged).
    pub unparsed: u64,
    /// Of those not cut: SYN, FIN or RST.
    pub kept: u64,
    /// Of those not cut: no room for their direction's entry.
    pub map_full: u64,
    /// Entries that the programs made by themselves: IPv4, IPv6.
    pub made: [u64; 2],
}

impl KernelCounters {
    /// Of one processor, in the order of `struct counters`.
    pub(super) fn of(words: &[AtomicU64]) -> Self {
        let word = |at: usize| words.get(at).map_or(0, |word| word.load(Ordering::Relaxed));
        // Final places before `received`, which is counted first.
        let unsteered = word(11);
        Self {
            cut: word(2),
            cut_bytes: word(3),
            delivered: (word(4) + word(5)).saturating_sub(unsteered),
            made: [word(6).saturating_sub(word(14)), word(14)],
            map_full: word(7),
            filtered: word(8),
            filtered_bytes: word(9),
            absent: word(10),
            unsteered,
            unparsed: word(12),
            kept: word(13),
            shed_bytes: word(15),
            shed: std::array::from_fn(|priority| word(16 + priority)),
            received: word(0),
            received_bytes: word(1),
        }
    }

    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.received_bytes += other.received_bytes;
        self.filtered += other.filtered;
        self.filtered_bytes += other.filtered_bytes;
        self.cut += other.cut;
        self.cut_bytes += other.cut_bytes;
        self.shed.iter_mut().zip(other.shed).for_each(|(sum, shed)| *sum += shed);
        self.shed_bytes += other.shed_bytes;
        self.delivered += other.delivered;
        self.absent += other.absent;
        self.unsteered += other.unsteered;
        self.unparsed += other.unparsed;
        self.kept += other.kept;
        self.map_full += other.map_full;
        self.made.iter_mut().zip(other.made).for_each(|(sum, made)| *sum += made);
    }

    /// The sum of the final places.
    #[must_use]
    pub fn accounted(&self) -> u64 {
        self.filtered + self.cut + self.shed.iter().sum::<u64>() + self.delivered + self.absent + self.unsteered
    }
}
