//! Everything that is read back equals what went in.

use std::{collections::BTreeMap, fs, path::PathBuf};

use tidewire_archive::{Compression, Directory, Identities, IndexResult, Query, Settings};

use crate::rig::{Recorder, Seen, captures, index, read, recall};

/// Captures by what is in them: equal ones are tried once.
fn distinct() -> Vec<(PathBuf, Vec<Seen>)> {
    let mut found = BTreeMap::new();
    for path in captures() {
        let bytes = fs::read(&path).expect("a file");
        found.entry(tidewire_archive::Digest::of(&bytes)).or_insert(path);
    }
    found.into_values().map(|path| (path.clone(), read(&path))).collect()
}

#[test]
fn archives_of_the_corpus_recalled_whole_are_the_captures() {
    let identities = Identities::default();
    for (number, (path, packets)) in distinct().into_iter().enumerate() {
        if packets.is_empty() {
            continue;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let compression = Compression::ALL[number % 3];
        let mut recorder = Recorder::new(folder.path(), &Settings { compression, ..Settings::default() });
        // Three segments: they follow each other even where times go back.
        for part in packets.chunks(packets.len().div_ceil(3)) {
            recorder.segment(part, &identities);
        }
        assert_eq!(recall(folder.path(), &Query::default()), packets, "{}", path.display());
    }
}

#[test]
fn captures_of_others_are_read_as_they_lie() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut bytes, mut index_bytes, mut indexed) = (0, 0, 0);
    for (number, (path, packets)) in distinct().into_iter().enumerate() {
        let folder = folder.path().join(number.to_string());
        fs::create_dir(&folder).expect("a folder");
        let copy = folder.join(path.file_name().expect("a name"));
        fs::copy(&path, &copy).expect("a copy");
        let results = index(&folder);
        match &results[..] {
            [IndexResult::Made { packets: count, bytes: of, index_bytes: own, damage, .. }] => {
                (bytes, index_bytes, indexed) = (bytes + of, index_bytes + own, indexed + 1);
                // Files that were appended to one another are indexed up to the second one, which is said.
                if damage.as_ref().is_some_and(|damage| damage.contains("the header of another capture file follows")) {
                    continue;
                }
                assert_eq!(*count, packets.len() as u64, "{}", path.display());
                if packets.is_empty() {
                    continue;
                }
                let found = recall(&folder, &Query::default());
                assert!(found == packets, "{}: {} of {}, {damage:?}", path.display(), found.len(), packets.len());
                assert!(matches!(&index(&folder)[..], [IndexResult::Kept { .. }]), "made once");
            }
            // Compressed captures, snoop, and what has no whole header.
            [IndexResult::Refused { .. } | IndexResult::PassedOver { .. }] => {}
            _ => panic!("{}: {results:?}", path.display()),
        }
    }
    println!("{indexed} captures of {bytes} bytes have indexes of {index_bytes}");
    assert!(indexed > 50);
}

#[test]
fn the_same_capture_has_the_same_index() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut names = Vec::new();
    for (number, path) in captures().iter().enumerate() {
        names.push(format!("{number}.pcap"));
        std::fs::copy(path, folder.path().join(&names[number])).expect("copied");
    }
    let made = || {
        let directory = Directory::open(folder.path(), &Settings::default(), 1).expect("a directory");
        directory.index_only(&Identities::default(), true, 2, |_| {}).expect("indexed");
        let index = |name: &String| std::fs::read(folder.path().join(format!("{name}.tidx"))).ok();
        names.iter().map(index).collect::<Vec<_>>()
    };
    let first = made();
    assert!(first.iter().flatten().count() > 10);
    for _ in 0..2 {
        assert!(made() == first);
    }
}
