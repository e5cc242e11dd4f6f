//! Streams in segments that are not complete, and have no index yet: these are read, once more than what is found in them.
//!
//! A stream goes on from one segment of its recorder to the next: where it began in a complete one, its index says so.

use std::{cmp::Reverse, collections::BTreeMap, ops::ControlFlow};

use tidewire::{FlowKey, community_id};
use tidewire_types::tcp_flag::FIN;
use tidewire_wire::Frame;

use super::{
    entry::Entry,
    numbers::{self, Found},
    packets::each_packet,
    trace::{Connection, IDLE_NS, Seen, Trace, Walk},
};
use crate::{Error, Identities, IndexSettings, index::FlowRecord, origin::Origin, query::Query, remains::open_sums};

/// Segments of a worker of a recording that follow each other: places among the directories and their captures.
struct Group {
    /// Empty: not known; then there is one segment.
    recording: String,
    worker: u16,
    tunnel_depth: u8,
    places: Vec<(usize, usize)>,
}

/// A stream, as the last complete segment that has it knows it.
struct Indexed {
    key: FlowKey,
    stream: u64,
    connection: Connection,
}

/// Finds the packets of streams in segments without an index, which are noted in their entries. `found`: the stream, where an index has it.
/// `target`: the directory and number of a packet of it. Returns the stream, if it is in complete segments as well.
pub(super) fn trace(
    folders: &mut [Vec<Entry>],
    found: Option<Found>,
    target: Option<(usize, u64)>,
    query: &Query,
    identities: &Identities,
) -> Option<Found> {
    let part = target.filter(|_| found.is_none()).and_then(|(folder, packet)| {
        let place = numbers::find_part(folders.get(folder)?, packet)?;
        Some((folder, place))
    });
    if target.is_some() && found.is_none() && part.is_none() {
        return None;
    }
    let mut result = None;
    for group in groups(folders) {
        let search = Search { folders, group: &group, query, identities };
        let traces = match (&found, part, target) {
            (Some(found), _, _) => search.continued(found),
            (None, Some(part), _) if !group.places.contains(&part) => Vec::new(),
            (None, Some(part), _) => {
                let (traces, stream) = search.of_packet(part);
                result = Some(Found { folder: part.0, place: part.1, stream, recording: group.recording.clone() });
                traces
            }
            (None, None, _) => search.of_community(),
        };
        for ((folder, place), trace) in group.places.iter().zip(traces) {
            if let Some(entry) = folders.get_mut(*folder).and_then(|entries| entries.get_mut(*place)) {
                entry.trace = trace;
            }
        }
    }
    found.or(result)
}

/// The segments without an index, in the order in which they were begun.
fn groups(folders: &[Vec<Entry>]) -> Vec<Group> {
    let mut groups: BTreeMap<(String, u16, usize), Group> = BTreeMap::new();
    let mut parts = Vec::new();
    for (folder, entries) in folders.iter().enumerate() {
        for (place, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.is_unindexed_part()) {
            parts.extend(entry.name.as_ref().map(|name| (name, entry.folder(), (folder, place))));
        }
    }
    parts.sort();
    for (number, (name, path, place)) in parts.into_iter().enumerate() {
        let origin = open_sums(path, name).ok().flatten().and_then(|mut sums| Origin::read(&mut sums).ok().flatten());
        let (recording, tunnel_depth) =
            origin.map_or((String::new(), IndexSettings::default().tunnel_depth), |it| (it.recording, it.tunnel_depth));
        let alone = if recording.is_empty() { number + 1 } else { 0 };
        let group = groups.entry((recording.clone(), name.worker, alone));
        let group = group.or_insert_with(|| Group { recording, worker: name.worker, tunnel_depth, places: Vec::new() });
        group.places.push(place);
    }
    groups.into_values().collect()
}

struct Search<'a> {
    folders: &'a [Vec<Entry>],
    group: &'a Group,
    query: &'a Query,
    identities: &'a Identities,
}

impl Search<'_> {
    /// The continuation of a stream that an index has.
    fn continued(&self, found: &Found) -> Vec<Option<Trace>> {
        if found.recording.is_empty() || found.recording != self.group.recording {
            return Vec::new();
        }
        let Some(first_ns) = self.first_ns() else { return Vec::new() };
        let is_of = |record: &FlowRecord| record.stream == found.stream;
        let last = self.last(first_ns, is_of).and_then(|last| self.last_of(first_ns, conversation_of(last.key)));
        // Another stream may have its addresses and ports since.
        let last = last.filter(|last| last.stream == found.stream && self.has_community(last.key));
        let Some(last) = last else { return Vec::new() };
        let mut connection = last.connection;
        self.follow(conversation_of(last.key), |_, seen, timestamp_ns| match connection.add(seen, timestamp_ns) {
            true => Step::End,
            false => Step::Add,
        })
    }

    /// The stream of a packet of a segment without an index, and its id in the indexes of its recording; 0: they do not have it.
    fn of_packet(&self, part: (usize, usize)) -> (Vec<Option<Trace>>, u64) {
        let wanted = self.query.stream.unwrap_or_default();
        let (mut key, mut walk) = (None, Walk::new(self.group.tunnel_depth));
        // Its fragment may be known by a later one only.
        let _ = self.each(part, |number, frame, bytes| {
            let seen = walk.find(number, frame, bytes);
            key = seen.filter(|seen| number == wanted || seen.earlier.contains(&wanted)).map(|seen| seen.key);
            if key.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let Some(key) = key.filter(|key| self.has_community(*key)) else { return (Vec::new(), 0) };
        let conversation = conversation_of(key);
        let last = self.first_ns().and_then(|first_ns| self.last_of(first_ns, conversation));
        let mut stream = last.as_ref().map_or(0, |last| last.stream);
        let mut connection = last.map(|last| last.connection);
        let mut is_found = false;
        let traces = self.follow(conversation, |number, seen, timestamp_ns| {
            let begins = connection.get_or_insert_with(|| Connection::begun(timestamp_ns)).add(seen, timestamp_ns);
            if begins && is_found {
                return Step::End;
            }
            is_found |= number == wanted || seen.earlier.contains(&wanted);
            if begins {
                stream = 0;
            }
            if begins { Step::AddFirst } else { Step::Add }
        });
        if is_found { (traces, stream) } else { (Vec::new(), 0) }
    }

    /// Whether a stream has the Community ID that is looked for, if one is.
    fn has_community(&self, key: FlowKey) -> bool {
        self.query.community_id.as_deref().is_none_or(|id| community_id(&key, 0) == id)
    }

    /// The streams with a Community ID: all of one conversation.
    fn of_community(&self) -> Vec<Option<Trace>> {
        let id = self.query.community_id.as_deref().unwrap_or_default();
        let (mut found, mut other) = (None, None);
        for &place in &self.group.places {
            let mut walk = Walk::new(self.group.tunnel_depth);
            let _ = self.each(place, |number, frame, bytes| {
                let Some(seen) = walk.find(number, frame, bytes).filter(|seen| other != Some(seen.key)) else {
                    return ControlFlow::Continue(());
                };
                if community_id(&seen.key, 0) == id {
                    found = Some(seen.conversation);
                    return ControlFlow::Break(());
                }
                other = Some(seen.key);
                ControlFlow::Continue(())
            });
            if found.is_some() {
                break;
            }
        }
        match found {
            Some(conversation) => self.follow(conversation, |_, _, _| Step::Add),
            None => Vec::new(),
        }
    }

    /// Walks the packets of a conversation in all segments. Of a segment that cannot be read, reading it says so.
    fn follow(&self, conversation: FlowKey, mut step: impl FnMut(u64, &Seen, u64) -> Step) -> Vec<Option<Trace>> {
        let (mut traces, mut is_ended): (Vec<(Trace, bool)>, bool) = (Vec::new(), false);
        for &place in &self.group.places {
            if is_ended {
                break;
            }
            let mut walk = Walk::new(self.group.tunnel_depth);
            traces.push((Trace::new(walk.clone(), conversation), true));
            let read = self.each(place, |number, frame, bytes| {
                let seen = walk.find(number, frame, bytes).filter(|seen| seen.conversation == conversation);
                let Some(seen) = seen else { return ControlFlow::Continue(()) };
                match step(number, &seen, frame.timestamp.as_nanos()) {
                    Step::End => {
                        is_ended = true;
                        return ControlFlow::Break(());
                    }
                    Step::AddFirst => traces.iter_mut().for_each(|(trace, _)| trace.clear()),
                    Step::Add => {}
                }
                if let Some((trace, _)) = traces.last_mut() {
                    trace.add(number, &seen);
                }
                ControlFlow::Continue(())
            });
            if let Some((_, is_read)) = traces.last_mut() {
                *is_read = read.is_ok();
            }
        }
        traces.into_iter().map(|(trace, is_read)| (!trace.is_empty() || !is_read).then_some(trace)).collect()
    }

    /// Calls `each` with the packets of a segment and their numbers.
    fn each(
        &self,
        (folder, place): (usize, usize),
        each: impl FnMut(u64, &Frame, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let entry = self.folders.get(folder).and_then(|entries| entries.get(place));
        entry.map_or(Ok(()), |entry| each_packet(entry, self.identities, each))
    }

    /// When the first packet of the segments was captured.
    fn first_ns(&self) -> Option<u64> {
        let mut first_ns = None;
        let _ = self.each(*self.group.places.first()?, |_, frame, _| {
            first_ns = Some(frame.timestamp.as_nanos());
            ControlFlow::Break(())
        });
        first_ns
    }

    /// The last stream of a conversation in complete segments of the recording.
    fn last_of(&self, first_ns: u64, conversation: FlowKey) -> Option<Indexed> {
        self.last(first_ns, |record| record.key.map(conversation_of) == Some(conversation))
    }

    /// The last stream in complete segments of the recording for whose records `is_wanted` says so, unless it was silent for too long.
    fn last(&self, first_ns: u64, is_wanted: impl Fn(&FlowRecord) -> bool) -> Option<Indexed> {
        let group = self.group;
        let is_of = |entry: &&Entry| {
            let recording = entry.summary.as_ref().map(|summary| &summary.recording);
            let worker = entry.name.as_ref().map(|name| name.worker);
            (recording, worker) == (Some(&group.recording), Some(group.worker)) && !group.recording.is_empty()
        };
        let mut entries: Vec<&Entry> = self.folders.iter().flatten().filter(is_of).collect();
        entries.sort_by_key(|entry| Reverse(&entry.name));
        for entry in entries {
            if entry.summary.as_ref().is_some_and(|it| it.last_ns.saturating_add(IDLE_NS) < first_ns) {
                return None;
            }
            let mut found: Option<Indexed> = None;
            // An index that cannot be read says nothing here: the search itself names it.
            let Ok(Some(mut sidecar)) = entry.sidecar(self.identities) else { continue };
            let _ = sidecar.records(|record| {
                if record.stream != 0 && is_wanted(record) {
                    add(&mut found, record);
                }
            });
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

/// Treatment of a packet of a conversation.
enum Step {
    Add,
    /// Another connection begins with it.
    AddFirst,
    /// It is of another connection, and none of those behind is looked for.
    End,
}

/// Adds a record to what is known of the last stream.
fn add(found: &mut Option<Indexed>, record: &FlowRecord) {
    let Some(key) = record.key else { return };
    let [client, server] = record.tcp_flags.map(|flags| flags & FIN != 0);
    let is_client_lower = conversation_of(key).client == key.client;
    let fins = if is_client_lower { [server, client] } else { [client, server] };
    let mut own = Connection { last_ns: record.last_ns, fins, is_ended: record.end.is_some() };
    match found {
        Some(known) if known.connection.last_ns > own.last_ns && known.stream != record.stream => return,
        Some(known) if known.stream == record.stream => {
            own.last_ns = own.last_ns.max(known.connection.last_ns);
            own.fins = [0, 1].map(|side: usize| own.fins[side] || known.connection.fins[side]);
            own.is_ended |= known.connection.is_ended;
        }
        _ => {}
    }
    *found = Some(Indexed { key, stream: record.stream, connection: own });
}

/// The same for both directions, and wherever it was captured.
fn conversation_of(key: FlowKey) -> FlowKey {
    let mut ends = [key.client, key.server];
    ends.sort();
    let [lower, higher] = ends;
    FlowKey::new(lower, higher, key.proto)
}
