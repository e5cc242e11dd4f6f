//! Accounts: each packet has one fate.

use serde::{Deserialize, Serialize};
use tidewire_archive::PriorityLedger;

use crate::PRIORITIES_MAX;

/// Packets by result and priority: received = written + cut off + shed + filtered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<PriorityLedger>", into = "Vec<PriorityLedger>")]
pub struct Totals {
    priorities: [PriorityLedger; PRIORITIES_MAX],
}

impl Default for Totals {
    fn default() -> Self {
        let mut priorities = [PriorityLedger::default(); PRIORITIES_MAX];
        for (level, ledger) in priorities.iter_mut().enumerate() {
            ledger.priority = level as u8;
        }
        Self { priorities }
    }
}

impl From<Totals> for Vec<PriorityLedger> {
    fn from(totals: Totals) -> Self {
        totals.priorities()
    }
}

impl From<Vec<PriorityLedger>> for Totals {
    fn from(ledgers: Vec<PriorityLedger>) -> Self {
        let mut totals = Self::default();
        for ledger in ledgers {
            totals.priorities[usize::from(ledger.priority) % PRIORITIES_MAX].add(&ledger);
        }
        totals
    }
}

/// Result for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Written,
    CutOff,
    Shed,
    Filtered,
}

impl Totals {
    /// Counts a packet, or several.
    #[inline]
    pub(crate) fn count(&mut self, priority: u8, fate: Fate, packets: u64, bytes: u64) {
        let ledger = &mut self.priorities[usize::from(priority) % PRIORITIES_MAX];
        ledger.received_packets += packets;
        ledger.received_bytes += bytes;
        let (of_packets, of_bytes) = match fate {
            Fate::Written => (&mut ledger.written_packets, &mut ledger.written_bytes),
            Fate::CutOff => (&mut ledger.cut_off_packets, &mut ledger.cut_off_bytes),
            Fate::Shed => (&mut ledger.shed_packets, &mut ledger.shed_bytes),
            Fate::Filtered => (&mut ledger.filtered_packets, &mut ledger.filtered_bytes),
        };
        *of_packets += packets;
        *of_bytes += bytes;
    }

    /// Counts packets that were written, and their bytes, by priority.
    pub(crate) fn write(&mut self, written: &[(u64, u64); PRIORITIES_MAX]) {
        for (priority, &(packets, bytes)) in written.iter().enumerate().filter(|(_, (packets, _))| *packets > 0) {
            self.count(priority as u8, Fate::Written, packets, bytes);
        }
    }

    /// Takes back what counted as written, and could not be.
    pub(crate) fn lose(&mut self, lost: &[(u64, u64); PRIORITIES_MAX]) {
        for (ledger, &(packets, bytes)) in self.priorities.iter_mut().zip(lost) {
            ledger.written_packets = ledger.written_packets.saturating_sub(packets);
            ledger.written_bytes = ledger.written_bytes.saturating_sub(bytes);
            ledger.shed_packets += packets;
            ledger.shed_bytes += bytes;
        }
    }

    /// Adds another account.
    pub fn add(&mut self, other: &Self) {
        for (sum, other) in self.priorities.iter_mut().zip(&other.priorities) {
            sum.add(other);
        }
    }

    /// The priorities that had packets, the lowest first.
    #[must_use]
    pub fn priorities(&self) -> Vec<PriorityLedger> {
        self.priorities.iter().copied().filter(|ledger| ledger.received_packets > 0).collect()
    }

    /// All priorities together; its `priority` is 0.
    #[must_use]
    pub fn all(&self) -> PriorityLedger {
        let mut sum = PriorityLedger::default();
        self.priorities.iter().for_each(|ledger| sum.add(ledger));
        sum
    }

    /// Whether each packet has one fate.
    #[must_use]
    pub fn closes(&self) -> bool {
        self.priorities.iter().all(PriorityLedger::closes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_closes_whatever_is_lost_later() {
        let mut totals = Totals::default();
        totals.count(0, Fate::Written, 3, 300);
        totals.count(0, Fate::CutOff, 2, 3000);
        totals.count(7, Fate::Shed, 1, 60);
        totals.count(7, Fate::Filtered, 1, 61);
        assert!(totals.closes());
        let mut lost = [(0, 0); PRIORITIES_MAX];
        lost[0] = (1, 100);
        totals.lose(&lost);
        assert!(totals.closes());
        let all = totals.all();
        assert_eq!((all.received_packets, all.written_packets, all.shed_packets), (7, 2, 2));
        assert_eq!((all.cut_off_bytes, all.filtered_bytes, all.shed_bytes), (3000, 61, 160));
        assert_eq!(totals.priorities().len(), 2);
        let text = serde_json::to_string(&totals).unwrap();
        assert_eq!(serde_json::from_str::<Totals>(&text).unwrap(), totals, "{text}");
    }
}
