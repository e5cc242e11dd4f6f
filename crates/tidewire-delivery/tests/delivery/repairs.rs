//! Damage, lost stores and hostile peers while both sides run: each of these lost something once, or stopped delivery.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command, time::Duration};

use tidewire_delivery::{
    FolderSettings, Row, To,
    collector::CollectSettings,
    keys::{certificates, identity},
};
use tidewire_event_store::{Batch, Reader, Recipients, Sealer};
use tidewire_events::{Event, Folder, FolderSettings as FoldersSettings, Output, Record};
use tidewire_testing::{InTime as _, wait_until};

use crate::rig::{
    Collecting, Spooling, batch, count, destination, event, key_file, numbers, open, records, to_collector,
};

/// Writes over the first page of a table or an index of a database that other processes have open. Their caches are out of date then.
fn damage(path: &Path, name: &str) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(10)).unwrap();
    let page = connection.query_row("SELECT rootpage FROM sqlite_schema WHERE name = ?1", [name], |row| row.get(0));
    let page: i64 = page.unwrap();
    // An unchanged page is not written.
    let touch = || connection.execute("INSERT OR REPLACE INTO fact VALUES ('touched', randomblob(8))", []).unwrap();
    touch();
    // Not while another process reads: then a part of the log is left, which covers what is in the file.
    let checkpoint = || connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    wait_until("a checkpoint", || checkpoint().unwrap() == 0);
    // By another process: to close a descriptor of the file is to give up this process's locks of it.
    let mut dd = Command::new("dd");
    dd.args(["if=/dev/zero", "bs=4096", "count=1", "conv=notrunc", "status=none"]).arg(format!("seek={}", page - 1));
    assert!(dd.arg(format!("of={}", path.display())).status_in_time().unwrap().success());
    touch();
}

#[test]
fn a_store_of_a_collector_that_is_damaged_while_it_is_open_is_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    store.append(&batch(0..500)).unwrap();
    let collecting = Collecting::start(&folder.path().join("collected"));
    let there = collecting.of("edge-1");
    let to = to_collector("c", &collecting.address().to_string(), key_file("edge-1"));
    let spooling = Spooling::start(&path, vec![to]);
    wait_until("what was stored before", || count(&there) == 500);
    damage(&there, "record_by_time");
    store.append(&batch(500..600)).unwrap();
    collecting.log.until("the store is recovered");
    collecting.log.until("was damaged");
    spooling.until("delivery goes on", "c", |status| status.delivered == 600 && status.failing.is_none());
    assert!(numbers(&there).into_iter().eq(0..600));
}

#[test]
fn a_sensor_reports_that_its_own_store_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("events.db"), folder.path().join("out"));
    fs::create_dir(&out).unwrap();
    let mut store = open(&path);
    store.append(&batch(0..500)).unwrap();
    let every = Duration::from_millis(1);
    let to = FolderSettings { path: out, every, bytes: 1 << 30, expand: true };
    let spooling = Spooling::start(&path, vec![destination("files", To::Folder(to))]);
    spooling.until("delivery", "files", |status| status.delivered == 500);
    damage(&path, "record");
    wait_until("the report of damage", || !spooling.damage().is_empty());
    assert!(spooling.damage()[0].contains("events.db"), "{:?}", spooling.damage());
    spooling.log.until("is recovered when the event processor opens it again");
}

#[test]
fn what_a_destination_acknowledged_is_not_sent_again_though_the_position_was_not_stored() {
    let folder = tempfile::tempdir().unwrap();
    let (path, collected) = (folder.path().join("events.db"), folder.path().join("collected"));
    let mut store = open(&path);
    store.append(&batch(0..100)).unwrap();
    let collecting = Collecting::start(&collected);
    let (address, there) = (collecting.address(), collecting.of("edge-1"));
    let spooling = Spooling::start(&path, vec![to_collector("c", &address.to_string(), key_file("edge-1"))]);
    spooling.until("delivery", "c", |status| status.delivered == 100);
    // There is no event processor that would have stored the position, and the collector loses its own.
    collecting.server.finish();
    fs::remove_dir_all(&collected).unwrap();
    store.append(&batch(100..110)).unwrap();
    let _collecting = Collecting::start_at(&collected, address);
    spooling.until("delivery", "c", |status| status.delivered == 110);
    assert!(numbers(&there).into_iter().eq(100..110), "{:?}", numbers(&there));
}

#[test]
fn the_last_figures_are_those_of_the_end_and_a_dead_destination_has_a_lag() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("events.db"), folder.path().join("out"));
    fs::create_dir(&out).unwrap();
    let mut store = open(&path);
    store.append(&batch(0..3000)).unwrap();
    let every = Duration::from_secs(3600);
    let files = FolderSettings { path: out, every, bytes: 1 << 30, expand: true };
    let dead = to_collector("dead", "127.0.0.1:1", key_file("edge-1"));
    let spooling = Spooling::start(&path, vec![destination("files", To::Folder(files)), dead]);
    spooling.until("figures", "files", |status| status.lag_records == 3000);
    spooling.until("figures", "dead", |status| status.lag_records == 3000);
    store.append(&batch(3000..3100)).unwrap();
    let (last, all) = (spooling.last("files"), store.last_id());
    assert_eq!((last.delivered, last.lag_records, all), (3100, 0, 3100));
}

#[test]
fn who_is_on_the_list_is_shut_out_by_name_or_number() {
    let folder = tempfile::tempdir().unwrap();
    let (path, list) = (folder.path().join("events.db"), folder.path().join("refused"));
    let mut store = open(&path);
    store.append(&batch(0..10)).unwrap();
    fs::write(&list, "# no name\n").unwrap();
    let settings = Collecting::settings(&folder.path().join("collected"));
    let collecting = Collecting::with(CollectSettings { refused: Some(list.clone()), ..settings });
    let address = collecting.address().to_string();
    let start = |sensor: &str| Spooling::start(&path, vec![to_collector("c", &address, key_file(sensor))]);
    let (first, second) = (start("edge-1"), start("edge-2"));
    for spooling in [&first, &second] {
        spooling.until("delivery", "c", |status| status.delivered == 10);
    }
    let serial = certificates(&key_file("edge-2")).unwrap()[0].1.serial.clone();
    fs::write(&list, "edge-1\nsomething else\n").unwrap();
    assert!(collecting.server.reload().unwrap_err().to_string().contains("line 2"), "the old list stays in use");
    fs::write(&list, format!("edge-1\nserial {serial}\n")).unwrap();
    collecting.server.reload().unwrap();
    store.append(&batch(10..20)).unwrap();
    for spooling in [&first, &second] {
        spooling.log.until("this sensor or its certificate was shut out here");
    }
    for (sensor, spooling) in [("edge-1", &first), ("edge-2", &second)] {
        assert_eq!((count(&collecting.of(sensor)), spooling.status("c").delivered), (10, 10));
    }
    // Another one of the same authority, and the same again once it is off the list.
    let third = start("edge-3");
    third.until("delivery", "c", |status| status.delivered == 20);
    fs::write(&list, "edge-1\n").unwrap();
    collecting.server.reload().unwrap();
    second.until("delivery", "c", |status| status.delivered == 20);
    assert_eq!(count(&collecting.of("edge-1")), 10);
}

#[test]
fn encrypted_records_whose_key_is_lost_are_left_out_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let recipients = Recipients::parse(&[identity::make().1]).unwrap();
    let mut sealer = Sealer::new(&recipients).unwrap();
    let rows = records(0..5).iter().map(|record| sealer.seal(record).unwrap()).collect();
    let mut store = open(&path);
    store.append(&Batch { rows, keys: vec![sealer.key()], ..Batch::default() }).unwrap();
    store.append(&batch(5..10)).unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute("DELETE FROM key", []).unwrap();
    let collecting = Collecting::start(&folder.path().join("collected"));
    let to = to_collector("c", &collecting.address().to_string(), key_file("edge-1"));
    let spooling = Spooling::start(&path, vec![to]);
    spooling.log.until("5 records are left out: they are invalid, or encrypted and their key is missing");
    spooling.until("the others", "c", |status| status.delivered == 10 && status.damaged == 5);
    assert!(numbers(&collecting.of("edge-1")).into_iter().eq(5..10));
}

/// A record whose head can be read and whose columns cannot: its checksum is right.
fn hostile() -> Row {
    let mut folder = Folder::new(FoldersSettings::default(), [0; 2], 0, 0);
    let mut out = Output::default();
    for number in 0..100 {
        let event = Event { kind: "even".into(), ..event(number * 2) };
        folder.push_event(0, &event, &mut out).unwrap();
    }
    folder.close_all(&mut out).unwrap();
    let record = out.records.into_iter().max_by_key(Record::count).unwrap();
    assert!(record.count() > 1);
    let bytes = record.bytes()[..record.bytes().len() - 5].to_vec();
    let record = Record::decode(&bytes).unwrap();
    assert!(record.events().is_err());
    Row::plain(0, &record).unwrap()
}

#[test]
fn a_record_that_cannot_be_written_is_reported_while_a_folder_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("events.db"), folder.path().join("out"));
    fs::create_dir(&out).unwrap();
    let mut store = open(&path);
    store.append(&batch(0..3)).unwrap();
    let every = Duration::from_millis(1);
    let to = FolderSettings { path: out.clone(), every, bytes: 1 << 30, expand: true };
    let spooling = Spooling::start(&path, vec![destination("files", To::Folder(to))]);
    spooling.until("the first ones", "files", |status| status.delivered == 3);
    store.append(&Batch { rows: vec![hostile()], ..Batch::default() }).unwrap();
    store.append(&batch(3..5)).unwrap();
    spooling.log.until("record 4 cannot be written as JSON and is left out");
    spooling.until("the others", "files", |status| status.delivered == 6 && status.damaged == 1);
    let names = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
    let lines: usize = names.map(|path| fs::read_to_string(path).unwrap().lines().count()).sum();
    assert_eq!(lines, 5);
}

#[test]
fn a_link_that_others_put_into_a_folder_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("events.db"), folder.path().join("out"));
    fs::create_dir(&out).unwrap();
    let mut store = open(&path);
    store.append(&batch(0..3)).unwrap();
    let every = Duration::from_millis(1);
    let to = FolderSettings { path: out.clone(), every, bytes: 1 << 30, expand: true };
    let spooling = Spooling::start(&path, vec![destination("files", To::Folder(to))]);
    spooling.until("the first ones", "files", |status| status.delivered == 3);
    let victim = folder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    let store_id = Reader::open(&path).unwrap().store_id().unwrap();
    let prefix: String = store_id.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    symlink(&victim, out.join(format!(".files-{prefix}.partial"))).unwrap();
    store.append(&batch(3..6)).unwrap();
    spooling.until("the others", "files", |status| status.delivered == 6);
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    let is_link = |entry: fs::DirEntry| entry.file_type().unwrap().is_symlink();
    assert!(!fs::read_dir(&out).unwrap().any(|entry| is_link(entry.unwrap())));
}
