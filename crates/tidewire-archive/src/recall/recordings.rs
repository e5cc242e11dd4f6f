//! Which captures follow each other, and which of them are of the same time: recordings of an archive that overlap are merged by time, and an
//! interface of one is not the same interface of the other, so that packets in both are found to be copies.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap},
};

use super::entry::{Entry, Run};

/// Recordings at the same time that are distinguished, at most.
const LAYERS_MAX: u16 = 256;

/// The identity that captures of one recording share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Identity {
    /// The random name in the indexes of its segments; empty: none of them has an index.
    Recorded(String),
    /// A capture that no recorder wrote: its directory and place.
    Alone(usize, usize),
}

/// Notes of every capture which recording it belongs to.
pub(super) fn assign(folders: &mut [Vec<Entry>]) {
    let identities: Vec<Vec<Identity>> =
        folders.iter().enumerate().map(|(folder, entries)| identities(folder, entries)).collect();
    // Earliest and latest time, and the least number of a segment.
    let mut spans: HashMap<&Identity, (u64, u64, u64)> = HashMap::new();
    for (entry, identity) in folders.iter().flatten().zip(identities.iter().flatten()) {
        let sequence = entry.name.as_ref().map_or(0, |name| name.sequence);
        let times = entry.summary.as_ref().filter(|summary| summary.packets > 0);
        let (first_ns, last_ns) = times.map_or((u64::MAX, 0), |summary| (summary.first_ns, summary.last_ns));
        let span = spans.entry(identity).or_insert((u64::MAX, 0, u64::MAX));
        *span = (span.0.min(first_ns), span.1.max(last_ns), span.2.min(sequence));
    }
    let mut ordered: Vec<_> = spans.into_iter().collect();
    ordered.sort_by(|(identity, span), (other, of_other)| {
        (span.0, span.2, identity).cmp(&(of_other.0, of_other.2, other))
    });
    let mut layers = Layers::default();
    let runs: HashMap<&Identity, Run> = ordered
        .into_iter()
        .enumerate()
        .map(|(number, (identity, (first_ns, last_ns, _)))| {
            (identity, Run { number, layer: layers.take(first_ns, last_ns) })
        })
        .collect();
    for (entry, identity) in folders.iter_mut().flatten().zip(identities.iter().flatten()) {
        entry.run = runs.get(identity).copied().unwrap_or_default();
    }
}

/// The recordings of a directory's captures. A segment without an index belongs to that of the segment before it.
fn identities(folder: usize, entries: &[Entry]) -> Vec<Identity> {
    let mut segments: BTreeMap<(u16, u64, bool), usize> = BTreeMap::new();
    for (place, entry) in entries.iter().enumerate() {
        segments.extend(entry.name.as_ref().map(|name| ((name.worker, name.sequence, entry.is_part), place)));
    }
    let mut found: Vec<Identity> = (0..entries.len()).map(|place| Identity::Alone(folder, place)).collect();
    let mut before: (Option<u16>, String) = (None, String::new());
    for ((worker, ..), place) in segments {
        if before.0 != Some(worker) {
            before = (Some(worker), String::new());
        }
        let summary = entries.get(place).and_then(|entry| entry.summary.as_ref());
        if let Some(summary) = summary.filter(|summary| !summary.recording.is_empty()) {
            before.1.clone_from(&summary.recording);
        }
        if let Some(identity) = found.get_mut(place) {
            *identity = Identity::Recorded(before.1.clone());
        }
    }
    found
}

/// The least number that no recording of the same time has.
#[derive(Default)]
struct Layers {
    free: BTreeSet<u16>,
    /// When each number is free again.
    taken: BinaryHeap<Reverse<(u64, u16)>>,
    count: u16,
}

impl Layers {
    /// The number of a recording: of the earliest first.
    fn take(&mut self, first_ns: u64, last_ns: u64) -> u16 {
        // Its time is not known.
        if first_ns > last_ns {
            return 0;
        }
        while let Some(&Reverse((end_ns, layer))) = self.taken.peek()
            && end_ns <= first_ns
        {
            self.taken.pop();
            self.free.insert(layer);
        }
        let layer = match self.free.pop_first() {
            Some(layer) => layer,
            None if self.count < LAYERS_MAX => {
                self.count += 1;
                self.count - 1
            }
            None => return LAYERS_MAX - 1,
        };
        self.taken.push(Reverse((last_ns, layer)));
        layer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_recordings_of_the_same_time_have_different_layers() {
        let mut layers = Layers::default();
        let spans = [(0, 100), (50, 60), (55, 200), (60, 70), (100, 150), (300, 400)];
        assert_eq!(spans.map(|(first, last)| layers.take(first, last)), [0, 1, 2, 1, 0, 0]);
        assert_eq!(layers.take(u64::MAX, 0), 0);
        let mut layers = Layers::default();
        let all: Vec<u16> = (0..300).map(|first| layers.take(first, 1000)).collect();
        assert_eq!((all[255], all[256], all[299]), (255, 255, 255));
    }
}
