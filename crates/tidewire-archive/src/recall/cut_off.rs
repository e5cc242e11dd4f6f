//! Parts of streams that a recorder cut off: only the indexes know them.

use std::collections::HashMap;

use tidewire::FlowKey;

use super::{
    Archive,
    entry::{Entry, entries},
};
use crate::{
    Error,
    index::{Amount, FlowRecord},
    query::Query,
};

/// A stream of which packets were not written because of a cutoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CutOff {
    /// Its addresses, ports and protocol.
    pub key: FlowKey,
    /// Time of its first packet, nanoseconds since the epoch.
    pub first_ns: u64,
    /// Time of its last packet.
    pub last_ns: u64,
    /// Packets that were cut off, and their bytes on the wire, by direction.
    pub amounts: [Amount; 2],
}

/// Which stream of which recording.
type Name = (String, u64);

/// The streams of a directory.
#[derive(Default)]
struct Streams {
    found: HashMap<Name, CutOff>,
    streams_max: usize,
    is_cut_short: bool,
}

impl Archive {
    /// The streams of which something was cut off, in the segments of the times that a query looks for; at most `streams_max`, and whether
    /// these are all.
    ///
    /// # Errors
    /// A directory cannot be read, or an index is of another version or for other recipients.
    pub fn cut_off(&self, query: &Query, streams_max: usize) -> Result<(Vec<CutOff>, bool), Error> {
        let (mut all, mut is_all) = (Vec::new(), true);
        for path in &self.folders {
            let captures = entries(path, &self.identities)?.found;
            let mut streams = Streams { streams_max: streams_max - all.len(), ..Streams::default() };
            for entry in captures.iter().filter(|entry| has_cut(entry)) {
                self.each_record(entry, query, |name, record| streams.add(name, record));
            }
            // A stream's records without anything cut off say from when to when it was there, too.
            let is_any = !streams.found.is_empty();
            for entry in captures.iter().filter(|_| is_any) {
                self.each_record(entry, query, |name, record| streams.extend(&name, record));
            }
            all.extend(streams.found.into_values());
            is_all &= !streams.is_cut_short;
        }
        Ok((all, is_all))
    }

    /// An index that cannot be read says nothing here: the search itself names it, and reads its capture whole.
    fn each_record(&self, entry: &Entry, query: &Query, mut each: impl FnMut(Name, &FlowRecord)) {
        let Some(summary) = entry.summary.as_ref().filter(|summary| query.is_in_time(summary)) else { return };
        let Ok(Some(mut sidecar)) = entry.sidecar(&self.identities) else { return };
        // A capture that no recorder wrote is a recording of its own.
        let recording = match summary.recording.as_str() {
            "" => entry.path.to_string_lossy().into_owned(),
            recording => recording.to_owned(),
        };
        let _ = sidecar.records(|record| {
            if record.stream != 0 {
                each((recording.clone(), record.stream), record);
            }
        });
    }
}

impl Streams {
    fn add(&mut self, name: Name, record: &FlowRecord) {
        let Some(key) = record.key.filter(|_| record.cut_off != [Amount::default(); 2]) else { return };
        if self.found.len() >= self.streams_max && !self.found.contains_key(&name) {
            self.is_cut_short = true;
            return;
        }
        let (first_ns, last_ns) = (record.first_ns, record.last_ns);
        let none = CutOff { key, first_ns, last_ns, amounts: [Amount::default(); 2] };
        let stream = self.found.entry(name).or_insert(none);
        for (sum, amount) in stream.amounts.iter_mut().zip(record.cut_off) {
            sum.packets = sum.packets.saturating_add(amount.packets);
            sum.bytes = sum.bytes.saturating_add(amount.bytes);
        }
    }

    fn extend(&mut self, name: &Name, record: &FlowRecord) {
        if let Some(stream) = self.found.get_mut(name) {
            stream.first_ns = stream.first_ns.min(record.first_ns);
            stream.last_ns = stream.last_ns.max(record.last_ns);
        }
    }
}

fn has_cut(entry: &Entry) -> bool {
    let summary = entry.summary.iter();
    summary.flat_map(|summary| &summary.ledger).any(|ledger| ledger.cut_off_packets > 0)
}
