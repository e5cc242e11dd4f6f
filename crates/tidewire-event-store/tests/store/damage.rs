//! Torn logs, changed pages, and files that are no database.

use std::{
    fs,
    path::{Path, PathBuf},
};

use tidewire_event_store::{Batch, Content, Error, Order, Query, Reader, Store};

use crate::common::{batch, numbers, open};

const SECTOR: usize = 512;
const BATCHES: u64 = 8;

fn log(path: &Path) -> PathBuf {
    path.with_extension("db-wal")
}

/// Bytes of the database and of its log while the store is open, and the log's length behind each batch.
fn stored(path: &Path) -> (Vec<u8>, Vec<u8>, Vec<usize>) {
    let mut store = open(path);
    let mut ends = Vec::new();
    for at in 0..BATCHES {
        let producers = vec![("p".to_owned(), at)];
        store.append(&Batch { producers, ..batch(at * 3..at * 3 + 3) }).unwrap();
        ends.push(fs::metadata(log(path)).unwrap().len() as usize);
    }
    assert!(ends.is_sorted());
    (fs::read(path).unwrap(), fs::read(log(path)).unwrap(), ends)
}

/// The number of batches restored from a database with this log: a prefix of them, whole. `is_written`: by a writer, with their positions.
fn restored(path: &Path, database: &[u8], wal: &[u8], is_written: bool) -> u64 {
    for ending in ["db", "db-wal", "db-shm", "db.lock"] {
        let _ = fs::remove_file(path.with_extension(ending));
    }
    fs::write(path, database).unwrap();
    fs::write(log(path), wal).unwrap();
    if is_written {
        let store = open(path);
        let batches = store.producer("p").unwrap().map_or(0, |last| last + 1);
        assert!(store.last_id() >= BATCHES * 3, "no number is given twice");
        assert!(numbers(path).into_iter().eq(0..batches * 3));
        return batches;
    }
    match Reader::open(path) {
        Ok(_) => {
            let found = numbers(path).len() as u64;
            assert!(found.is_multiple_of(3) && numbers(path).into_iter().eq(0..found));
            found / 3
        }
        // Before its tables were made.
        Err(Error::NotAStore { .. }) => 0,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_log_that_is_cut_or_torn_anywhere_restores_what_was_committed_before() {
    let folder = tempfile::tempdir().unwrap();
    let (database, wal, ends) = stored(&folder.path().join("events.db"));
    let path = folder.path().join("cut.db");
    assert!(wal.len() / SECTOR > 200, "{}", wal.len());
    for at in (0..=wal.len()).step_by(SECTOR) {
        let whole = ends.iter().filter(|end| **end <= at).count() as u64;
        // Writers flush the disk, so they open every eighth only.
        let is_written = at / SECTOR % 8 == 3;
        assert_eq!(restored(&path, &database, &wal[..at], is_written), whole, "cut at {at}");
        // A sector that was never written, with what follows it on the disk.
        let mut torn = wal.clone();
        let sector = &mut torn[at..wal.len().min(at + SECTOR)];
        let is_changed = sector.iter().any(|byte| *byte != 0);
        sector.fill(0);
        let expected = if is_changed { whole } else { BATCHES };
        assert_eq!(restored(&path, &database, &torn, is_written), expected, "torn at {at}");
    }
}

#[test]
fn a_changed_byte_is_found_and_everything_else_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    store.append(&Batch { producers: vec![("p".into(), 7)], ..batch(0..2000) }).unwrap();
    drop(store);
    // In the text of one event.
    let mut bytes = fs::read(&path).unwrap();
    let text = format!("{:x}", 777_u64.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let at = bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap();
    bytes[at] ^= 1;
    fs::write(&path, &bytes).unwrap();
    // A reader beside it reports the damage, and gets all others.
    let reader = Reader::open(&path).unwrap();
    for order in [Order::Stored, Order::Time] {
        let all = reader.all(&Query { order, ..Query::default() }).unwrap();
        let damaged: Vec<u64> =
            all.iter().filter(|one| matches!(one.content, Content::Damaged(_))).map(|one| one.id).collect();
        assert_eq!((all.len(), damaged), (2000, vec![778]));
    }
    let error = reader.rows(&Query { after: 777, ..Query::default() }, 10, 1 << 20).unwrap_err();
    assert!(matches!(error, Error::Damaged { id: 778, .. }) && error.to_string().contains("events.db"), "{error}");
    drop(reader);
    let (store, recovery) = Store::open(&path).unwrap();
    let recovery = recovery.unwrap();
    assert_eq!((recovery.records, recovery.missing, recovery.has_positions), (1999, Some(1), true));
    assert!(recovery.damage.contains("record 778"), "{}", recovery.damage);
    let kept = fs::read(&recovery.kept_aside).unwrap();
    let differ: Vec<usize> = (0..kept.len()).filter(|at| kept[*at] != bytes[*at]).collect();
    assert!(kept == bytes, "the damaged file is kept: {} {differ:?}", kept.len());
    assert!(numbers(&path).into_iter().eq((0..2000).filter(|number| *number != 777)));
    assert_eq!((store.producer("p").unwrap(), store.last_id()), (Some(7), 2000));
    drop(store);
    assert_eq!(open(&path).last_id(), 2000, "it is whole again");
}

/// Records in the half that is left are kept, and others are reported as missing.
#[test]
fn a_store_that_was_cut_keeps_what_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    store.append(&batch(0..5000)).unwrap();
    drop(store);
    let whole = fs::read(&path).unwrap();
    for (bytes, least) in [(whole.len() / 2, 1500), (whole.len() / 10 * 9, 3500), (20_000, 0), (100, 0)] {
        fs::write(&path, &whole[..bytes]).unwrap();
        let (store, recovery) = Store::open(&path).unwrap();
        let recovery = recovery.unwrap();
        assert!(recovery.records >= least, "{bytes} bytes: {} records", recovery.records);
        assert_eq!(recovery.missing, None, "{bytes} bytes");
        assert!(recovery.account().contains("how many are missing is not known"), "{}", recovery.account());
        assert_eq!(fs::read(&recovery.kept_aside).unwrap(), &whole[..bytes]);
        let found = numbers(&path);
        assert_eq!(found.len() as u64, recovery.records);
        drop(store);
        fs::remove_file(&recovery.kept_aside).unwrap();
    }
}

#[test]
fn a_page_of_garbage_costs_what_is_on_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    store.append(&batch(0..3000)).unwrap();
    drop(store);
    let bytes = fs::read(&path).unwrap();
    let text = |number: u64| format!("{:x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let text = text(1500);
    let page = bytes.windows(text.len()).position(|window| window == text.as_bytes()).unwrap() / 4096;
    let mut damaged = bytes.clone();
    damaged[page * 4096..(page + 1) * 4096].fill(0xa5);
    fs::write(&path, &damaged).unwrap();
    let (mut store, recovery) = Store::open(&path).unwrap();
    let recovery = recovery.unwrap();
    let left = numbers(&path);
    assert_eq!(left.len() as u64, recovery.records);
    assert!((2900..3000).contains(&left.len()), "{recovery:?}");
    assert!(!left.contains(&1500) && left.contains(&0) && left.contains(&2999));
    assert_eq!(recovery.missing, Some(3000 - left.len() as u64));
    assert_eq!(store.append(&batch(3000..3001)).unwrap(), 3001);
}

#[test]
fn a_file_that_is_no_database_is_kept_aside_and_the_store_begins_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    for (at, garbage) in
        [&b"this is no database, but a text that is long enough to be looked at"[..], &[0xff; 9000]].iter().enumerate()
    {
        fs::write(&path, garbage).unwrap();
        let (mut store, recovery) = Store::open(&path).unwrap();
        let recovery = recovery.unwrap();
        assert_eq!((recovery.records, recovery.has_positions), (0, false));
        assert!(recovery.kept_aside.ends_with(format!("events.db.damaged-{}", at + 1)));
        assert_eq!(fs::read(&recovery.kept_aside).unwrap(), *garbage);
        assert_eq!(store.append(&batch(0..1)).unwrap(), 1);
    }
    assert_eq!(numbers(&path), [0]);
}

#[test]
fn a_recovery_that_was_interrupted_is_finished_or_begun_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let recovering = folder.path().join("events.db.recovering");
    let mut store = open(&path);
    store.append(&batch(0..9)).unwrap();
    drop(store);
    // Behind the last step but one: the damaged file is aside, the new one not yet in its place.
    fs::rename(&path, &recovering).unwrap();
    drop(open(&path));
    assert_eq!(numbers(&path), (0..9).collect::<Vec<_>>());
    // In the middle: a part of a new one.
    fs::write(&recovering, b"a part").unwrap();
    drop(open(&path));
    assert!(!recovering.exists());
    assert_eq!(numbers(&path), (0..9).collect::<Vec<_>>());
}
