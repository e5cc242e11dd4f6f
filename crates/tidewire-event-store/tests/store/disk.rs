//! Disks that are full, limited or read-only: an error with the path, and the writer goes on by itself.

use std::{
    env, fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    sync::mpsc::channel,
};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use tidewire_event_store::{Batch, Store, Writer, WriterSettings};
use tidewire_testing::{Ends as _, InTime as _, Lines, PATIENCE, missing, privileged, skip, wait_until};

use crate::common::{batch, damage, numbers, open};

const PATH: &str = "TIDEWIRE_TEST_STORE";

/// Stores until it fails, calls for room, and goes on; all that was submitted is there.
fn fill(path: &Path, expected: &str, mut make_room: impl FnMut()) {
    let writer = Writer::start(open(path), WriterSettings { batches_max: 4, ..WriterSettings::default() }).unwrap();
    let (acknowledged, results) = channel();
    let mut submitted = 0;
    while writer.status().failing.is_none() {
        assert!(submitted < 100_000, "the disk is never full");
        let acknowledged = acknowledged.clone();
        // Waits while batches wait: so it is given back what cannot be taken.
        let given = writer.try_submit(
            batch(submitted..submitted + 100),
            Box::new(move |result| {
                acknowledged.send(result.map_err(|error| error.to_string())).unwrap();
            }),
        );
        match given {
            None => submitted += 100,
            Some(_) => std::thread::yield_now(),
        }
    }
    let failing = writer.status().failing.unwrap();
    assert!(failing.contains(expected) && failing.contains(&path.display().to_string()), "{failing}");
    let before = numbers(path).len();
    make_room();
    drop(acknowledged);
    wait_until("the writer goes on by itself", || writer.status().failing.is_none());
    let mut count = 0;
    while let Ok(result) = results.recv_timeout(PATIENCE) {
        result.unwrap();
        count += 100;
    }
    assert_eq!(count, submitted, "everything is acknowledged in the end");
    drop(writer.finish());
    assert!(before <= submitted as usize);
    assert!(numbers(path).into_iter().eq(0..submitted), "everything is there, once");
    drop(open(path));
}

/// A process of its own whose files may not grow beyond a limit, until the parent lifts it.
#[test]
#[ignore = "a part of a test, which runs it as a process"]
fn stores_within_a_limit() {
    let Some(path) = env::var_os(PATH) else { return };
    fill(Path::new(&path), "disk I/O error", || {
        let _ = writeln!(std::io::stderr(), "no room");
        let lifted = || rustix::process::getrlimit(Resource::Fsize).current.is_none();
        wait_until("the limit is lifted", lifted);
    });
    let _ = writeln!(std::io::stderr(), "all is there");
}

#[test]
fn a_write_that_fails_is_retried_until_it_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    // The shell ignores the signal for files that are too large, and so does what it becomes.
    let mut child = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -S -f 4000; exec \"$0\" \"$@\""])
        .arg(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "disk::stores_within_a_limit", "--nocapture"])
        .env(PATH, &path)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = Lines::new(child.stderr.take().unwrap());
    lines.until("no room");
    let unlimited = Rlimit { current: None, maximum: None };
    prlimit(Pid::from_child(&child).into(), Resource::Fsize, unlimited).unwrap();
    lines.until("all is there");
    assert!(child.wait_in_time("the process with a limit").success());
}

/// In a mount namespace of its own: a small file system.
#[test]
#[ignore = "a part of a test, which runs it as a process"]
fn stores_on_a_small_disk() {
    let Some(folder) = env::var_os(PATH) else { return };
    let folder = Path::new(&folder);
    let mount = |arguments: &[&str]| {
        let status = Command::new("mount").args(arguments).arg(folder).status_in_time().unwrap();
        assert!(status.success(), "mount {arguments:?}");
    };
    mount(&["-t", "tmpfs", "-o", "size=4m", "none"]);
    let (path, ballast) = (folder.join("events.db"), folder.join("ballast"));
    fs::write(&ballast, vec![0; 2 << 20]).unwrap();
    fill(&path, "full", || fs::remove_file(&ballast).unwrap());
    let before = numbers(&path);
    mount(&["-o", "remount,ro"]);
    let error = Store::open(&path).map(drop).unwrap_err().to_string();
    assert!(error.contains(&path.display().to_string()) && error.contains("ead-only"), "{error}");
    mount(&["-o", "remount,rw"]);
    assert_eq!(open(&path).last_id(), before.len() as u64);
    assert_eq!(numbers(&path), before);
    recovers(&folder.join("damaged.db"), &ballast);
    let _ = writeln!(std::io::stderr(), "all is there");
}

/// A damaged store where there is no room for a second one: what is said to be kept is there, and the rest is in the file aside.
fn recovers(path: &Path, ballast: &Path) {
    fs::remove_file(path.with_file_name("events.db")).unwrap();
    let mut store = open(path);
    let positions = Batch { producers: vec![("p".into(), 7)], destinations: vec![("d".into(), 3)], ..batch(0..2000) };
    store.append(&positions).unwrap();
    let id = store.id().unwrap();
    drop(store);
    damage(path, 1000);
    let damaged = fs::read(path).unwrap();
    // Room for the log of the new store, and not for the store as well.
    let free = |least: usize| {
        let free = rustix::fs::statvfs(path).map(|disk| (disk.f_bavail * disk.f_bsize) as usize).unwrap();
        fs::write(ballast, vec![0; free - least]).unwrap();
    };
    free(damaged.len() + damaged.len() / 4);
    let (mut store, recovery) = Store::open(path).unwrap();
    let recovery = recovery.unwrap();
    assert!(recovery.lacked_room && recovery.has_positions, "{recovery:?}");
    assert_eq!(recovery.records, numbers(path).len() as u64);
    assert_eq!(fs::read(&recovery.kept_aside).unwrap(), damaged);
    assert_eq!((store.id().unwrap(), store.producer("p").unwrap()), (id, Some(7)), "numbers and positions go on");
    assert!(store.append(&batch(5000..5001)).unwrap() > 2000);
    drop(store);
    // With room, all but what is damaged is kept.
    fs::remove_file(path).unwrap();
    fs::rename(&recovery.kept_aside, path).unwrap();
    fs::remove_file(ballast).unwrap();
    let (_, recovery) = Store::open(path).unwrap();
    let recovery = recovery.unwrap();
    assert_eq!((recovery.records, recovery.lacked_room), (1999, false));
    assert_eq!(numbers(path).len(), 1999);
}

#[test]
fn a_full_disk_and_a_read_only_one_lose_nothing() {
    if let Some(reason) = missing(&["unshare", "mount"]) {
        return skip(reason);
    }
    if let Err(error) = privileged(|| {
        if rustix::process::geteuid().is_root() { Ok(()) } else { Err(std::io::ErrorKind::PermissionDenied.into()) }
    }) {
        return skip(format!("no file system can be mounted: {error}"));
    }
    let folder = tempfile::tempdir().unwrap();
    let tried = Command::new("unshare").args(["--mount", "true"]).status_in_time().unwrap();
    if !tried.success() {
        return skip("no mount namespace can be made");
    }
    let output = Command::new("unshare")
        .arg("--mount")
        .arg(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "disk::stores_on_a_small_disk", "--nocapture"])
        .env(PATH, folder.path())
        .run_in_time()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("all is there"),
        "{text}{}",
        String::from_utf8_lossy(&output.stdout)
    );
}
