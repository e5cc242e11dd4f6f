//! Numbers of packets, which are ids of streams: the same whatever is looked for, and unique.

use std::{collections::BTreeSet, fs};

use tidewire::{Capture, Handler, Mode, Stream};
use tidewire_archive::{Archive, Identities, IndexResult, Query, Settings};

use crate::rig::{Recorder, Seen, captures, drain, index, read, recall};

/// Numbers and packets that a query finds.
fn numbered(folders: &[&std::path::Path], query: &Query) -> Vec<(u64, Seen)> {
    let mut recall = Archive::open(folders, Identities::default()).expect("an archive").recall(query).expect("a query");
    let mut found = Vec::new();
    while let Some(packet) = recall.next_packet().expect("no problem") {
        found.push((packet.frame.number, Seen::of(&packet.frame, packet.bytes)));
    }
    found
}

/// Captures with many packets of IP over Ethernet.
fn some(count: usize) -> Vec<Vec<Seen>> {
    let of_ethernet = |packets: &Vec<Seen>| packets.len() > 50 && packets.iter().all(|packet| packet.link == 1);
    captures().iter().map(|path| read(path)).filter(of_ethernet).take(count).collect()
}

#[test]
fn packets_have_the_same_numbers_whatever_is_looked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorder = Recorder::new(folder.path(), &Settings::default());
    let packets: Vec<Seen> = some(4).concat();
    for part in packets.chunks(packets.len().div_ceil(3)) {
        recorder.segment(part, &Identities::default());
    }
    let all = numbered(&[folder.path()], &Query::default());
    assert_eq!(
        all.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
        (1..=packets.len() as u64).collect::<Vec<_>>()
    );
    let middle = packets[packets.len() / 2].timestamp_ns;
    for query in [
        Query { filter: Some("tcp".into()), ..Query::default() },
        Query { filter: Some("udp port 53".into()), ..Query::default() },
        Query { ports: vec![80], ..Query::default() },
        Query { from_ns: Some(middle), ..Query::default() },
        Query { to_ns: Some(middle), protocol: Some(17), ..Query::default() },
    ] {
        let found = numbered(&[folder.path()], &query);
        for (number, packet) in &found {
            assert_eq!(all[*number as usize - 1].1, *packet, "{query:?}");
        }
    }
}

#[derive(Default)]
struct Ids(BTreeSet<u64>);

impl Handler for Ids {
    type Data = ();

    fn open(&mut self, stream: &mut Stream<'_, ()>) {
        self.0.insert(stream.id());
    }
}

/// Ids of the streams that the engine finds.
fn ids(folders: &[&std::path::Path], query: &Query) -> BTreeSet<u64> {
    let found = Archive::open(folders, Identities::default()).expect("an archive").recall(query).expect("a query");
    let outcome = Capture::source(found).mode(Mode::Track).run_with(Ids::default()).expect("a run");
    outcome.handlers.into_iter().flat_map(|ids| ids.0).collect()
}

#[test]
fn ids_of_what_was_found_find_it_again() {
    let (first, second) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    for (number, packets) in some(6).iter().enumerate() {
        let folder = if number % 3 == 2 { &second } else { &first };
        fs::write(folder.path().join(format!("{number}.pcapng")), crate::rig::encoded(packets)).expect("written");
    }
    for folder in [&first, &second] {
        assert!(index(folder.path()).iter().all(|result| matches!(result, IndexResult::Made { .. })));
    }
    let folders = [first.path(), second.path()];
    let (all, tcp) = (ids(&folders, &Query::default()), Query { filter: Some("tcp".into()), ..Query::default() });
    let of_tcp = ids(&folders, &tcp);
    assert!(of_tcp.len() > 5);
    // An expression may leave out a stream's first packet: its id is then that of another of its packets.
    for &id in &of_tcp {
        let first = numbered(&folders, &Query { stream: Some(id), ..Query::default() })[0].0;
        assert!(first <= id, "{id} is of {first}");
    }
    assert!(all.iter().any(|&id| id > 1 << 40), "both directories have streams");
    let mut streams: Vec<BTreeSet<u64>> = Vec::new();
    for &id in &all {
        let found = numbered(&folders, &Query { stream: Some(id), ..Query::default() });
        let numbers: BTreeSet<u64> = found.iter().map(|(number, _)| *number).collect();
        // Captures that have parts of one conversation have one stream each; read together it is one.
        assert!(numbers.contains(&id), "{id}: {numbers:?}");
        // By any of its packets the same stream is found; no packet is of two.
        let last = found.last().expect("a packet").0;
        assert_eq!(numbered(&folders, &Query { stream: Some(last), ..Query::default() }), found);
        assert!(streams.iter().all(|other| *other == numbers || other.is_disjoint(&numbers)), "{id}");
        streams.push(numbers);
    }
    let none = Query { stream: Some(1 << 39), ..Query::default() };
    assert_eq!(recall(first.path(), &none), Vec::new());
    let archive = Archive::open(folders, Identities::default()).expect("an archive");
    for none in [0, 3 << 40, u64::MAX] {
        let mut all = archive.recall(&Query { stream: Some(none), ..Query::default() }).expect("a query");
        assert!(drain(&mut all).0.is_empty());
    }
}

#[test]
fn indexes_that_are_made_again_keep_their_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, packets) in ["b.pcapng", "c.pcapng"].iter().zip(some(2)) {
        fs::write(folder.path().join(name), crate::rig::encoded(&packets)).expect("written");
    }
    index(folder.path());
    let before = numbered(&[folder.path()], &Query::default());
    fs::remove_file(folder.path().join("b.pcapng.tidx")).expect("removed");
    // One that comes before the others by its name has numbers behind theirs.
    fs::write(folder.path().join("a.pcapng"), crate::rig::encoded(&some(3)[2])).expect("written");
    index(folder.path());
    let after = numbered(&[folder.path()], &Query::default());
    let numbers: BTreeSet<u64> = after.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=after.len() as u64).collect());
    for (number, packet) in &before {
        assert!(after.iter().any(|(other, same)| other == number && same == packet), "{number}");
    }
}
