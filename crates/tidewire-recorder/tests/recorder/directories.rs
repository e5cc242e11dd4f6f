use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use tidewire_archive::{Directory, Error, Query, Retention, Settings};
use tidewire_recorder::{Notice, RecordSettings};

use crate::rig::{captures, read, recall, record, record_to, record_within};

fn large() -> std::path::PathBuf {
    captures().into_iter().max_by_key(|path| path.metadata().map_or(0, |file| file.len())).expect("a capture")
}

fn segments(folder: &Path) -> usize {
    let names = fs::read_dir(folder).expect("a directory").map(|entry| entry.expect("an entry").file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".pcapng")).count()
}

#[test]
fn segments_go_to_several_directories_in_turn() {
    let folders = [tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory")];
    let paths = folders.each_ref().map(|folder| folder.path());
    let archive = Settings { segment_bytes: 20_000, ..Settings::default() };
    record(&large(), &paths, &archive, RecordSettings::default());
    let counts = paths.map(segments);
    assert!(counts[0] > 1 && counts[0].abs_diff(counts[1]) <= 1, "{counts:?}");
    assert_eq!(recall(&paths, &Query::default()).len(), read(&large()).len());
}

/// Where files are memory the next segment's space is reserved while one is written, and what it did not take is free again.
#[test]
fn what_is_recorded_to_memory_takes_no_more_than_its_bytes() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("skipped: /dev/shm is closed");
        return;
    };
    let archive = Settings { segment_bytes: 20_000, ..Settings::default() };
    for retention in [Retention::default(), Retention { size_bytes: Some(1 << 30), ..Retention::default() }] {
        let open = Directory::open(folder.path(), &archive, 0).expect("a directory");
        record_within(&large(), vec![open], retention, RecordSettings::default(), |notice| panic!("{notice:?}"));
    }
    assert!(segments(folder.path()) > 2);
    let mut found = recall(&[folder.path()], &Query::default());
    let mut expected = [read(&large()), read(&large())].concat();
    found.sort();
    expected.sort();
    assert!(found == expected, "{} of {} packets", found.len(), expected.len());
    for entry in fs::read_dir(folder.path()).expect("a directory") {
        let file = entry.expect("an entry").metadata().expect("known");
        assert!(file.blocks() * 512 <= file.len().next_multiple_of(4096), "{file:?}");
    }
}

/// Whatever segment the packet lies in by which it is named.
#[test]
fn a_stream_is_found_in_all_directories_of_its_recording() {
    let folders = [tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory")];
    let paths = folders.each_ref().map(|folder| folder.path());
    let archive = Settings { segment_bytes: 20_000, ..Settings::default() };
    record(&large(), &paths, &archive, RecordSettings::default());
    let mut parted = 0;
    for folder in 0..2_u64 {
        for packet in 1..=200 {
            let stream = Some((folder << 40) + packet);
            let both = recall(&paths, &Query { stream, ..Query::default() }).len();
            // The same without the other directory: of the first one ids are the same.
            let alone = match folder {
                0 => recall(&paths[..1], &Query { stream, ..Query::default() }).len(),
                _ => recall(&paths[1..], &Query { stream: Some(packet), ..Query::default() }).len(),
            };
            assert!(both >= alone, "packet {packet} of directory {folder}: {both} and {alone}");
            parted += u32::from(both > alone && alone > 0);
        }
    }
    assert!(parted > 0, "no stream lies in both directories");
}

#[test]
fn segments_end_by_packet_time() {
    let packets = read(&large());
    let folder = tempfile::tempdir().expect("a directory");
    let archive = Settings { segment_time: Duration::from_millis(1), ..Settings::default() };
    record(&large(), &[folder.path()], &archive, RecordSettings::default());
    assert!(segments(folder.path()) > 1);
    assert_eq!(recall(&[folder.path()], &Query::default()).len(), packets.len());
}

#[test]
fn a_directory_has_one_recorder() {
    let folder = tempfile::tempdir().expect("a directory");
    let first = Directory::open(folder.path(), &Settings::default(), 0).expect("a directory");
    assert!(matches!(Directory::open(folder.path(), &Settings::default(), 0), Err(Error::Locked { .. })));
    drop(first);
    record(&large(), &[folder.path()], &Settings::default(), RecordSettings::default());
}

/// A capture with so many packets of 1,000 bytes, a millisecond apart.
fn many(folder: &Path, count: u32) -> std::path::PathBuf {
    let (path, mut bytes) = (folder.join("many.pcap"), Vec::new());
    [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    for number in 0..count {
        let words = [1_700_000_000 + number / 1000, number % 1000 * 1000, 1000, 1000];
        words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend([number as u8; 1000]);
    }
    fs::write(&path, bytes).expect("written");
    path
}

/// Where segments are completed more slowly than they are written, the writer waits: what has no name yet is within the bound, too.
#[test]
fn segments_that_wait_for_their_names_are_within_the_bound() {
    let folder = tempfile::tempdir().expect("a directory");
    let place = folder.path().join("archive");
    let archive = Settings { segment_bytes: 100_000, ..Settings::default() };
    let directory = Directory::open(&place, &archive, 0).expect("a directory");
    let (size, most) = (1_000_000, Arc::new(Mutex::new((0, 0))));
    let seen = Arc::clone(&most);
    let figures = record_within(
        &many(folder.path(), 6000),
        vec![directory],
        Retention { size_bytes: Some(size), ..Retention::default() },
        RecordSettings::default(),
        move |notice| {
            if matches!(notice, Notice::Removed { .. }) {
                std::thread::sleep(Duration::from_millis(10));
                let files = fs::read_dir(&place).expect("a directory").flatten();
                let names = files.map(|file| (file.file_name(), file.metadata().map_or(0, |found| found.len())));
                let (mut open, mut bytes) = (0, 0);
                for (name, length) in names {
                    open += u32::from(name.to_string_lossy().ends_with(".pcapng.part"));
                    bytes += length;
                }
                let mut most = seen.lock().unwrap();
                *most = (most.0.max(open), most.1.max(bytes));
            }
        },
    );
    assert!(figures.removed > 40 && figures.totals.all().written_packets == 6000, "{figures:?}");
    let (open, bytes) = *most.lock().unwrap();
    assert!((1..=2).contains(&open), "{open} segments have no name yet");
    assert!(bytes <= size + 100_000, "{bytes}");
}

/// Packets that no search can find are not written, whatever was said before the directory went.
#[test]
fn packets_of_a_directory_that_is_removed_are_shed() {
    let folder = tempfile::tempdir().expect("a directory");
    let place = folder.path().join("archive");
    let archive = Settings { segment_bytes: 1_000_000, ..Settings::default() };
    let directory = Directory::open(&place, &archive, 0).expect("a directory");
    let gone = place.clone();
    // The first notice is of the first segment that went: it ends with the directory.
    let figures = record_within(
        &many(folder.path(), 6000),
        vec![directory],
        Retention { size_bytes: Some(3_000_000), ..Retention::default() },
        RecordSettings::default(),
        move |notice| {
            if matches!(notice, Notice::Removed { .. }) {
                // The writer makes files in it meanwhile.
                while gone.exists() {
                    let _ = fs::remove_dir_all(&gone);
                }
            }
        },
    );
    let (all, completed) = (figures.totals.all(), figures.segments);
    assert!(!place.exists() && completed > 0, "{figures:?}");
    assert!(all.written_packets <= completed * 1000, "{all:?} in {completed} segments");
    assert!(all.shed_packets > 0, "{all:?}");
}

/// A failure to write ends the recording of files, with an error that names the place.
#[test]
fn a_directory_that_refuses_is_named() {
    let folder = tempfile::tempdir().expect("a directory");
    let archive = Settings { segment_bytes: 20_000, ..Settings::default() };
    let place = folder.path().join("gone");
    let directory = Directory::open(&place, &archive, 0).expect("a directory");
    fs::remove_dir_all(&place).expect("it goes");
    let (figures, reported) = record_to(&large(), vec![directory], RecordSettings::default());
    let path = place.display().to_string();
    assert!(reported.iter().any(|text| text.contains(&path)), "{reported:?}");
    let all = figures.totals.all();
    assert!(all.shed_packets > 0, "{all:?}");
}
