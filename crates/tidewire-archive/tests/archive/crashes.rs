//! Segments that a crash left are repaired, however they are stored.

use std::{fs, path::Path};

use tidewire_archive::{
    Archive, Compression, Directory, Folder, Identities, Query, Recipients, Repaired, SegmentWriter, Settings, verify,
};

use crate::rig::{Numbers, Seen, drain, encoded, recall};

/// An identity of age for tests, and its recipient.
const IDENTITY: &str = "AGE-SECRET-KEY-1TD9RASF8ZDLSH78MUN8M5FS5EG60J4Y2U3ADPPTVTN549KXGUHTQP6EYMZ";
const RECIPIENT: &str = "age1ecnutm0mg44mp86u3lcfj6ec3f5hc30nxs349cn87pz084q0tyrqh2334n";

/// Packets of two compressed frames, one in three of which can be compressed.
fn packets(numbers: &mut Numbers) -> Vec<Seen> {
    let packet = |number: u64| {
        let bytes = if number.is_multiple_of(3) { vec![b'a'; 1400] } else { numbers.bytes(1400) };
        Seen { timestamp_ns: 1_700_000_000_000_000_000 + number, wire_bytes: 1400, link: 1, bytes }
    };
    (0..1200).map(packet).collect()
}

/// Writes a segment under its hidden name, synced here and there, and cuts it.
fn crash(folder: &Path, settings: &Settings, packets: &[Seen], numbers: &mut Numbers) -> u64 {
    let directory = Directory::open(folder, settings, 1).expect("a directory");
    let name = directory.begin(1_700_000_000_000_000_000, 0);
    let storage: &Folder = directory.storage();
    let mut writer = SegmentWriter::create(storage, &name, settings.recipients.as_ref()).expect("a file");
    let plain = encoded(packets);
    for part in plain.chunks(300_000) {
        writer.write(part).expect("written");
        writer.sync().expect("synced");
    }
    if numbers.below(4) == 0 {
        writer.finish().expect("completed");
    }
    drop(writer);
    let path = folder.join(name.hidden());
    let there = fs::metadata(&path).expect("a file").len();
    let kept = if numbers.below(5) == 0 { there } else { numbers.below(there) };
    fs::OpenOptions::new().write(true).open(&path).and_then(|file| file.set_len(kept)).expect("cut");
    kept * 100 / there
}

#[test]
fn what_a_crash_left_is_a_beginning_however_it_is_stored() {
    let mut numbers = Numbers(0xdead_0014);
    let packets = packets(&mut numbers);
    let mut identities = Identities::default();
    identities.add(IDENTITY).expect("an identity");
    for &compression in Compression::ALL {
        for is_sealed in [false, true] {
            for _ in 0..12 {
                let recipients = is_sealed.then(|| Recipients::parse(&[RECIPIENT]).expect("a recipient"));
                let settings = Settings { compression, recipients, ..Settings::default() };
                let folder = tempfile::tempdir().expect("a folder");
                let percent = crash(folder.path(), &settings, &packets, &mut numbers);
                let directory = Directory::open(folder.path(), &settings, 2).expect("a directory");
                let repaired = directory.repair(&identities, 3).expect("repaired");
                drop(directory);
                let case = format!("{compression:?}, sealed: {is_sealed}, {percent} %: {repaired:?}");
                if matches!(&repaired[..], [Repaired::Removed { .. } | Repaired::SetAside { .. }]) {
                    assert!(percent < 35, "{case}");
                    continue;
                }
                let archive = Archive::open([folder.path()], identities.clone()).expect("an archive");
                let mut all = archive.recall(&Query::default()).expect("a query");
                let (found, errors) = drain(&mut all);
                assert!(errors.is_empty() && all.notes().is_empty(), "{case}: {errors:?} {:?}", all.notes());
                assert!(packets.starts_with(&found), "{case}: {}", found.len());
                // Packets that were synced in whole frames are there.
                assert!(found.len() as u64 * 100 / packets.len() as u64 + 35 > percent, "{case}: {}", found.len());
                assert!(verify(folder.path()).expect("verified").findings.is_empty(), "{case}");
                if !is_sealed {
                    assert_eq!(recall(folder.path(), &Query::default()), found);
                }
            }
        }
    }
}

#[test]
fn an_encrypted_segment_without_its_key_is_completed_and_indexed_later() {
    let (mut numbers, folder) = (Numbers(5), tempfile::tempdir().expect("a folder"));
    let packets = packets(&mut numbers);
    let recipients = Some(Recipients::parse(&[RECIPIENT]).expect("a recipient"));
    let settings = Settings { recipients, ..Settings::default() };
    while crash(folder.path(), &settings, &packets, &mut numbers) < 50 {}
    let directory = Directory::open(folder.path(), &settings, 2).expect("a directory");
    let repaired = directory.repair(&Identities::default(), 3).expect("repaired");
    assert!(
        repaired.iter().any(|repaired| repaired.to_string().contains("--index-only DIR --identity FILE --encrypt-to")),
        "{repaired:?}"
    );
    let mut identities = Identities::default();
    identities.add(IDENTITY).expect("an identity");
    let mut made = 0;
    let each = |result| made += usize::from(matches!(result, tidewire_archive::IndexResult::Made { .. }));
    directory.index_only(&identities, false, 4, each).expect("indexed");
    assert!(made > 0);
    drop(directory);
    let mut all = Archive::open([folder.path()], identities)
        .and_then(|archive| archive.recall(&Query::default()))
        .expect("a query");
    assert!(!drain(&mut all).0.is_empty() && all.notes().is_empty(), "{:?}", all.notes());
}
