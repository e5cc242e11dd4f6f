//! A collector whose disk is full: nothing is acknowledged that is not stored, both logs say why, and it goes on by itself.

use std::{env, fs, path::Path, process::Command, time::Duration};

use tidewire_delivery::{FolderSettings, To};
use tidewire_testing::{InTime as _, missing, privileged, skip, wait_until};

use crate::rig::{Collecting, Spooling, batch, count, destination, key_file, numbers, open, to_collector};

const PLACE: &str = "TIDEWIRE_TEST_PLACE";

/// In a mount namespace of its own: a small file system.
#[test]
#[ignore = "a part of a test, which runs it as a process"]
fn collects_on_a_small_disk() {
    let Some(place) = env::var_os(PLACE) else { return };
    let place = Path::new(&place);
    let small = place.join("small");
    fs::create_dir(&small).unwrap();
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=16m", "none"]).arg(&small).status_in_time();
    assert!(mount.unwrap().success());
    let ballast = small.join("ballast");
    fs::write(&ballast, vec![0; 13 << 20]).unwrap();
    let path = place.join("events.db");
    let mut store = open(&path);
    store.append(&batch(0..200)).unwrap();
    let collecting = Collecting::start(&small.join("collected"));
    let there = collecting.of("edge-1");
    let address = collecting.address().to_string();
    let spooling = Spooling::start(&path, vec![to_collector("c", &address, key_file("edge-1"))]);
    wait_until("what has room", || count(&there) == 200);
    let mut stored = 200;
    while !collecting.log.all().iter().any(|line| line.contains("full")) {
        assert!(stored < 50_000, "the disk is never full");
        store.append(&batch(stored..stored + 500)).unwrap();
        stored += 500;
        std::thread::sleep(Duration::from_millis(20));
    }
    let line = collecting.log.until("it cannot be stored");
    assert!(line.contains("edge-1") && line.contains("events.db") && line.contains("free space"), "{line}");
    spooling.log.until("it cannot be stored");
    let before = count(&there);
    assert!(spooling.status("c").delivered <= before && before < stored);
    let to_folder = fails_until_something_is_delivered(&path, &small.join("out"));
    fs::remove_file(&ballast).unwrap();
    to_folder.until("the folder has all", "f", |status| status.delivered == stored && status.failing.is_none());
    wait_until("everything has arrived", || count(&there) == stored);
    spooling.until("all is well", "c", |status| status.delivered == stored && status.failing.is_none());
    assert!(numbers(&there).into_iter().eq(0..stored));
    println!("all is there");
}

/// A folder on the full disk can be opened each time, and gets nothing: it works again when it has something, not before.
fn fails_until_something_is_delivered(store: &Path, folder: &Path) -> Spooling {
    fs::create_dir(folder).unwrap();
    let settings =
        FolderSettings { path: folder.to_owned(), every: Duration::from_millis(200), bytes: 1 << 30, expand: false };
    let spooling = Spooling::start(store, vec![destination("f", To::Folder(settings))]);
    spooling.until("it fails", "f", |status| status.failing.is_some());
    spooling.until("it has failed again and again", "f", |status| {
        assert!(status.failing.is_some() && status.delivered == 0, "{status:?}");
        status.failures >= 6
    });
    spooling
}

#[test]
fn a_full_disk_of_the_collector_loses_nothing() {
    if let Some(reason) = missing(&["unshare", "mount"]) {
        return skip(reason);
    }
    let is_root = || match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err(std::io::ErrorKind::PermissionDenied.into()),
    };
    if let Err(error) = privileged(is_root) {
        return skip(format!("no file system can be mounted: {error}"));
    }
    if !Command::new("unshare").args(["--mount", "true"]).status_in_time().unwrap().success() {
        return skip("no mount namespace can be made");
    }
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("unshare")
        .arg("--mount")
        .arg(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "disk::collects_on_a_small_disk", "--nocapture"])
        .env(PLACE, folder.path())
        .run_in_time()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("all is there"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
