//! Damage that appears while a store is open, and what is checked when it is opened.

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::{FileExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    sync::{Mutex, mpsc::channel},
    time::Duration,
};

use tidewire_event_store::{Batch, Error, KeyId, Loss, Opening, RestoreProgress, Row, Store, Writer, WriterSettings};
use tidewire_testing::{PATIENCE, wait_until};

use crate::common::{batch, damage, numbers, open, records};

/// Result of storing a batch.
fn submit(writer: &Writer, batch: Batch) -> Result<u64, Error> {
    let (done, result) = channel();
    writer.submit(batch, move |result| done.send(result).unwrap());
    result.recv_timeout(PATIENCE).unwrap()
}

/// Overwrites a page of the running store: the root of an index, which each new record changes.
fn spoil(path: &Path) {
    let other = rusqlite::Connection::open(path).unwrap();
    other.query_row("PRAGMA wal_checkpoint(FULL)", [], |_| Ok(())).unwrap();
    let text = "SELECT rootpage FROM sqlite_schema WHERE name = 'record_by_severity'";
    let page = other.query_row(text, [], |row| row.get::<_, i64>(0)).unwrap() as u64;
    // A process that sees that another one has written reads its pages again.
    other.execute("INSERT INTO fact VALUES ('other', 1)", []).unwrap();
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&[0xa5; 4096], (page - 1) * 4096).unwrap();
}

#[test]
fn damage_under_a_running_writer_ends_it_and_opening_recovers_everything() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let writer = Writer::start(open(&path), WriterSettings::default()).unwrap();
    assert_eq!(submit(&writer, batch(0..2000)).unwrap(), 2000);
    spoil(&path);
    // It is tried again some times, and then given back.
    let error = submit(&writer, batch(2000..2001)).unwrap_err();
    assert!(error.is_damage() && error.to_string().contains("events.db"), "{error}");
    assert!(writer.broken().is_some());
    assert!(submit(&writer, batch(2000..2001)).is_err(), "nothing is tried any more");
    drop(writer.finish());
    let (mut store, recovery) = Store::open(&path).unwrap();
    assert_eq!(recovery.unwrap().records, 2000);
    assert!(numbers(&path).into_iter().eq(0..2000));
    assert!(store.append(&batch(2000..2001)).unwrap() >= 2001);
    drop(store);
    drop(open(&path));
}

#[test]
fn a_store_that_is_replaced_under_a_running_writer_ends_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let settings = WriterSettings { retain_every: std::time::Duration::from_millis(5), ..WriterSettings::default() };
    let writer = Writer::start(open(&path), settings).unwrap();
    submit(&writer, batch(0..10)).unwrap();
    fs::rename(&path, folder.path().join("elsewhere.db")).unwrap();
    wait_until("it is noticed", || writer.broken().is_some());
    let error = submit(&writer, batch(10..20)).unwrap_err().to_string();
    assert!(error.contains("events.db") && error.contains("replaced"), "{error}");
}

/// Under a running writer its store is moved away, with its log or without, or removed: the files that it still has are put back.
#[test]
fn a_store_that_is_removed_under_a_running_writer_is_put_back() {
    let gone: [fn(&Path); 4] = [
        |path| fs::rename(path, path.with_extension("moved")).unwrap(),
        |path| fs::remove_file(path).unwrap(),
        |path| {
            fs::rename(beside(path, "-wal"), path.with_extension("moved-wal")).unwrap();
            fs::rename(path, path.with_extension("moved")).unwrap();
        },
        |path| {
            for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
                fs::remove_file(entry.unwrap().path()).unwrap();
            }
        },
    ];
    for (at, gone) in gone.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.db");
        let mut store = open(&path);
        store.append(&batch(0..10)).unwrap();
        drop(store);
        let settings = WriterSettings { retain_every: Duration::from_millis(5), ..WriterSettings::default() };
        let store = open(&path);
        let id = store.id().unwrap();
        let writer = Writer::start(store, settings).unwrap();
        submit(&writer, batch(10..20)).unwrap();
        gone(&path);
        wait_until("it is noticed", || writer.broken().is_some());
        drop(writer.finish());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let store = open(&path);
        assert_eq!((store.loss(), store.id().unwrap(), store.last_id()), (None, id, 20), "case {at}");
        assert!(numbers(&path).into_iter().eq(0..20), "case {at}");
        drop(store);
        let moved = path.with_extension("moved");
        assert!(!moved.exists() || numbers(&moved).into_iter().eq(0..20), "the file that was moved is whole");
        let left = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let is_known = |name: &String| name == "events.db" || name == "events.db.lock" || name.contains("moved");
        assert_eq!(left.filter(|name| !is_known(name)).collect::<Vec<_>>(), [""; 0], "case {at}");
    }
}

/// Putting a store back says how far it is: at its beginning and at its end, and in between as long as it takes.
#[test]
fn restoring_a_store_reports_its_progress() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    store.append(&batch(0..20_000)).unwrap();
    fs::remove_file(&path).unwrap();
    let reports = Mutex::new(Vec::new());
    store.close_with(|progress| reports.lock().unwrap().push(progress));
    let reports = reports.into_inner().unwrap();
    let (first, last) = (reports[0], reports[reports.len() - 1]);
    assert!(!first.is_done && first.bytes <= first.bytes_total && first.bytes_total > 1 << 20, "{reports:?}");
    assert_eq!(last, RestoreProgress { bytes: first.bytes_total, bytes_total: first.bytes_total, is_done: true });
    assert!(reports[..reports.len() - 1].iter().all(|report| !report.is_done));
    assert!(first.to_string().contains("is put back") && last.to_string().contains("in its place again"));
    assert!(numbers(&path).into_iter().eq(0..20_000));
    // One that is in its place has nothing to report.
    open(&path).close_with(|progress| panic!("{progress}"));
    // A writer does it on its own thread.
    let mut writer = Writer::start(open(&path), WriterSettings::default()).unwrap();
    submit(&writer, batch(20_000..20_001)).unwrap();
    fs::remove_file(&path).unwrap();
    writer.begin_close();
    wait_until("it is closed", || writer.is_closed());
    assert!(writer.status().restore_progress.is_some_and(|progress| progress.is_done));
    assert!(numbers(&path).into_iter().eq(0..20_001));
}

/// A loss that cannot be undone is reported by the next opening, once: the log was cut, or another store is there.
#[test]
fn what_a_running_writer_lost_is_said_once() {
    type Gone = fn(&Path);
    let gone: [(Gone, Loss, usize); 3] = [
        (
            |path| OpenOptions::new().write(true).open(beside(path, "-wal")).unwrap().set_len(30_000).unwrap(),
            Loss::Log,
            0,
        ),
        (|path| fs::rename(path.with_file_name("other.db"), path).unwrap(), Loss::Store, 3),
        (
            |path| {
                fs::remove_file(path).unwrap();
                fs::create_dir(path.with_file_name("events.db.putting-back")).unwrap();
            },
            Loss::Store,
            0,
        ),
    ];
    for (gone, loss, left) in gone {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.db");
        open(&path.with_file_name("other.db")).append(&batch(0..3)).unwrap();
        let mut store = open(&path);
        store.append(&batch(0..1000)).unwrap();
        gone(&path);
        assert!(store.is_replaced());
        drop(store);
        let _ = fs::remove_dir(path.with_file_name("events.db.putting-back"));
        assert_eq!(open(&path).loss(), Some(loss));
        assert_eq!(numbers(&path).len(), left, "what is there is not touched");
        assert_eq!(open(&path).loss(), None, "it is said once");
    }
}

/// A writer that is killed after it has said that it writes, and before it has written, has lost nothing.
#[test]
fn a_writer_that_is_killed_before_it_stores_has_lost_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, left) = (folder.path().join("events.db"), folder.path().join("left.db"));
    open(&path).append(&batch(0..10)).unwrap();
    let mut store = open(&path);
    let row = Row { key: Some(KeyId::default()), ..Row::plain(0, &records(10..11)[0]).unwrap() };
    let error = store.append(&Batch { rows: vec![row], ..Batch::default() }).unwrap_err();
    assert!(matches!(error, Error::UnknownKey { .. }), "{error}");
    for ending in ["", "-wal"] {
        fs::copy(beside(&path, ending), beside(&left, ending)).unwrap();
    }
    assert_eq!(open(&left).loss(), None);
    assert!(numbers(&left).into_iter().eq(0..10));
}

/// A writer that cannot say that it ends in order, as on a full disk, leaves its log.
#[test]
fn a_writer_that_cannot_end_in_order_has_lost_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    store.append(&batch(0..10)).unwrap();
    let text = "CREATE TRIGGER refuse BEFORE UPDATE ON fact WHEN NEW.name = 'in_use' AND NEW.value = 0
        BEGIN SELECT RAISE(ABORT, 'no room'); END";
    rusqlite::Connection::open(&path).unwrap().execute_batch(text).unwrap();
    drop(store);
    // Nor can those that follow.
    for _ in 0..2 {
        assert_eq!(open(&path).loss(), None);
    }
    assert!(numbers(&path).into_iter().eq(0..10));
}

/// A recovered store is not in use: it has no log of a writer that could be missing.
#[test]
fn after_a_recovery_that_is_killed_nothing_is_missed() {
    let folder = tempfile::tempdir().unwrap();
    let [path, left, recovered] = ["events.db", "left.db", "recovered.db"].map(|name| folder.path().join(name));
    let mut store = open(&path);
    store.append(&batch(0..100)).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.query_row("PRAGMA wal_checkpoint(FULL)", [], |_| Ok(())).unwrap();
    fs::copy(&path, &left).unwrap();
    damage(&left, 50);
    let (opened, recovery) = Store::open(&left).unwrap();
    assert_eq!((recovery.unwrap().records, opened.loss()), (99, None));
    // As it was put into its place.
    fs::copy(&left, &recovered).unwrap();
    let found = open(&recovered);
    assert_eq!((found.loss(), found.last_id()), (None, opened.last_id()));
    assert!(found.last_id() > 1 << 20, "numbers that its log may have had are not given again");
}

/// Without its writer, the log of a store that was removed is kept: SQLite would remove it.
#[test]
fn the_log_of_a_removed_store_is_kept_aside() {
    let folder = tempfile::tempdir().unwrap();
    let (path, left) = (folder.path().join("events.db"), folder.path().join("left.db"));
    let mut store = open(&path);
    store.append(&batch(0..10)).unwrap();
    for ending in ["-wal", ".lock"] {
        fs::copy(beside(&path, ending), beside(&left, ending)).unwrap();
    }
    let log = fs::read(beside(&left, "-wal")).unwrap();
    assert_eq!(open(&left).loss(), Some(Loss::Store));
    assert_eq!(fs::read(beside(&left, ".damaged-1-wal")).unwrap(), log);
    assert_eq!(open(&left).loss(), None, "it is said once");
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    format!("{}{ending}", path.display()).into()
}

/// The writer still has its log, and writes it back when it ends.
#[test]
fn a_log_that_is_removed_under_a_running_writer_ends_it_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let settings = WriterSettings { retain_every: std::time::Duration::from_millis(5), ..WriterSettings::default() };
    let writer = Writer::start(open(&path), settings).unwrap();
    submit(&writer, batch(0..10)).unwrap();
    fs::remove_file(beside(&path, "-wal")).unwrap();
    wait_until("it is noticed", || writer.broken().is_some());
    assert!(submit(&writer, batch(10..20)).unwrap_err().to_string().contains("its log was removed"));
    drop(writer.finish());
    let store = open(&path);
    assert_eq!(store.loss(), None);
    assert!(numbers(&path).into_iter().eq(0..10));
}

#[test]
fn a_log_that_is_cut_under_a_running_writer_ends_it_and_the_loss_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let settings = WriterSettings { retain_every: std::time::Duration::from_secs(3600), ..WriterSettings::default() };
    let writer = Writer::start(open(&path), settings).unwrap();
    submit(&writer, batch(0..1000)).unwrap();
    // A write of its own accord, behind the first batch, takes place.
    wait_until("it has looked at its limits", || writer.destinations().is_some());
    OpenOptions::new().write(true).open(beside(&path, "-wal")).unwrap().set_len(0).unwrap();
    let error = submit(&writer, batch(1000..2000)).unwrap_err().to_string();
    assert!(error.contains("cut"), "{error}");
    drop(writer.finish());
    let (mut store, recovery) = Store::open(&path).unwrap();
    assert_eq!((store.loss(), recovery), (Some(Loss::Log), None));
    assert!(store.append(&batch(1000..2000)).unwrap() > 2000, "a collector may have the numbers");
    drop(store);
    assert_eq!(open(&path).loss(), None);
    assert!(numbers(&path).into_iter().eq(1000..2000));
}

/// Files that a killed writer leaves, with its log and without; and a store that was emptied or removed between two writers.
#[test]
fn what_is_gone_between_two_writers_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (path, left) = (folder.path().join("events.db"), folder.path().join("left.db"));
    let mut store = open(&path);
    store.append(&batch(0..10)).unwrap();
    for with_log in [true, false] {
        for ending in if with_log { &["", "-wal"][..] } else { &[""] } {
            fs::copy(beside(&path, ending), beside(&left, ending)).unwrap();
        }
        let found = open(&left);
        assert_eq!(found.loss(), (!with_log).then_some(Loss::Log));
        drop(found);
        assert_eq!(open(&left).loss(), None, "it is said once");
        assert_eq!(numbers(&left).len(), if with_log { 10 } else { 0 });
        fs::remove_file(&left).unwrap();
    }
    drop(store);
    let gone: [fn(&Path); 2] =
        [|path| fs::remove_file(path).unwrap(), |path| fs::File::create(path).map(drop).unwrap()];
    for gone in gone {
        gone(&path);
        assert_eq!(open(&path).loss(), Some(Loss::Store));
        assert_eq!(open(&path).loss(), None, "it is said once");
    }
}

/// A store that is larger than what is checked at once, with damage in this record.
fn large(path: &Path, damaged: u64) -> Opening {
    let mut store = open(path);
    for at in 0..8 {
        store.append(&batch(at * 1000..at * 1000 + 1000)).unwrap();
    }
    drop(store);
    damage(path, damaged);
    Opening { check_bytes: 1 << 20 }
}

#[test]
fn of_a_large_store_the_newest_records_are_checked_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let opening = large(&path, 7900);
    let (store, recovery) = Store::open_with(&path, &opening).unwrap();
    assert_eq!(recovery.unwrap().records, 7999);
    assert!(!store.is_unchecked());
}

#[test]
fn the_rest_of_a_large_store_is_checked_later() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let opening = large(&path, 4000);
    let (mut store, recovery) = Store::open_with(&path, &opening).unwrap();
    assert_eq!(recovery, None, "opening does not read all of it");
    assert!(store.is_unchecked());
    let (mut steps, mut found) = (0, None);
    while found.is_none() {
        steps += 1;
        match store.check_step() {
            Ok(true) => {}
            Ok(false) => panic!("the damage was not found"),
            Err(error) => found = Some(error),
        }
    }
    assert!(matches!(found, Some(Error::Damaged { id: 4001, .. })) && steps > 3, "{found:?} after {steps}");
    drop(store);
    // A writer does that by itself, and then everything is checked, and recovered.
    let (store, recovery) = Store::open_with(&path, &opening).unwrap();
    assert_eq!(recovery, None);
    let writer = Writer::start(store, WriterSettings::default()).unwrap();
    wait_until("the damage is found", || writer.broken().is_some());
    drop(writer.finish());
    let (store, recovery) = Store::open_with(&path, &opening).unwrap();
    assert_eq!(recovery.unwrap().records, 7999);
    drop(store);
    let (mut store, recovery) = Store::open_with(&path, &opening).unwrap();
    assert_eq!(recovery, None);
    while store.check_step().unwrap() {}
}
