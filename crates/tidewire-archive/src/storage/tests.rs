//! Power failures: a storage that keeps what was synced, and anything of the rest.

mod lossy;
mod syncs;

use std::{collections::BTreeMap, fs};

use tidewire_files::{Block, Source as _};
use tidewire_wire::{Frame, LinkType, Timestamp};

use crate::{
    Archive, Compression, Directory, FlowRecord, Identities, IndexBuilder, Query, SegmentName, SegmentWriter, Settings,
    Storage as _, StorageFile as _, Summary, block, name::MANIFEST, verify,
};
use lossy::{Lossy, Numbers};

/// Power failures, unless `ROUNDS` says how many.
const ROUNDS: u64 = 400;

/// A packet that says which one it is.
fn packet(number: u64, numbers: &mut Numbers) -> Vec<u8> {
    let mut packet = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    packet.extend([0x45, 0, 0, 60, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, (number % 8) as u8]);
    packet.extend([0x30, 0, 0, 53, 0, 40, 0, 0]);
    packet.extend(number.to_be_bytes());
    let filling = numbers.below(1400);
    packet.extend((0..filling).map(|place| (place as u8) ^ (number as u8)));
    packet
}

/// Progress of a recorder until the power failed: its packets, and how many were acknowledged, from the first on, in each segment.
#[derive(Default)]
struct Recorded {
    packets: Vec<Vec<u8>>,
    /// By segment: number of its first packet, of those that were written, and of those that were acknowledged.
    segments: Vec<(u64, u64, u64)>,
}

/// Records until the storage fails, as the recorder does: blocks, syncs, the end of a segment, its index, the manifest.
fn record(storage: &Lossy, settings: &Settings, numbers: &mut Numbers) -> Recorded {
    let mut recorded = Recorded::default();
    let Ok(manifest) = storage.create(MANIFEST) else { return recorded };
    let Ok(directory) = Directory::with_storage(storage.clone(), settings, manifest) else { return recorded };
    loop {
        let name = directory.begin(1_700_000_000_000_000_000 + recorded.packets.len() as u64, 0);
        let Ok(mut writer) = SegmentWriter::create(storage, &name, None) else { return recorded };
        let first = recorded.packets.len() as u64;
        recorded.segments.push((first, 0, 0));
        if segment(&directory, &name, &mut writer, &mut recorded, numbers).is_none() {
            return recorded;
        }
    }
}

/// One segment; `None`: the power failed.
fn segment(
    directory: &Directory<Lossy>,
    name: &SegmentName,
    writer: &mut SegmentWriter<lossy::LossyFile>,
    recorded: &mut Recorded,
    numbers: &mut Numbers,
) -> Option<()> {
    let place = recorded.segments.len() - 1;
    let mut head = Vec::new();
    block::section_header(&mut head, &block::Writer::default());
    block::interface_description(&mut head, &block::Interface::new("eth0", LinkType::ETHERNET));
    let mut builder = IndexBuilder::new(&directory.settings().index);
    builder.flow(0, FlowRecord::NONE);
    let mut at = head.len() as u64;
    writer.write(&head).ok()?;
    for _ in 0..2 + numbers.below(4) {
        let mut bytes = Vec::new();
        for _ in 0..1 + numbers.below(6) {
            let number = recorded.packets.len() as u64;
            let packet = packet(number, numbers);
            let time = 1_700_000_000_000_000_000 + number;
            let length = block::enhanced_packet(
                &mut bytes,
                &block::Packet::new(0, Timestamp::from_nanos(time), &packet, packet.len() as u32),
            );
            builder.packet(0, at, length, time);
            at += u64::from(length);
            recorded.packets.push(packet);
            recorded.segments[place].1 += 1;
        }
        writer.write(&bytes).ok()?;
        if numbers.below(2) == 0 {
            writer.sync().ok()?;
            recorded.segments[place].2 = recorded.segments[place].1;
        }
    }
    let (stored_bytes, digest) = writer.finish().ok()?;
    recorded.segments[place].2 = recorded.segments[place].1;
    let summary =
        Summary { bytes: at, stored_bytes, digest, descriptions: vec![(0, head.len() as u32)], ..Summary::default() };
    directory.complete_as(crate::manifest::Event::Segment, "r".into(), name, &builder.encode(), summary, 0).ok()?;
    Some(())
}

/// Packets that an archive finds: their bytes by their time.
fn found(folder: &std::path::Path) -> BTreeMap<u64, Vec<u8>> {
    let mut found = BTreeMap::new();
    let Ok(archive) = Archive::open([folder], Identities::default()) else { return found };
    let mut recall = archive.recall(&Query::default()).expect("a query");
    let mut block = Block::new();
    while recall.fill(&mut block).expect("nothing is damaged after the repair") {
        let batch = block.batch();
        let packet =
            |frame: &Frame| (frame.timestamp.as_nanos() - 1_700_000_000_000_000_000, batch.bytes(frame).to_vec());
        found.extend(batch.frames.iter().map(packet));
    }
    assert!(recall.notes().is_empty(), "{:?}", recall.notes());
    found
}

#[test]
fn after_the_power_failed_what_was_acknowledged_is_there_and_nothing_is_half() {
    let rounds = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS);
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(14);
    let (mut acknowledged, mut kept, mut lost, mut repaired) = (0, 0, 0, 0);
    for round in 0..rounds {
        let mut numbers = Numbers::new(seed, round);
        let compression = Compression::ALL[(round % 3) as usize];
        let settings = Settings { compression, ..Settings::default() };
        let storage = Lossy::new(1 + numbers.below(60));
        let recorded = record(&storage, &settings, &mut numbers);
        let folder = tempfile::tempdir().expect("a folder");
        storage.after_power_failure(folder.path(), &mut numbers);
        let said = format!("round {round} of seed {seed}");
        let directory = Directory::open(folder.path(), &settings, 1).unwrap_or_else(|error| panic!("{said}: {error}"));
        let done = directory.repair(&Identities::default(), 1).unwrap_or_else(|error| panic!("{said}: {error}"));
        repaired += done.len();
        drop(directory);
        let found = found(folder.path());
        for (number, bytes) in &found {
            assert!(recorded.packets.get(*number as usize) == Some(bytes), "{said}: packet {number} was never written");
        }
        for &(first, written, synced) in &recorded.segments {
            for number in first..first + synced {
                assert!(found.contains_key(&number), "{said}: packet {number} was acknowledged, and is lost");
            }
            acknowledged += synced;
            kept += (first..first + written).filter(|number| found.contains_key(number)).count();
            lost += (first..first + written).filter(|number| !found.contains_key(number)).count();
        }
        let verified = verify(folder.path()).expect("a manifest");
        assert!(verified.findings.is_empty(), "{said}: {:?}", verified.findings);
        // And the repair was the last one.
        let again = Directory::open(folder.path(), &settings, 2).expect("a directory");
        assert!(again.repair(&Identities::default(), 2).expect("nothing to do").is_empty(), "{said}");
        drop(again);
        fs::remove_dir_all(folder.path()).expect("it goes");
    }
    println!(
        "{rounds} power failures: {acknowledged} packets acknowledged, {kept} kept, {lost} lost, {repaired} repairs"
    );
    // Otherwise nothing was lost that could be, and nothing repaired.
    assert!(acknowledged > rounds && lost as u64 > rounds / 4 && repaired as u64 > rounds / 4);
}

/// Calls until it works, as the recorder does.
fn until<T>(mut attempt: impl FnMut() -> Result<T, crate::Error>) -> T {
    loop {
        match attempt() {
            Ok(done) => return done,
            Err(error) => assert!(error.to_string().contains("Input/output error"), "{error}"),
        }
    }
}

/// I/O errors, at any operation and often: what is tried again in the end is there once.
#[test]
fn after_input_and_output_errors_everything_is_there_once() {
    let mut failed = 0;
    for round in 0..60 {
        let mut numbers = Numbers::new(5, round);
        let compression = Compression::ALL[(round % 3) as usize];
        let settings = Settings { compression, ..Settings::default() };
        let storage = Lossy::flaky(2 + round % 5, Numbers::new(6, round));
        let mut manifest = until(|| storage.create(MANIFEST).map_err(crate::Error::io("m", "creating")));
        let directory = loop {
            let manifest = manifest.duplicate().expect("a handle");
            if let Ok(directory) = Directory::with_storage(storage.clone(), &settings, manifest) {
                break directory;
            }
        };
        let mut packets = Vec::new();
        for _ in 0..3 {
            let name = directory.begin(1_700_000_000_000_000_000 + packets.len() as u64, 0);
            let mut writer = until(|| SegmentWriter::create(&storage, &name, None));
            let mut head = Vec::new();
            block::section_header(&mut head, &block::Writer::default());
            block::interface_description(&mut head, &block::Interface::new("eth0", LinkType::ETHERNET));
            let mut builder = IndexBuilder::new(&settings.index);
            builder.flow(0, FlowRecord::NONE);
            until(|| writer.write(&head));
            let mut at = head.len() as u64;
            for _ in 0..40 {
                let number = packets.len() as u64;
                let packet = packet(number, &mut numbers);
                let (mut bytes, time) = (Vec::new(), 1_700_000_000_000_000_000 + number);
                let block = block::Packet::new(0, Timestamp::from_nanos(time), &packet, packet.len() as u32);
                let length = block::enhanced_packet(&mut bytes, &block);
                builder.packet(0, at, length, time);
                at += u64::from(length);
                until(|| writer.write(&bytes));
                if number.is_multiple_of(7) {
                    until(|| writer.sync());
                }
                packets.push(packet);
            }
            let (stored_bytes, digest) = until(|| writer.finish());
            let descriptions = vec![(0, head.len() as u32)];
            let summary = Summary { bytes: at, stored_bytes, digest, descriptions, ..Summary::default() };
            let (event, sections) = (crate::manifest::Event::Segment, builder.encode());
            until(|| directory.complete_as(event, "r".into(), &name, &sections, summary.clone(), 0));
        }
        failed += storage.failed();
        // All of it was acknowledged.
        let folder = tempfile::tempdir().expect("a folder");
        storage.after_power_failure(folder.path(), &mut numbers);
        let found = found(folder.path());
        assert!(found.into_values().eq(packets), "round {round}");
        let verified = verify(folder.path()).expect("a manifest");
        assert!(verified.findings.is_empty(), "round {round}: {:?}", verified.findings);
    }
    println!("{failed} operations failed");
    assert!(failed > 1000, "{failed}");
}

/// The same storage shows that a sync is needed: without it packets are lost.
#[test]
fn what_was_not_synced_can_be_lost() {
    let (mut lost, mut torn) = (0, 0);
    for round in 0..50 {
        let mut numbers = Numbers::new(1, round);
        let storage = Lossy::new(1000);
        let mut file = storage.create("a").expect("a file");
        file.write_at(&[7; 8192], 0).expect("written");
        storage.sync_names().expect("synced");
        let folder = tempfile::tempdir().expect("a folder");
        storage.after_power_failure(folder.path(), &mut numbers);
        let left = fs::read(folder.path().join("a")).expect("its name was synced");
        lost += usize::from(left.is_empty());
        torn += usize::from(!left.is_empty() && left != [7; 8192]);
    }
    assert!(lost > 0 && torn > 10, "{lost} {torn}");
}
