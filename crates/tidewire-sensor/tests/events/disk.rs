//! Disks that are full or read-only: the status says so with the path, analyzers wait, and it goes on as soon as it can.

use std::{
    env, fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use tidewire_testing::{Ends as _, InTime as _, PATIENCE, filters::Numbers, missing, privileged, skip};

use tidewire_events::{Event, Value};
use tidewire_sensor::events::report::EventsReport;

use crate::rig::{Rig, event};

const FOLDER: &str = "TIDEWIRE_TEST_FOLDER";

fn large(analyzer: &str, number: u64) -> Event {
    event(analyzer, "large", number).with("bytes", Value::Bytes(Numbers(number + 1).bytes(2000)))
}

/// In a mount namespace of its own: a small file system.
#[test]
#[ignore = "a part of a test, which runs it as a process"]
fn stores_on_a_small_disk() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    let mount = |arguments: &[&str]| {
        let status = Command::new("mount").args(arguments).arg(folder).status_in_time().unwrap();
        assert!(status.success(), "mount {arguments:?}");
    };
    mount(&["-t", "tmpfs", "-o", "size=24m", "none"]);
    let ballast = folder.join("ballast");
    fs::write(&ballast, vec![0; 20 << 20]).unwrap();
    let mut rig = Rig::new();
    rig.settings.store = folder.join("events.db");
    let processor = rig.start();
    let events = rig.connect("a");
    let emitted = std::thread::scope(|scope| {
        let emitter = scope.spawn(|| {
            events.set_wait_limit(PATIENCE);
            (0..3000).for_each(|number| events.emit(&large("a", number)).unwrap());
            events.flush(PATIENCE).unwrap();
            3000
        });
        let path = rig.settings.store.display().to_string();
        let failing = processor.status("the disk is full", |status| status.failing.is_some()).failing.unwrap();
        assert!(failing.contains(&path) && failing.contains("full"), "{failing}");
        assert!(events.counts().acknowledged < 3000, "nothing is acknowledged that is not stored");
        fs::remove_file(&ballast).unwrap();
        emitter.join().unwrap()
    });
    processor.status("it goes on", |status| status.failing.is_none() && status.stored_events >= emitted);
    drop(events);
    assert!(processor.stop().failing.is_none());
    assert!(rig.numbers("a").into_iter().eq(0..emitted), "everything is there, once");
    rig.settings.stop = std::time::Duration::from_secs(2);
    ends_on_a_full_disk(&rig, &ballast);
    mount(&["-o", "remount,ro"]);
    let processor = rig.spawn(Stdio::null());
    let text = processor.until("it says why", |report| match report {
        EventsReport::Failed { text, .. } => Some(text.clone()),
        _ => None,
    });
    assert!(text.contains(&rig.settings.store.display().to_string()) && text.contains("ead-only"), "{text}");
    mount(&["-o", "remount,rw"]);
    let processor = rig.start();
    let events = rig.connect("a");
    events.emit(&event("a", "small", emitted)).unwrap();
    events.flush(PATIENCE).unwrap();
    drop(events);
    processor.stop();
    assert!(rig.numbers("a").into_iter().eq(0..=emitted));
    let _ = writeln!(std::io::stderr(), "all is there");
}

/// An end that cannot store what was received says so, with its figures, before the supervisor would kill it.
fn ends_on_a_full_disk(rig: &Rig, ballast: &Path) {
    let mut processor = rig.start();
    let events = rig.connect("late");
    let free = rustix::fs::statvfs(&rig.settings.store).map(|disk| disk.f_bavail * disk.f_bsize).unwrap();
    fs::write(ballast, vec![0; free as usize]).unwrap();
    for number in 0..200 {
        let _ = events.try_emit(&large("late", number));
    }
    processor.status("nothing can be stored", |status| status.failing.is_some());
    processor.ask();
    let stopped = Instant::now();
    let (text, status) = processor.until("its end", |report| match report {
        EventsReport::Failed { text, status, .. } => Some((text.clone(), status.clone().expect("its figures"))),
        EventsReport::Finished(status) => panic!("not everything is stored: {status:?}"),
        _ => None,
    });
    assert!(text.contains("full"), "{text}");
    assert_eq!(processor.child.wait_in_time("it").code(), Some(3));
    assert!(stopped.elapsed() < rig.settings.stop, "it would have been killed");
    let missing = status.events - status.stored_events;
    assert!(missing > 0 && text.contains(&format!("the last {missing} events received could not be stored")), "{text}");
    assert_eq!(events.counts().acknowledged, 0);
    fs::remove_file(ballast).unwrap();
    // The next one gets it.
    let processor = rig.start();
    events.flush(PATIENCE).unwrap();
    drop(events);
    processor.stop();
    assert!(rig.numbers("late").into_iter().eq(0..200));
}

#[test]
fn a_full_disk_and_a_read_only_one_make_analyzers_wait() {
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
        .env(FOLDER, folder.path())
        .run_in_time()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("all is there"), "{text}{said}");
}
