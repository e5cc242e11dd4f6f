//! Records that are kept and found, their order, and records that retention removes.

use std::os::unix::fs::PermissionsExt as _;

use tidewire_event_store::{Batch, Destination, Error, Limits, Now, Order, Query, Reader, Reason, Store};
use tidewire_events::{Record, Severity};

use crate::common::{batch, event, numbers, open, records};

#[test]
fn everything_is_there_after_opening_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    assert_eq!(store.append(&batch(0..10)).unwrap(), 10);
    let positions = Batch {
        producers: vec![("scan".into(), 9), ("match".into(), 3)],
        destinations: vec![("collector".into(), 4)],
        state: Some(b"state".to_vec()),
        ..batch(10..20)
    };
    assert_eq!(store.append(&positions).unwrap(), 20);
    let again = Batch { destinations: vec![("collector".into(), 2)], ..Batch::default() };
    assert_eq!(store.append(&again).unwrap(), 20, "a batch without records");
    assert!(matches!(Store::open(&path), Err(Error::Locked { .. })));
    drop(store);
    let store = open(&path);
    assert_eq!(numbers(&path), (0..20).collect::<Vec<_>>());
    assert_eq!((store.producer("scan").unwrap(), store.producer("match").unwrap()), (Some(9), Some(3)));
    assert_eq!(store.producer("unknown").unwrap(), None);
    assert_eq!(store.state().unwrap(), Some(b"state".to_vec()));
    assert_eq!(store.next_numbers().unwrap(), (20, 20));
    let collector = Destination {
        name: "collector".into(),
        delivered: 4,
        lost_records: 0,
        lost_events: 0,
        severity: Severity::Info,
    };
    assert_eq!(store.destinations().unwrap(), [collector], "positions never go back");
    assert_eq!((store.last_id(), store.range().unwrap()), (20, Some((1, 20))));
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600, "no other user may read events");
}

#[test]
fn records_are_found_by_what_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    // Stored against the order of their times, over several pages of reading.
    let mut shuffled = records(0..1000);
    shuffled.reverse();
    store.append(&Batch { records: shuffled, ..Batch::default() }).unwrap();
    let reader = Reader::open(&path).unwrap();
    let found = |query: &Query<'_>| -> Vec<u64> {
        let all = reader.all(query).unwrap();
        all.iter().map(|stored| stored.record().unwrap().first()).collect()
    };
    let all: Vec<u64> = (0..1000).collect();
    assert!(found(&Query::default()).into_iter().rev().eq(all.iter().copied()), "as stored");
    assert_eq!(found(&Query { order: Order::Time, ..Query::default() }), all);
    let (since, until) = (event(300).time_ns, event(699).time_ns);
    for order in [Order::Time, Order::Stored] {
        let query = Query { order, since_ns: Some(since), until_ns: Some(until), ..Query::default() };
        let mut numbers = found(&query);
        numbers.sort_unstable();
        assert_eq!(numbers, all[300..700]);
        let uneven = ["uneven".to_owned()];
        let filter = |record: &Record| record.first() % 10 == 3;
        let query = Query {
            order,
            kinds: &uneven,
            severity: Severity::High,
            filter: Some(&filter),
            after: 500,
            ..Query::default()
        };
        let mut numbers = found(&query);
        numbers.sort_unstable();
        // Stored in reverse: record 501 is number 499.
        assert_eq!(numbers, (0..500).filter(|n| n % 10 == 3 && n % 5 >= 3).collect::<Vec<_>>());
    }
    assert_eq!(found(&Query { fold: Some(77), ..Query::default() }), [77]);
    assert!(found(&Query { fold: Some(7777), order: Order::Time, ..Query::default() }).is_empty());
    let unknown = ["unknown".to_owned()];
    assert!(found(&Query { analyzers: &unknown, ..Query::default() }).is_empty());
    let mut first = Vec::new();
    let query = Query { order: Order::Time, ..Query::default() };
    reader
        .read(&query, |stored| {
            first.push(stored.id);
            first.len() < 3
        })
        .unwrap();
    assert_eq!(first, [1000, 999, 998]);
    assert_eq!(reader.counts().unwrap(), (1000, 1000));
}

#[test]
fn a_reader_sees_what_is_stored_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    let reader = Reader::open(&path).unwrap();
    let mut last = 0;
    for at in 0..20 {
        store.append(&batch(at * 50..at * 50 + 50)).unwrap();
        let new = reader.all(&Query { after: last, ..Query::default() }).unwrap();
        assert_eq!((new.len(), new[0].id), (50, last + 1));
        last = new[49].id;
    }
}

#[test]
fn the_oldest_of_the_least_severe_go_first_and_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    store
        .append(&Batch {
            destinations: vec![("slow".into(), 10), ("fast".into(), 6000)],
            stored: Some(Now::at(0)),
            ..batch(0..6000)
        })
        .unwrap();
    let used = store.used_bytes().unwrap();
    let limits = Limits { age_ns: None, size_bytes: used / 2 };
    let removed = store.retain(&limits, Now::at(0)).unwrap();
    assert!(store.used_bytes().unwrap() <= limits.size_bytes && removed > 2000, "{removed}");
    let left = numbers(&path);
    assert_eq!(left.len() as u64 + removed, 6000);
    // Of one severity the oldest are gone, of those below all, of those above none.
    let of = |severity: u64| left.iter().filter(move |number| *number % 5 == severity);
    let partly: Vec<u64> = (0..5).filter(|severity| (1..1200).contains(&of(*severity).count())).collect();
    let [partly] = partly[..] else { panic!("{partly:?}") };
    assert!((0..partly).all(|severity| of(severity).count() == 0));
    assert!((partly + 1..5).all(|severity| of(severity).count() == 1200));
    assert_eq!(of(partly).next_back(), Some(&(5995 + partly)), "the youngest are left");
    let counted = store.removed().unwrap();
    assert_eq!(counted.iter().map(|removed| removed.records).sum::<u64>(), removed);
    assert!(counted.iter().all(|removed| removed.reason == Reason::Size && removed.events == removed.records));
    let lost: Vec<u64> = store.destinations().unwrap().iter().map(|destination| destination.lost_records).collect();
    assert_eq!(lost[0], 0, "fast has all");
    assert!(lost[1] >= removed - 10 && lost[1] <= removed, "slow lost what it had not got: {lost:?}");
    // By age, of storing: what is older than its limit, whatever its severity.
    const HOUR: u64 = 3_600_000_000_000;
    for hour in 1..4 {
        store
            .append(&Batch { stored: Some(Now::at(hour * HOUR)), ..batch(hour * 10_000..hour * 10_000 + 10) })
            .unwrap();
    }
    let limits = |hours: u64| Limits { age_ns: Some(hours * HOUR), size_bytes: u64::MAX };
    assert_eq!(store.retain(&limits(10), Now::at(3 * HOUR)).unwrap(), 0);
    assert_eq!(store.retain(&limits(1), Now::at(2 * HOUR + HOUR / 2)).unwrap(), 6000 - removed + 10);
    assert_eq!(numbers(&path), (20_000..20_010).chain(30_000..30_010).collect::<Vec<_>>());
    // A clock that jumped ahead and back: nothing is removed before its time.
    store.append(&Batch { stored: Some(Now::at(1000 * HOUR)), ..batch(0..1) }).unwrap();
    store.append(&Batch { stored: Some(Now::at(0)), ..batch(1..2) }).unwrap();
    assert_eq!(store.retain(&limits(1), Now::at(4 * HOUR + HOUR / 2)).unwrap(), 20);
    assert_eq!(numbers(&path), [0, 1]);
    // Numbers are never given twice, even when all are gone.
    assert_eq!(store.retain(&limits(1), Now::at(2000 * HOUR)).unwrap(), 2);
    assert_eq!(store.range().unwrap(), None);
    drop(store);
    let mut store = open(&path);
    assert_eq!(store.append(&batch(0..1)).unwrap(), 6033);
    assert!(path.metadata().unwrap().len() < used / 2, "free pages are given back");
}

#[test]
fn what_is_no_store_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no-folder/events.db");
    let error = Store::open(&missing).map(drop).unwrap_err();
    assert!(error.to_string().contains("no-folder/events.db"), "{error}");
    assert!(Reader::open(&folder.path().join("nothing.db")).is_err());
    let path = folder.path().join("other.db");
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE other (x)").unwrap();
    drop(other);
    let before = std::fs::read(&path).unwrap();
    assert!(matches!(Store::open(&path), Err(Error::NotAStore { .. })));
    assert!(matches!(Reader::open(&path), Err(Error::NotAStore { .. })));
    let after = rusqlite::Connection::open(&path).unwrap();
    assert_eq!(after.query_row("SELECT count(*) FROM other", [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    drop((before, after));
    let path = folder.path().join("later.db");
    drop(open(&path));
    let later = rusqlite::Connection::open(&path).unwrap();
    later.pragma_update(None, "user_version", 9).unwrap();
    drop(later);
    assert!(matches!(Store::open(&path), Err(Error::Version { found: 9, .. })));
}

/// Files that another user put there beforehand could be read, or believed, or keep their mode: none of them is used or changed.
#[test]
fn a_store_with_files_of_another_user_is_refused() {
    for ending in ["", "-wal", "-shm", "-journal", ".lock", ".doubt", ".recovering", ".recovering-wal"] {
        for is_new in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("events.db");
            if !is_new {
                drop(open(&path));
            }
            let theirs = folder.path().join(format!("events.db{ending}"));
            std::fs::OpenOptions::new().create(true).append(true).open(&theirs).unwrap();
            if std::os::unix::fs::lchown(&theirs, Some(12_345), None).is_err() {
                return println!("skipped: files of other users need root");
            }
            let before = std::fs::read(&theirs).unwrap();
            let error = Store::open(&path).map(drop).unwrap_err().to_string();
            let expected = format!("{}: refused: it belongs to another user (12345)", theirs.display());
            assert!(error.starts_with(&expected), "{error}");
            assert_eq!(std::fs::read(&theirs).unwrap(), before, "{ending}");
            std::fs::remove_file(&theirs).unwrap();
            drop(open(&path));
        }
    }
}

/// Nothing is made where a link leads that lies beside a store.
#[test]
fn a_link_in_the_place_of_the_lock_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, there) = (folder.path().join("events.db"), folder.path().join("there"));
    std::os::unix::fs::symlink(&there, folder.path().join("events.db.lock")).unwrap();
    let error = Store::open(&path).map(drop).unwrap_err().to_string();
    assert!(error.contains("events.db.lock") && !there.exists(), "{error}");
}

/// A link in the place of a store is said to be one, whose, and where it leads.
#[test]
fn a_link_in_the_place_of_a_store_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (path, there) = (folder.path().join("events.db"), folder.path().join("there.db"));
    drop(open(&there));
    std::os::unix::fs::symlink(&there, &path).unwrap();
    let expected = format!("it is a link of user {} to {}", rustix::process::geteuid().as_raw(), there.display());
    let error = Store::open(&path).map(drop).unwrap_err().to_string();
    assert!(error.contains(&expected) && error.contains("remove the link"), "{error}");
    // The same where it comes while the store is open.
    std::fs::remove_file(&path).unwrap();
    let mut store = open(&path);
    store.append(&Batch { records: records(0..3), ..Batch::default() }).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&there, &path).unwrap();
    let error = store.append(&Batch { records: records(3..4), ..Batch::default() }).unwrap_err();
    assert!(!error.is_damage() && error.to_string().contains(&expected), "{error}");
}

/// Who may write in the directory may remove or replace the file of the lock while it is held, or give the store a second name.
#[test]
fn a_store_has_one_writer_whatever_happens_to_the_file_of_its_lock() {
    let folder = tempfile::tempdir().unwrap();
    let [path, lock, other] = ["events.db", "events.db.lock", "other.db"].map(|name| folder.path().join(name));
    let mut store = open(&path);
    store.append(&batch(0..10)).unwrap();
    let replace: [fn(&std::path::Path); 2] =
        [|lock| std::fs::remove_file(lock).unwrap(), |lock| std::fs::write(lock, "").unwrap()];
    for replace in replace {
        replace(&lock);
        assert!(matches!(Store::open(&path), Err(Error::Locked { .. })));
        let _ = std::fs::remove_file(&lock);
    }
    std::fs::hard_link(&path, &other).unwrap();
    assert!(matches!(Store::open(&other), Err(Error::Locked { .. })), "a second name");
    std::fs::remove_file(&other).unwrap();
    store.append(&batch(10..20)).unwrap();
    drop(store);
    assert!(numbers(&path).into_iter().eq(0..20));
    drop(open(&path));
}

/// A FIFO in the place of a file is not waited for, and what another name of a file leads to is not written.
#[test]
fn files_of_other_types_beside_a_store_are_refused() {
    for ending in ["", "-wal", ".lock", ".doubt", ".recovering"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.db");
        drop(open(&path));
        let theirs = folder.path().join(format!("events.db{ending}"));
        let _ = std::fs::remove_file(&theirs);
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &theirs, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(!tidewire_event_store::is_of_another_program(&path), "{ending}");
        let error = Store::open(&path).map(drop).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: refused: it is a FIFO", theirs.display())), "{error}");
        std::fs::remove_file(&theirs).unwrap();
        drop(open(&path));
    }
    let folder = tempfile::tempdir().unwrap();
    let [path, victim] = ["events.db", "victim"].map(|name| folder.path().join(name));
    std::fs::write(&victim, "precious").unwrap();
    std::fs::hard_link(&victim, folder.path().join("events.db.lock")).unwrap();
    let error = Store::open(&path).map(drop).unwrap_err().to_string();
    assert!(error.contains("a hard link") && std::fs::read_to_string(&victim).unwrap() == "precious", "{error}");
}
