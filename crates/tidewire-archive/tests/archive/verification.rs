//! What was changed, added or taken out is found.

use std::{fs, path::Path};

use tidewire_archive::{Digest, Finding, Identities, IndexResult, Settings, verify};

use crate::rig::{Recorder, captures, index, read};

/// An archive of four segments, and their names.
fn recorded(folder: &Path) -> Vec<String> {
    let packets = captures().iter().map(|path| read(path)).find(|packets| packets.len() > 40).expect("a capture");
    let mut recorder = Recorder::new(folder, &Settings::default());
    let parts = packets.chunks(packets.len().div_ceil(4));
    parts.map(|part| recorder.segment(part, &Identities::default()).to_string()).collect()
}

/// Writes a manifest without some lines, each line naming the one before.
fn rewrite(folder: &Path, keep: impl Fn(&serde_json::Value) -> bool) {
    let path = folder.join("manifest.jsonl");
    let (mut text, mut last) = (String::new(), String::new());
    for line in fs::read_to_string(&path).expect("a manifest").lines() {
        let mut line: serde_json::Value = serde_json::from_str(line).expect("a line");
        if keep(&line) {
            line["previous"] = last.into();
            let line = line.to_string();
            last = Digest::of(line.as_bytes());
            text += &line;
            text.push('\n');
        }
    }
    fs::write(path, text).expect("written");
}

#[test]
fn changes_of_files_and_of_the_manifest_are_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = recorded(folder.path());
    let intact = verify(folder.path()).expect("verified");
    assert_eq!((intact.findings, intact.intact), (Vec::new(), 4));
    let path = |name: &str| folder.path().join(name);
    let segment = fs::read(path(&names[1])).expect("a segment");
    let mut changed = segment.clone();
    changed[100] ^= 1;
    fs::write(path(&names[1]), changed).expect("written");
    let found = verify(folder.path()).expect("verified").findings;
    assert_eq!(found, [Finding::Changed { path: path(&names[1]), what: "its content" }]);
    fs::write(path(&names[1]), segment).expect("written");
    assert!(verify(folder.path()).expect("verified").findings.is_empty());
}

#[test]
fn a_segment_that_is_taken_out_with_its_lines_is_missed_by_the_next_index() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = recorded(folder.path());
    let path = |name: &str| folder.path().join(name);
    for file in [path(&names[1]), path(&format!("{}.tidx", names[1]))] {
        fs::remove_file(file).expect("removed");
    }
    assert_eq!(verify(folder.path()).expect("verified").findings, [Finding::Missing { path: path(&names[1]) }]);
    // Whoever can write the manifest makes one that is whole; the index of the next segment still names the one that is gone.
    rewrite(folder.path(), |line| line["segment"] != *names[1]);
    let found = verify(folder.path()).expect("verified").findings;
    assert_eq!(found, [Finding::Predecessor { path: path(&format!("{}.tidx", names[2])) }]);
}

#[test]
fn an_index_that_was_made_again_is_no_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = recorded(folder.path());
    fs::remove_file(folder.path().join(format!("{}.tidx", names[3]))).expect("removed");
    let results = index(folder.path());
    assert_eq!(results.iter().filter(|result| matches!(result, IndexResult::Made { .. })).count(), 1);
    let packets = read(&folder.path().join(&names[0]));
    Recorder::new(folder.path(), &Settings::default()).segment(&packets, &Identities::default());
    let verified = verify(folder.path()).expect("verified");
    assert_eq!((verified.findings, verified.intact), (Vec::new(), 5));
}
