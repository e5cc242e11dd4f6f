//! The contents of archives as a whole, from their indexes: no packet is read.

use std::fs;

use super::{
    Archive,
    entry::{Entries, Entry, entries},
    note::Note,
};
use crate::{Error, PriorityLedger, SegmentName, listing::names, manifest, name::shown};

/// Shortest time without a packet that is reported as a pause, nanoseconds: a minute.
pub const PAUSE_NS_MIN: u64 = 60_000_000_000;
/// Most pauses that are listed, the longest ones.
pub const PAUSES_MAX: usize = 16;

/// A time in which no capture of the archive has a packet, between two captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Its beginning, nanoseconds since the epoch: the last packet before.
    pub from_ns: u64,
    /// Its end: the first packet behind.
    pub to_ns: u64,
}

/// The contents of archives: sums over the indexes of their captures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overview {
    /// Captures, segments and others.
    pub captures: u64,
    /// Captures among them that are still being written, or were left by a crash.
    pub unfinished: u64,
    /// Captures without an index that can be read: the sums below do not include them.
    pub unindexed: u64,
    /// Captures among both: segments that are being written or were left by a crash, and whose index is not there yet.
    pub growing: u64,
    /// Bytes of the files of these.
    pub growing_bytes: u64,
    /// Encrypted captures.
    pub encrypted: u64,
    /// Captures whose index no named identity opens.
    pub unreadable: u64,
    /// Bytes of the captures' files.
    pub stored_bytes: u64,
    /// Packets.
    pub packets: u64,
    /// Their bytes, before compression and encryption.
    pub bytes: u64,
    /// Records of flows: a stream has at least one in each segment that holds packets of it.
    pub flow_records: u64,
    /// Earliest time of a packet, nanoseconds since the epoch; `None`: there is no packet.
    pub first_ns: Option<u64>,
    /// Latest time of a packet.
    pub last_ns: u64,
    /// Packets by their fate, of all priorities; zeros for captures that no recorder wrote.
    pub ledger: PriorityLedger,
    /// Captures that were completed after a crash.
    pub repaired: u64,
    /// Bytes that the disk changed, and whose packets were removed.
    pub damaged_bytes: u64,
    /// Segments that retention removed.
    pub removed: u64,
    /// How many pauses of at least [`PAUSE_NS_MIN`] there are between captures.
    pub pause_count: u64,
    /// The longest of them, at most [`PAUSES_MAX`], in order of time.
    pub pauses: Vec<Pause>,
    /// Names of the interfaces, each once.
    pub interfaces: Vec<String>,
    /// Captures that this user may not read.
    pub denied: u64,
    /// Captures that cannot be searched, for people.
    pub notes: Vec<Note>,
}

impl Archive {
    /// The contents of the archives as a whole. Reads indexes only; an encrypted archive without its identity has what names and
    /// sizes of files say.
    ///
    /// # Errors
    /// A directory cannot be read, or an index is of a newer version.
    pub fn overview(&self) -> Result<Overview, Error> {
        let (mut overview, mut times) = (Overview::default(), Vec::new());
        for folder in &self.folders {
            let found = match entries(folder, &self.identities) {
                Err(Error::Sealed { .. }) => {
                    overview.add_names(folder)?;
                    continue;
                }
                found => found?,
            };
            let Entries { found, denied, notes } = found;
            overview.denied += denied;
            notes.into_iter().for_each(|note| note.push(&mut overview.notes));
            for entry in &found {
                overview.add(entry, &mut times);
            }
            // A manifest that cannot be read is reported by `verify`.
            if let Ok(read) = manifest::read(folder) {
                let lines = read.lines.iter().filter(|line| line.event == manifest::Event::Removed).count();
                overview.removed += read.removed + lines as u64;
            }
        }
        overview.set_pauses(times);
        Ok(overview)
    }
}

impl Overview {
    /// Counts captures whose indexes cannot be opened.
    fn add_names(&mut self, folder: &std::path::Path) -> Result<(), Error> {
        for name in names(folder)? {
            let (plain, is_part) = shown(&name).map_or((&*name, false), |name| (name, true));
            let Some(parsed) = SegmentName::parse(plain) else { continue };
            self.captures += 1;
            self.unfinished += u64::from(is_part);
            self.encrypted += u64::from(parsed.is_sealed);
            self.unreadable += 1;
            self.stored_bytes += fs::metadata(folder.join(&name)).map_or(0, |found| found.len());
            self.first_ns = Some(self.first_ns.map_or(parsed.begun_ns, |first| first.min(parsed.begun_ns)));
            self.last_ns = self.last_ns.max(parsed.begun_ns);
        }
        Ok(())
    }

    fn add(&mut self, entry: &Entry, times: &mut Vec<Pause>) {
        self.captures += 1;
        self.unfinished += u64::from(entry.is_part);
        self.encrypted += u64::from(entry.name.as_ref().is_some_and(|name| name.is_sealed));
        let stored_bytes = fs::metadata(&entry.path).map_or(0, |found| found.len());
        self.stored_bytes += stored_bytes;
        let Some(summary) = &entry.summary else {
            self.unindexed += 1;
            if entry.is_part {
                self.growing += 1;
                self.growing_bytes += stored_bytes;
            }
            return;
        };
        self.packets += summary.packets;
        self.bytes += summary.bytes;
        self.flow_records += summary.records;
        self.repaired += u64::from(!summary.repaired.is_empty());
        self.damaged_bytes += summary.damaged_bytes;
        summary.ledger.iter().for_each(|ledger| self.ledger.add(ledger));
        for interface in &summary.interfaces {
            if !interface.name.is_empty() && !self.interfaces.contains(&interface.name) {
                self.interfaces.push(interface.name.clone());
            }
        }
        if summary.packets > 0 {
            self.first_ns = Some(self.first_ns.map_or(summary.first_ns, |first| first.min(summary.first_ns)));
            self.last_ns = self.last_ns.max(summary.last_ns);
            times.push(Pause { from_ns: summary.first_ns, to_ns: summary.last_ns });
        }
    }

    /// Finds the pauses between captures with these times.
    fn set_pauses(&mut self, mut times: Vec<Pause>) {
        times.sort_by_key(|time| time.from_ns);
        let mut end_ns = None;
        for time in times {
            if let Some(end_ns) = end_ns
                && time.from_ns.saturating_sub(end_ns) >= PAUSE_NS_MIN
            {
                self.pause_count += 1;
                self.pauses.push(Pause { from_ns: end_ns, to_ns: time.from_ns });
            }
            end_ns = Some(end_ns.map_or(time.to_ns, |end: u64| end.max(time.to_ns)));
        }
        self.pauses.sort_by_key(|pause| std::cmp::Reverse(pause.to_ns - pause.from_ns));
        self.pauses.truncate(PAUSES_MAX);
        self.pauses.sort_by_key(|pause| pause.from_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_lie_between_captures_and_the_longest_are_listed() {
        let minute = PAUSE_NS_MIN;
        let mut overview = Overview::default();
        // Captures that overlap or follow within a minute have no pause between them, whatever their order.
        let times = [(10, 12), (0, 5), (1, 2), (5, 7), (12, 13)];
        let times = times.map(|(from, to)| Pause { from_ns: from * minute, to_ns: to * minute });
        overview.set_pauses(times.to_vec());
        assert_eq!(overview.pauses, [Pause { from_ns: 7 * minute, to_ns: 10 * minute }]);
        assert_eq!(overview.pause_count, 1);

        let mut overview = Overview::default();
        let many = (0..100).map(|at| Pause { from_ns: at * at * minute, to_ns: at * at * minute });
        overview.set_pauses(many.collect());
        assert_eq!((overview.pause_count, overview.pauses.len()), (99, PAUSES_MAX));
        assert_eq!(overview.pauses.first().map(|pause| pause.from_ns), Some(83 * 83 * minute));
    }
}
