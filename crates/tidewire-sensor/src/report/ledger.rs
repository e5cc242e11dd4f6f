//! One ledger of a capture: its packets, counted once, and what each branch made of them.
//!
//! The trunk counts packets: received = delivered to streams + drops by reason. Branches get what the trunk delivers, each in a unit of its own:
//! offered = delivered + waiting + losses by reason. A recording is offered what the trunk received, but for `filtered`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidewire::{Fate, Ledger};

/// Reasons of losses by branch.
pub mod reasons {
    /// Readers of a queue were too slow.
    pub const SLOW_READERS: &str = "slow_readers";
    /// An output could not be written.
    pub const FAILED: &str = "failed";
    /// An output's disk or reader was slower than its records came.
    pub const SLOW: &str = "slow";
    /// Packets that a recording had no room for, or could not write; records that gave way to what has a higher priority.
    pub const SHED: &str = "shed";
    /// Packets beyond a recording's cutoff.
    pub const CUT_OFF: &str = "cut_off";
    /// Packets that a recording's filter rejects.
    pub const FILTERED: &str = "filtered";
    /// Events that had no room.
    pub const REFUSED: &str = "refused";
}

/// The packets of a capture, and its branches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerStatus {
    /// Packets received.
    pub received: u64,
    /// Of these, packets that streams have.
    pub delivered: u64,
    /// The others by reason, as the ledger of `tidewire streams --stats` names it; reasons without a packet are left out.
    pub drops: BTreeMap<String, u64>,
    /// Queues, outputs, the recording, analyzers within the capture.
    pub branches: Vec<BranchStatus>,
}

/// The account of a branch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchStatus {
    /// Its table of the configuration: `queue.web`, `output.eve`, `record`, `inline.scan`.
    pub name: String,
    /// Its unit: `packets`, `records` or `events`.
    pub unit: String,
    /// Units that it got.
    pub offered: u64,
    /// Units that it passed on: published, written, recorded, emitted.
    pub delivered: u64,
    /// Units that wait in memory, or in a file that readers cannot read before it is complete.
    pub waiting: u64,
    /// Losses by reason; reasons without a loss are left out.
    pub lost: BTreeMap<String, u64>,
}

/// Counts by reason, without those of nothing.
pub(super) fn by_reason<'a>(counts: impl IntoIterator<Item = (&'a str, u64)>) -> BTreeMap<String, u64> {
    let some = counts.into_iter().filter(|(_, count)| *count > 0);
    some.map(|(reason, count)| (reason.to_owned(), count)).collect()
}

impl LedgerStatus {
    /// The trunk of an engine's ledger, without branches.
    #[must_use]
    pub fn of(ledger: &Ledger) -> Self {
        let drops = ledger.fates().filter(|(fate, _)| *fate != Fate::Tracked);
        Self {
            received: ledger.received,
            delivered: ledger.fate(Fate::Tracked),
            drops: by_reason(drops.map(|(fate, count)| (fate.name(), count))),
            branches: Vec::new(),
        }
    }

    /// Whether each packet is counted once, and all that each branch was offered has become of something. While a capture runs, packets in
    /// its engine have no fate yet.
    #[must_use]
    pub fn closes(&self) -> bool {
        self.received == self.delivered + self.drops.values().sum::<u64>()
            && self.branches.iter().all(BranchStatus::closes)
    }
}

impl BranchStatus {
    pub(super) fn new(name: String, unit: &str, [offered, delivered]: [u64; 2], lost: BTreeMap<String, u64>) -> Self {
        let waiting = offered.saturating_sub(delivered + lost.values().sum::<u64>());
        Self { name, unit: unit.into(), offered, delivered, waiting, lost }
    }

    /// Whether all that it was offered has become of something.
    #[must_use]
    pub fn closes(&self) -> bool {
        self.offered == self.delivered + self.waiting + self.lost.values().sum::<u64>()
    }
}
