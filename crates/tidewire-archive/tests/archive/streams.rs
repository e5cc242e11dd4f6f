//! Streams: exactly their packets.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use tidewire::{Capture, Handler, Mode, Stream, StreamPacket, community_id};
use tidewire_archive::{IndexResult, Query};

use tidewire_wire::{Kind, LinkType, Settings as WireSettings, decode};

use crate::rig::{Seen, captures, index, read, recall};

/// Numbers of frames by stream, and each stream's Community ID.
#[derive(Default)]
struct Frames {
    of: BTreeMap<u64, Vec<u64>>,
    community: BTreeMap<u64, String>,
}

impl Handler for Frames {
    type Data = ();
    const PACKETS: bool = true;

    fn packet(&mut self, stream: &mut Stream<'_, ()>, packet: StreamPacket<'_>) {
        let frames = self.of.entry(stream.id()).or_default();
        match packet.fragments {
            [] => frames.push(packet.number),
            fragments => frames.extend(fragments),
        }
        self.community.insert(stream.id(), community_id(&stream.key(), 0));
    }
}

/// Fragments whose datagram was never whole are of the stream whose ports they have, and of none for the engine.
fn without_lost_fragments(mut found: Vec<Seen>, expected: &[Seen]) -> Vec<Seen> {
    let is_fragment = |seen: &Seen| {
        let settings = WireSettings::default();
        decode(LinkType(seen.link), &seen.bytes, seen.wire_bytes, &settings).kind == Kind::Fragment
    };
    let mut left = expected.iter().peekable();
    found.retain(|seen| {
        let is_expected = left.next_if(|next| *next == seen).is_some();
        is_expected || !is_fragment(seen)
    });
    found
}

#[test]
fn a_stream_has_exactly_its_packets() {
    let (mut streams, mut files) = (0, 0);
    let folder = tempfile::tempdir().expect("a folder");
    for (number, path) in captures().into_iter().enumerate() {
        let packets = read(&path);
        let folder = folder.path().join(number.to_string());
        fs::create_dir(&folder).expect("a folder");
        let copy = folder.join(path.file_name().expect("a name"));
        fs::copy(&path, &copy).expect("a copy");
        if packets.is_empty() || !matches!(&index(&folder)[..], [IndexResult::Made { .. }]) {
            continue;
        }
        // The packets of an 802.11 frame with several of them are not of one stream.
        // Files that were appended to one another are indexed up to the second one, which is said.
        if ["aggregate", "file-concatenated"].iter().any(|part| path.to_string_lossy().contains(part)) {
            continue;
        }
        // An archive has copies, too.
        let capture = Capture::file(&copy).mode(Mode::Track).duplicates(tidewire::Duplicates::Keep);
        let outcome = capture.run_with(Frames::default()).expect("a run");
        let frames = outcome.handler();
        files += 1;
        for (id, numbers) in frames.of.iter().take(200) {
            let mut numbers = numbers.clone();
            numbers.sort_unstable();
            numbers.dedup();
            let expected: Vec<_> = numbers.iter().map(|&number| packets[number as usize - 1].clone()).collect();
            let found = recall(&folder, &Query { stream: Some(*id), ..Query::default() });
            let found = without_lost_fragments(found, &expected);
            assert!(
                found == expected,
                "{}, stream {id}: {} of {} packets",
                path.display(),
                found.len(),
                expected.len()
            );
            streams += 1;
        }
        for community_id in frames.community.values().take(5) {
            let of_it = frames.of.iter().filter(|(id, _)| frames.community[id] == *community_id);
            let numbers: BTreeSet<u64> = of_it.flat_map(|(_, numbers)| numbers).copied().collect();
            let expected: Vec<_> = numbers.iter().map(|&number| packets[number as usize - 1].clone()).collect();
            let found = recall(&folder, &Query { community_id: Some(community_id.clone()), ..Query::default() });
            let found = without_lost_fragments(found, &expected);
            assert!(found == expected, "{}, {community_id}: {} of {}", path.display(), found.len(), expected.len());
        }
    }
    println!("{streams} streams of {files} captures");
    assert!(streams > 100);
}
