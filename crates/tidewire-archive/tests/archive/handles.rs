//! A directory whose path leads elsewhere later: nothing is written there.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::symlink,
    path::Path,
};

use tidewire_archive::{Directory, Error, Find, Identities, Now, Query, Retention, Settings, Storage as _, verify};

use crate::rig::{Recorder, Seen, recall};

fn packets() -> Vec<Seen> {
    let packet = |number: u8| Seen {
        timestamp_ns: 1_700_000_000_000_000_000 + u64::from(number),
        wire_bytes: 60,
        link: 1,
        bytes: vec![number; 60],
    };
    (0..10).map(packet).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// As a user has it who may write to a folder on the way: the directory is moved away, and a link to another one has its name.
#[test]
fn a_directory_that_is_exchanged_for_a_link_is_written_to_and_nothing_else() {
    let base = tempfile::tempdir().expect("a folder");
    let [way, moved, other] = ["way", "moved", "other"].map(|name| base.path().join(name));
    fs::create_dir(&way).expect("made");
    fs::create_dir(&other).expect("made");
    let refuse: Find = |_| Err(io::Error::from(io::ErrorKind::PermissionDenied));
    let handle = File::open(&way).expect("open").into();
    let now_ns = 1_700_000_000_000_000_000;
    let directory = Directory::open_found(handle, &way, &Settings::default(), now_ns, refuse).expect("a directory");
    let mut recorder = Recorder { directory, now_ns };
    let first = recorder.segment(&packets(), &Identities::default());
    let open = recorder.write(&packets());
    let before = names(&way);

    fs::rename(&way, &moved).expect("moved");
    symlink(&other, &way).expect("a link");
    // Files that another user would have us remove, replace or complete.
    let theirs = [first.to_string(), first.index(), open.hidden(), "manifest.jsonl".into(), "draft".into()];
    theirs.iter().for_each(|name| fs::write(other.join(name), "theirs").expect("written"));

    let (directory, storage) = (&recorder.directory, recorder.directory.storage());
    assert!(!directory.is_in_place());
    storage.create("draft").expect("created");
    storage.rename("draft", "renamed").expect("renamed");
    storage.sync_names().expect("synced");
    storage.remove("renamed").expect("removed");
    assert!(!storage.has("draft"));
    // Where the recorder has to go on, it says that it may not.
    let next = directory.begin(now_ns + 1, 0);
    assert!(matches!(directory.create_with(&next, None), Err(Error::Io { .. })));
    let none = Retention { size_bytes: Some(0), ..Retention::default() };
    assert!(directory.retain(&none, 1, &Now::at(now_ns)).is_err());
    // The repair has no path to go by.
    directory.repair(&Identities::default(), now_ns).expect("repaired");

    let mut left: Vec<String> = theirs.to_vec();
    left.sort();
    assert_eq!(names(&other), left);
    assert!(theirs.iter().all(|name| fs::read(other.join(name)).expect("read") == b"theirs"), "not changed");
    // The open segment was completed where it is.
    let mut after: Vec<String> = before.into_iter().filter(|name| !name.starts_with('.')).collect();
    after.extend([open.to_string(), open.index()]);
    after.sort();
    assert_eq!(names(&moved), after);
    drop(recorder);
    assert_eq!(recall(&moved, &Query::default()).len(), 20);
    assert!(verify(&moved).expect("verified").findings.is_empty());
}
