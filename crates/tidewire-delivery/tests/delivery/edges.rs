//! Cases that stopped delivery, or lost something, before they were thought of.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, lchown, symlink},
    time::{Duration, SystemTime},
};

use tidewire_delivery::{DestinationSettings, FolderSettings, To, collector::CollectSettings, keys::identity};
use tidewire_event_store::{Batch, Limits, Recipients, Sealer};
use tidewire_events::{Folder, FolderSettings as FoldersSettings, Output};
use tidewire_testing::wait_until;

use crate::rig::{Collecting, Spooling, batch, count, destination, key_file, numbers, open, records, to_collector};

#[test]
fn a_damaged_record_costs_itself_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    store.append(&batch(0..20)).unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute("UPDATE record SET crc = crc + 1 WHERE id IN (8, 9, 20)", []).unwrap();
    drop(connection);
    let collecting = Collecting::start(&folder.path().join("collected"));
    let to = to_collector("c", &collecting.address().to_string(), key_file("edge-1"));
    let spooling = Spooling::start(&path, vec![to]);
    wait_until("the others", || count(&collecting.of("edge-1")) == 17);
    spooling.log.until("record 8 is damaged and left out");
    store.append(&batch(20..25)).unwrap();
    wait_until("what follows", || count(&collecting.of("edge-1")) == 22);
    let expected: Vec<u64> = (0..25).filter(|number| ![7, 8, 19].contains(number)).collect();
    assert_eq!(numbers(&collecting.of("edge-1")), expected);
    spooling.until("figures", "c", |status| status.damaged == 3 && status.delivered == 25 && status.failing.is_none());
}

#[test]
fn a_backlog_with_many_data_keys_is_delivered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let recipients = Recipients::parse(&[identity::make().1]).unwrap();
    let mut store = open(&path);
    for number in 0..100 {
        // A sensor that is started a hundred times.
        let mut sealer = Sealer::new(&recipients).unwrap();
        let rows = records(number..number + 1).iter().map(|record| sealer.seal(record).unwrap()).collect();
        store.append(&Batch { rows, keys: vec![sealer.key()], ..Batch::default() }).unwrap();
    }
    let collecting = Collecting::start(&folder.path().join("collected"));
    let to = to_collector("c", &collecting.address().to_string(), key_file("edge-1"));
    let spooling = Spooling::start(&path, vec![to]);
    wait_until("all", || count(&collecting.of("edge-1")) == 100);
    spooling.until("the position", "c", |status| status.delivered == 100 && status.failures == 0);
}

#[test]
fn destinations_that_share_a_folder_keep_their_own_positions() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("events.db"), folder.path().join("out"));
    fs::create_dir(&out).unwrap();
    let mut store = open(&path);
    store.append(&batch(0..50)).unwrap();
    let to = |name: &str, severity: &str| {
        let every = Duration::from_millis(1);
        let settings = FolderSettings { path: out.clone(), every, bytes: 1 << 30, expand: true };
        DestinationSettings { severity: severity.into(), ..destination(name, To::Folder(settings)) }
    };
    let lines = |name: &str| -> usize {
        let names = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
        let own = names.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(&format!("{name}-")));
        own.map(|path| fs::read_to_string(path).unwrap().lines().count()).sum()
    };
    let spooling = Spooling::start(&path, vec![to("all", "info")]);
    spooling.until("all", "all", |status| status.delivered == 50);
    drop(spooling);
    let spooling = Spooling::start(&path, vec![to("bad", "critical"), to("all", "info")]);
    spooling.until("the critical ones", "bad", |status| status.delivered == 50);
    assert_eq!((lines("all"), lines("bad")), (50, 10));
}

#[test]
fn a_flood_in_one_record_does_not_become_gigabytes() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("events.db"), folder.path().join("out"));
    fs::create_dir(&out).unwrap();
    let mut folder_of = Folder::new(FoldersSettings::default(), [0; 2], 0, 0);
    let mut folded = Output::default();
    for _ in 0..60_000 {
        folder_of.push_event(0, &crate::rig::event(1), &mut folded).unwrap();
    }
    folder_of.close_all(&mut folded).unwrap();
    let records = folded.records;
    assert!(records.iter().any(|record| record.count() > 10_000));
    open(&path).append(&Batch { records, ..Batch::default() }).unwrap();
    let settings = FolderSettings { path: out.clone(), every: Duration::from_millis(1), bytes: 1 << 30, expand: true };
    let spooling = Spooling::start(&path, vec![destination("files", To::Folder(settings))]);
    spooling.until("delivery", "files", |status| status.events == 60_000 && status.lag_records == 0);
    let names: Vec<_> = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path()).collect();
    let bytes: u64 = names.iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    assert!(bytes < 3_000_000, "{bytes} bytes");
}

#[test]
fn sensors_that_never_come_back_are_tidied_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let (path, collected) = (folder.path().join("events.db"), folder.path().join("collected"));
    let mut store = open(&path);
    store.append(&batch(0..50)).unwrap();
    let collecting = Collecting::start(&collected);
    let there = collecting.of("edge-1");
    let to = to_collector("c", &collecting.address().to_string(), key_file("edge-1"));
    let spooling = Spooling::start(&path, vec![to]);
    wait_until("all", || count(&there) == 50);
    drop(spooling);
    collecting.server.finish();
    let days_ago = SystemTime::now() - Duration::from_secs(2 * 86_400);
    for name in ["events.db", "events.db-wal"] {
        if let Ok(file) = fs::File::options().write(true).open(there.with_file_name(name)) {
            file.set_modified(days_ago).unwrap();
        }
    }
    // A reader of it does not delay its removal.
    let _reader = tidewire_event_store::Reader::open(&there).unwrap();
    assert!(fs::metadata(there.with_file_name("events.db-wal")).is_ok_and(|log| log.len() == 0));
    let limits = Limits { age_ns: Some(1), size_bytes: 1 << 30 };
    let _collecting = Collecting::with(CollectSettings { limits, ..Collecting::settings(&collected) });
    wait_until("it is removed", || count(&there) == 0);
    // And closed: another process may have it.
    wait_until("it is closed", || tidewire_event_store::Store::open(&there).is_ok());
}

/// In a folder where all may make links, no other user decides where files of events go.
#[test]
fn a_folder_is_not_where_a_link_of_another_user_leads() {
    let place = tempfile::tempdir().unwrap();
    let (path, link, there) = (place.path().join("events.db"), place.path().join("link"), place.path().join("there"));
    fs::create_dir(&there).unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    symlink(&there, &link).unwrap();
    if lchown(&link, Some(12_345), None).is_err() {
        return println!("skipped: links of other users need root");
    }
    let mut store = open(&path);
    store.append(&batch(0..5)).unwrap();
    let settings = FolderSettings { path: link.clone(), every: Duration::ZERO, bytes: 1, expand: true };
    let spooling = Spooling::start(&path, vec![destination("f", To::Folder(settings))]);
    spooling.log.until("link of another user (12345)");
    assert_eq!(fs::read_dir(&there).unwrap().count(), 0);
    // One's own is followed.
    lchown(&link, Some(0), None).unwrap();
    spooling.until("all is there", "f", |status| status.delivered == 5 && status.failing.is_none());
    assert_eq!(fs::read_dir(&there).unwrap().count(), 1);
}
