//! Bits that a disk flips are named, and never passed on as packets.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use tidewire_archive::{
    Archive, Compression, Directory, Finding, Identities, Now, Query, Recipients, Repaired, Retention, Settings, verify,
};

use crate::rig::{Numbers, Recorder, Seen, drain, encoded, recall};

fn packets(numbers: &mut Numbers, count: u64) -> Vec<Seen> {
    let packet = |number: u64| {
        let bytes = if number.is_multiple_of(3) { vec![b'a'; 1400] } else { numbers.bytes(1400) };
        Seen { timestamp_ns: 1_700_000_000_000_000_000 + number, wire_bytes: 1400, link: 1, bytes }
    };
    (0..count).map(packet).collect()
}

#[test]
fn a_bit_that_flips_in_a_compressed_segment_makes_no_other_packet() {
    let mut numbers = Numbers(0xb17_0001);
    let packets = packets(&mut numbers, 1200);
    let known: HashSet<&[u8]> = packets.iter().map(|packet| &*packet.bytes).collect();
    for compression in [Compression::Zstd, Compression::Lz4] {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = Settings { compression, ..Settings::default() };
        let mut recorder = Recorder::new(folder.path(), &settings);
        recorder.segment(&packets, &Identities::default());
        drop(recorder);
        let is_segment = |path: &std::path::PathBuf| path.to_string_lossy().ends_with(compression.ending());
        let entries = fs::read_dir(folder.path()).expect("a directory").flatten().map(|entry| entry.path());
        let path = entries.into_iter().find(is_segment).expect("a segment");
        let whole = fs::read(&path).expect("a segment");
        let mut named = 0;
        for _ in 0..60 {
            let mut bytes = whole.clone();
            let at = numbers.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << numbers.below(8);
            fs::write(&path, &bytes).expect("written");
            let archive = Archive::open([folder.path()], Identities::default()).expect("an archive");
            let Ok(mut all) = archive.recall(&Query::default()) else {
                named += 1;
                continue;
            };
            let (found, errors) = drain(&mut all);
            for packet in &found {
                assert!(known.contains(&*packet.bytes), "{compression:?}: byte {at} made another packet");
            }
            assert!(found.len() == packets.len() || !errors.is_empty(), "{compression:?}: byte {at}");
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            named += usize::from(texts.iter().any(|text| text.contains("compressed frame ")));
        }
        assert!(named > 50, "{compression:?}: {named} of 60 say which frame it is");
    }
}

/// Writes a segment under its hidden name, syncs it, and flips a bit of it.
fn flipped(folder: &Path, settings: &Settings, packets: &[Seen], at_permille: u64) -> u64 {
    let directory = Directory::open(folder, settings, 1).expect("a directory");
    let name = directory.begin(1_700_000_000_000_000_000, 0);
    let mut writer = directory.create(&name).expect("a file");
    writer.write(&encoded(packets)).expect("written");
    writer.sync().expect("synced");
    drop(writer);
    let path = folder.join(name.hidden());
    let mut bytes = fs::read(&path).expect("a file");
    let at = bytes.len() * at_permille as usize / 1000;
    bytes[at] ^= 8;
    fs::write(&path, bytes).expect("written");
    at as u64
}

#[test]
fn what_the_disk_changed_before_a_repair_is_taken_out_and_named_for_good() {
    let mut numbers = Numbers(0xb17_0002);
    let packets = packets(&mut numbers, 2000);
    let all = encoded(&packets).len() as u64;
    for permille in [100, 333, 500, 501, 502, 777, 990] {
        let folder = tempfile::tempdir().expect("a folder");
        let at = flipped(folder.path(), &Settings::default(), &packets, permille);
        let directory = Directory::open(folder.path(), &Settings::default(), 2).expect("a directory");
        let repaired = directory.repair(&Identities::default(), 3).expect("repaired");
        drop(directory);
        let [Repaired::Completed { packets: kept, damaged_bytes, .. }] = &repaired[..] else {
            panic!("{permille}: {repaired:?}")
        };
        assert!((1..=65_536).contains(damaged_bytes), "{repaired:?}");
        assert!(repaired[0].to_string().contains("the disk changed"), "{}", repaired[0]);
        // Those of a piece are gone, and no others.
        let found = recall(folder.path(), &Query::default());
        assert!(found.len() as u64 == *kept && packets.len() - found.len() <= 48, "{permille}: {}", found.len());
        let lost = |packet: &&Seen| !found.contains(packet);
        let first = packets.iter().position(|packet| lost(&packet)).expect("one is gone");
        let behind = packets.len() - found.len() + first;
        assert!(found[..first] == packets[..first] && found[first..] == packets[behind..], "{permille}");
        let place = |number: usize| all * number as u64 / packets.len() as u64;
        assert!(place(first) <= at + 2000 && at <= place(behind) + 2000, "{permille}: {first} to {behind}");
        let findings = verify(folder.path()).expect("verified").findings;
        assert!(matches!(&findings[..], [Finding::Damaged { .. }]), "{findings:?}");
        assert!(findings[0].to_string().contains("from byte"), "{}", findings[0]);
    }
}

#[test]
fn what_cannot_be_read_without_the_damage_is_set_aside_or_ends_there() {
    let mut numbers = Numbers(0xb17_0003);
    let packets = packets(&mut numbers, 2000);
    for (compression, permille) in [(Compression::None, 1), (Compression::Zstd, 600), (Compression::Lz4, 600)] {
        let settings = Settings { compression, ..Settings::default() };
        let folder = tempfile::tempdir().expect("a folder");
        flipped(folder.path(), &settings, &packets, permille);
        let directory = Directory::open(folder.path(), &settings, 2).expect("a directory");
        let repaired = directory.repair(&Identities::default(), 3).expect("repaired");
        drop(directory);
        if compression == Compression::None {
            assert!(matches!(&repaired[..], [Repaired::SetAside { .. }]), "{repaired:?}");
            continue;
        }
        assert!(matches!(&repaired[..], [Repaired::Completed { damaged_bytes: 1.., .. }]), "{repaired:?}");
        let found = recall(folder.path(), &Query::default());
        assert!(packets.starts_with(&found) && found.len() > 500 && found.len() < 1300, "{}", found.len());
        let findings = verify(folder.path()).expect("verified").findings;
        assert!(matches!(&findings[..], [Finding::Damaged { .. }]), "{findings:?}");
    }
}

#[test]
fn a_segment_that_is_missing_is_named_unless_retention_removed_it() {
    let mut numbers = Numbers(0xb17_0004);
    let packets = packets(&mut numbers, 20);
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorder = Recorder::new(folder.path(), &Settings::default());
    for part in packets.chunks(5) {
        recorder.segment(part, &Identities::default());
    }
    let retention = Retention { size_bytes: Some(1), ..Retention::default() };
    let ending = |ending: &str| {
        let entries = fs::read_dir(folder.path()).expect("a directory").flatten().map(|entry| entry.path());
        let mut found: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
        found.sort();
        found
    };
    let notes = || {
        let archive = Archive::open([folder.path()], Identities::default()).expect("an archive");
        let mut all = archive.recall(&Query::default()).expect("a query");
        let found = drain(&mut all).0.len();
        (found, all.notes().iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    let gone = ending(".pcapng").remove(1);
    fs::remove_file(&gone).expect("removed");
    let (found, said) = notes();
    let name = gone.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(found == 15 && said.len() == 1 && said[0].contains(&name) && said[0].contains("missing"), "{said:?}");
    // Retention removes the index last.
    let index = ending(".tidx").pop().expect("an index");
    let kept = fs::read(&index).expect("an index");
    recorder.directory.retain(&retention, 1, &Now::at(1)).expect("removed");
    fs::write(&index, kept).expect("written");
    assert!(!notes().1.iter().any(|said| said.contains(&*index.file_stem().expect("a name").to_string_lossy())));
}

#[test]
fn of_an_encrypted_segment_the_damage_is_named_without_its_key() {
    let mut numbers = Numbers(0xb17_0005);
    let packets = packets(&mut numbers, 600);
    let recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";
    let recipients = Some(Recipients::parse(&[recipient]).expect("a recipient"));
    let settings = Settings { recipients, ..Settings::default() };
    let folder = tempfile::tempdir().expect("a folder");
    flipped(folder.path(), &settings, &packets, 500);
    let directory = Directory::open(folder.path(), &settings, 2).expect("a directory");
    let repaired = directory.repair(&Identities::default(), 3).expect("repaired");
    drop(directory);
    assert!(matches!(&repaired[..], [Repaired::Sealed { damaged_bytes: 1.., .. }]), "{repaired:?}");
    let findings = verify(folder.path()).expect("verified").findings;
    assert!(findings.iter().any(|finding| matches!(finding, Finding::Damaged { .. })), "{findings:?}");
}
