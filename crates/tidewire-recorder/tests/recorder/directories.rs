use std::{fs, path::Path, time::Duration};

use tidewire_archive::{Directory, Error, Query, Settings};
use tidewire_recorder::RecordSettings;

use crate::rig::{captures, read, recall, record, record_to};

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

/// What cannot be written ends the recording of files, with an error that names the place.
#[test]
fn a_directory_that_refuses_is_named() {
    let folder = tempfile::tempdir().expect("a directory");
    let archive = Settings { segment_bytes: 20_000, ..Settings::default() };
    let place = folder.path().join("gone");
    let directory = Directory::open(&place, &archive, 0).expect("a directory");
    fs::remove_dir_all(&place).expect("it goes");
    let (figures, told) = record_to(&large(), vec![directory], RecordSettings::default());
    let path = place.display().to_string();
    assert!(told.iter().any(|text| text.contains(&path)), "{told:?}");
    let all = figures.totals.all();
    assert!(all.shed_packets > 0, "{all:?}");
}
