//! Changed, added and missing files are found.

use std::{fs, os::unix::fs::symlink, path::Path, thread};

use tidewire_archive::{Digest, Directory, Finding, Identities, IndexResult, Now, Retention, Settings, verify};

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
            line.as_object_mut().expect("an object").remove("crc32c");
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
    // With write access a manifest can be forged as a whole; the index of the next segment still names the one that is gone.
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

#[test]
fn an_archive_that_is_being_recorded_is_not_damaged() {
    let folder = tempfile::tempdir().expect("a folder");
    let packets = captures().iter().map(|path| read(path)).find(|packets| packets.len() > 40).expect("a capture");
    let mut recorder = Recorder::new(folder.path(), &Settings::default());
    let retention = Retention { size_bytes: Some(40_000), ..Retention::default() };
    thread::scope(|scope| {
        let recording = scope.spawn(|| {
            for number in 0..40 {
                let part = packets.get(number % 20..number % 20 + 20).unwrap_or(&packets);
                recorder.segment(part, &Identities::default());
                let now = Now::at(1_700_000_000_000_000_000);
                recorder.directory.retain(&retention, 1, &now).expect("kept within bounds");
            }
            // One is open at the end.
            let open = recorder.write(&packets);
            let last = verify(folder.path()).expect("verified");
            assert!(last.findings.is_empty() && last.is_recorded, "{last:?}");
            assert_eq!(last.open, [folder.path().join(open.hidden())]);
            assert!(last.removed > 0, "{last:?}");
        });
        while !recording.is_finished() {
            let found = verify(folder.path()).expect("verified");
            assert!(found.findings.is_empty(), "{found:?}");
        }
    });
}

#[test]
fn links_are_not_followed() {
    let (folder, elsewhere) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let names = recorded(folder.path());
    let (path, moved) = (folder.path().join(&names[1]), elsewhere.path().join("secret"));
    fs::rename(&path, &moved).expect("moved");
    symlink(&moved, &path).expect("a link");
    let before = fs::read(&moved).expect("its content");
    let found = verify(folder.path()).expect("verified").findings;
    assert!(
        matches!(&found[..], [Finding::Changed { path: named, what }] if *named == path && what.contains("link")),
        "{found:?}"
    );
    let results = index(folder.path());
    let refused = results.iter().filter_map(|result| match result {
        IndexResult::Refused { why, .. } => Some(why.to_string()),
        _ => None,
    });
    assert!(refused.collect::<String>().contains("symbolic link"), "{results:?}");
    // One in the place of what a crash left: it would be cut.
    let hidden = folder.path().join(".20231114T221320.000000000Z-w7-000001.pcapng.part");
    symlink(&moved, &hidden).expect("a link");
    let directory = Directory::open(folder.path(), &Settings::default(), 5).expect("a directory");
    let said = directory.repair(&Identities::default(), 6).expect_err("a link").to_string();
    assert!(said.contains("symbolic link") && said.contains("w7-000001"), "{said}");
    drop(directory);
    let manifest = folder.path().join("manifest.jsonl");
    fs::rename(&manifest, elsewhere.path().join("manifest")).expect("moved");
    symlink(elsewhere.path().join("manifest"), &manifest).expect("a link");
    assert!(Directory::open(folder.path(), &Settings::default(), 7).is_err());
    assert_eq!(fs::read(&moved).expect("its content"), before);
}

#[test]
fn a_manifest_is_read_within_bounds_and_its_unfinished_end_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = recorded(folder.path());
    let path = folder.path().join("manifest.jsonl");
    let whole = fs::read(&path).expect("a manifest");
    fs::write(&path, [&whole[..], b"{\"version\":1,\"event\":\"seg"].concat()).expect("written");
    let found = verify(folder.path()).expect("verified").findings;
    assert_eq!(found, [Finding::Unfinished { path: path.clone(), bytes: 25 }]);
    // Garbage behind it, with and without ends of lines.
    let mut garbage = vec![b'x'; 40 << 20];
    garbage[20 << 20] = b'\n';
    fs::write(&path, [&whole[..], &garbage].concat()).expect("written");
    assert_eq!(verify(folder.path()).expect("verified").findings.len(), 1);
    // The next recorder cuts it off, and goes on behind the last line.
    drop(Directory::open(folder.path(), &Settings::default(), 5).expect("a directory"));
    let after = fs::read(&path).expect("a manifest");
    assert!(after.starts_with(&whole) && after.len() < whole.len() + 300, "{}", after.len());
    let verified = verify(folder.path()).expect("verified");
    assert_eq!((verified.findings, verified.intact), (Vec::new(), names.len() as u64));
}

#[test]
fn a_manifest_forgets_segments_that_are_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let names = recorded(folder.path());
    let path = folder.path().join("manifest.jsonl");
    let lines: Vec<String> = fs::read_to_string(&path).expect("a manifest").lines().map(str::to_owned).collect();
    // As if thousands had come and gone before these.
    let (mut text, mut last, count) = (String::new(), String::new(), 3000);
    let gone = (0..count).flat_map(|number| {
        let segment = format!("20231114T221310.{number:09}Z-w0-{number:06}.pcapng");
        let line = |event: &str| {
            let digest = Digest::of(segment.as_bytes());
            serde_json::json!({"version": 1, "event": event, "time_ns": 1, "segment": segment, "bytes": 9, "index_digest": digest})
        };
        [line("segment"), line("removed")]
    });
    let kept = lines.iter().map(|line| serde_json::from_str(line).expect("a line"));
    for mut line in gone.chain(kept) {
        line["previous"] = last.into();
        line.as_object_mut().expect("an object").remove("crc32c");
        let line = line.to_string();
        last = Digest::of(line.as_bytes());
        text += &line;
        text.push('\n');
    }
    fs::write(&path, &text).expect("written");
    let before = verify(folder.path()).expect("verified");
    assert_eq!(before.removed, count);
    drop(Directory::open(folder.path(), &Settings::default(), 5).expect("a directory"));
    let after = fs::read_to_string(&path).expect("a manifest");
    assert!(after.lines().count() < 1100, "{} lines", after.lines().count());
    let first: serde_json::Value = serde_json::from_str(after.lines().next().expect("a line")).expect("a line");
    assert_eq!((&first["event"], &first["digest"]), (&"compacted".into(), &last.into()));
    let verified = verify(folder.path()).expect("verified");
    // The first segment that is there names one before it that is not of these.
    assert!(verified.findings.iter().all(|found| matches!(found, Finding::Predecessor { .. })), "{verified:?}");
    assert_eq!((verified.findings, verified.intact, verified.removed), (before.findings, names.len() as u64, count));
    // Numbers of segments and of packets go on.
    let packets = read(&folder.path().join(&names[0]));
    let next = Recorder::new(folder.path(), &Settings::default()).segment(&packets, &Identities::default());
    assert_eq!(next.sequence, count);
}
