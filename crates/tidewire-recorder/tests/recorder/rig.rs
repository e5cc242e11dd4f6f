//! A recording of capture files, and what became of it.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use tidewire::{Capture, Stop};
use tidewire_archive::{Archive, Directory, Identities, Query, Retention, Settings};
use tidewire_files::{Block, Source};
use tidewire_recorder::{Notice, RecordSettings, Recorder, Snapshot, Status, Targets};

/// A packet, as captures and archives have it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    pub timestamp_ns: u64,
    pub wire_bytes: u32,
    pub link: u16,
    pub bytes: Vec<u8>,
}

/// All packets of a source.
pub fn drain(source: &mut dyn Source) -> Vec<Seen> {
    let (mut seen, mut block) = (Vec::new(), Block::new());
    while source.fill(&mut block).unwrap_or(false) {
        let batch = block.batch();
        seen.extend(batch.frames.iter().map(|frame| Seen {
            timestamp_ns: frame.timestamp.as_nanos(),
            wire_bytes: frame.wire_bytes,
            link: frame.link.0,
            bytes: batch.bytes(frame).to_vec(),
        }));
    }
    seen
}

/// The packets of a capture file.
pub fn read(path: &Path) -> Vec<Seen> {
    drain(&mut tidewire_files::Reader::open(path).expect("a capture"))
}

/// The packets that a query finds. No error may occur.
pub fn recall(folders: &[&Path], query: &Query) -> Vec<Seen> {
    let archive = Archive::open(folders, Identities::default()).expect("an archive");
    let mut recall = archive.recall(query).expect("a query");
    let seen = drain(&mut recall);
    assert!(recall.notes().is_empty(), "{:?}", recall.notes());
    seen
}

/// Captures of the tests.
pub fn captures() -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus"), &mut found);
    found.sort();
    assert!(found.len() > 10);
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the corpus") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "pcap" || ending == "pcapng") {
            found.push(path);
        }
    }
}

/// Records a capture, and returns the figures and the reports to the user.
pub fn record(
    capture: &Path,
    folders: &[&Path],
    archive: &Settings,
    settings: RecordSettings,
) -> (Snapshot, Vec<String>) {
    let open = |folder: &&Path| Directory::open(folder, archive, 0).expect("a directory");
    record_to(capture, folders.iter().map(open).collect(), settings)
}

/// The same, to directories that are open.
pub fn record_to(capture: &Path, directories: Vec<Directory>, settings: RecordSettings) -> (Snapshot, Vec<String>) {
    let reported = Arc::new(Mutex::new(Vec::new()));
    let reporting = Arc::clone(&reported);
    let snapshot = record_within(capture, directories, Retention::default(), settings, move |notice| {
        if let Notice::Failed { error, .. } = notice {
            reporting.lock().unwrap().push(error.to_string());
        }
    });
    (snapshot, std::mem::take(&mut *reported.lock().unwrap()))
}

/// The same, within bounds; `notify` is called with reports to the user.
pub fn record_within(
    capture: &Path,
    directories: Vec<Directory>,
    retention: Retention,
    settings: RecordSettings,
    notify: impl Fn(Notice) + Send + Sync + 'static,
) -> Snapshot {
    let stop = Stop::new();
    let targets = Arc::new(Targets::new(directories, retention, 1, &stop, notify));
    let (status, settings) = (Arc::new(Status::default()), Arc::new(settings));
    let recorder = Recorder::new(&settings, 0, &targets, &status).expect("settings");
    let mut recorder = Some(recorder);
    let outcome = Capture::files([capture.to_owned()]).stop_when(&stop).run_frames(|_| recorder.take().expect("one"));
    drop(outcome);
    let snapshot = status.snapshot();
    assert!(snapshot.totals.closes(), "{snapshot:?}");
    snapshot
}
