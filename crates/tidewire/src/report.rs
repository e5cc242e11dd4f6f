//! The place of every packet of a live capture, from the interface to the handler.

use std::time::{Duration, Instant};

use tidewire_core::Ledger;
use tidewire_live::{InterfaceCounts, InterfaceReport, RingCounts};

/// The place of every packet, from the interface to the handler: a snapshot of a running capture, or the final state.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LiveReport {
    /// Since the capture was opened.
    pub elapsed: Duration,
    /// By interface, in the order given.
    pub interfaces: Vec<InterfaceReport>,
    /// By worker. Each is as of the worker's last report, at most a fifth of a second old unless a batch takes longer.
    pub workers: Vec<WorkerReport>,
}

impl LiveReport {
    /// A report of these interfaces and workers: for tests of what reads reports.
    #[must_use]
    pub const fn new(elapsed: Duration, interfaces: Vec<InterfaceReport>, workers: Vec<WorkerReport>) -> Self {
        Self { elapsed, interfaces, workers }
    }
}

/// One worker's part.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WorkerReport {
    /// The CPU that it is bound to.
    pub cpu: Option<usize>,
    /// Counts of the kernel for its rings.
    pub rings: RingCounts,
    /// Frames taken out of the rings.
    pub frames: u64,
    /// Of these, handed over after one with a later timestamp.
    pub late: u64,
    /// How full its fullest ring is, in thousandths.
    pub ring_level_permille: u32,
    /// Bytes that its engine holds back.
    pub buffered_bytes: u64,
    /// Bytes that its engine may hold back.
    pub memory_bytes: u64,
    /// Where its packets went.
    pub ledger: Ledger,
    /// When the worker reported; `None` before its first report.
    pub at: Option<Instant>,
    /// Whether this is final.
    pub ended: bool,
}

/// Packets lost before they could be read, of all interfaces and workers: by place, starting at the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostPackets {
    /// The card had no room for them.
    pub missed_by_card: u64,
    /// They arrived damaged.
    pub damaged: u64,
    /// The driver or the kernel dropped them before any reader; some drivers count here what an XDP program drops.
    pub dropped_by_interface: u64,
    /// The program in the kernel found no socket for their queue.
    pub without_socket: u64,
    /// They found no room in a ring.
    pub without_room_in_ring: u64,
    /// They could not be put into a ring for another reason: no free buffer, or too long.
    pub failed_before_ring: u64,
}

impl LostPackets {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        let Self {
            missed_by_card,
            damaged,
            dropped_by_interface,
            without_socket,
            without_room_in_ring,
            failed_before_ring,
        } = *self;
        let before_rings = missed_by_card + damaged + dropped_by_interface + without_socket;
        before_rings + without_room_in_ring + failed_before_ring
    }
}

impl LiveReport {
    /// All workers' ledgers together.
    #[must_use]
    pub fn ledger(&self) -> Ledger {
        let mut sum = Ledger::default();
        self.workers.iter().for_each(|worker| sum.add(&worker.ledger));
        sum
    }

    /// Packets lost before they could be read, by place.
    #[must_use]
    pub fn lost(&self) -> LostPackets {
        let of_interfaces = |count: fn(&InterfaceCounts) -> u64| {
            self.interfaces.iter().filter_map(|interface| interface.counts.as_ref()).map(count).sum()
        };
        let rings = self.rings();
        LostPackets {
            missed_by_card: of_interfaces(|counts| counts.rx_missed),
            damaged: of_interfaces(|counts| counts.rx_errors),
            dropped_by_interface: of_interfaces(|counts| counts.rx_dropped),
            without_socket: self.interfaces.iter().filter_map(|one| one.kernel).map(|kernel| kernel.absent).sum(),
            without_room_in_ring: rings.dropped,
            failed_before_ring: rings.failed,
        }
    }

    /// Packets lost before they could be read.
    #[must_use]
    pub fn lost_packets(&self) -> u64 {
        self.lost().total()
    }

    /// All workers' rings together.
    #[must_use]
    pub fn rings(&self) -> RingCounts {
        let mut sum = RingCounts::default();
        self.workers.iter().for_each(|worker| sum.add(&worker.rings));
        sum
    }

    /// Packets counted and dropped in the kernel that no stream accounts for: under overload all packets of a stream may be
    /// shed, and packets after the end of a stream belong to none. `ledger` is that of all workers.
    /// Exact once the capture has ended; before, streams have not yet taken over their counts.
    #[must_use]
    pub fn unattributed_packets(&self, ledger: &Ledger) -> u64 {
        let kernels = self.interfaces.iter().filter_map(|interface| interface.kernel.as_ref());
        let counted: u64 = kernels.map(|kernel| kernel.cut + kernel.shed.iter().sum::<u64>()).sum();
        counted.saturating_sub(ledger.shunted_packets)
    }

    /// Frames taken out of the rings.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.workers.iter().map(|worker| worker.frames).sum()
    }
}
