//! Recovery that is interrupted, lost logs, and invalid records.

use std::fs;

use tidewire_event_store::{Batch, Row, Store};
use tidewire_events::Record;

use crate::common::{batch, damage, numbers, open, records};

#[test]
fn a_log_that_is_left_by_an_interrupted_recovery_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    // Of another store, as the damaged one was: with a log that was not written back.
    let mut store = open(&path);
    store.append(&batch(0..500)).unwrap();
    let (database, log) = (fs::read(&path).unwrap(), fs::read(folder.path().join("events.db-wal")).unwrap());
    assert!(log.len() > 100_000);
    drop(store);
    fs::remove_file(&path).unwrap();
    let mut salvaged = open(&path);
    salvaged.append(&batch(0..9)).unwrap();
    drop(salvaged);
    // The damaged database is aside; its log, and the new store, are not where they belong yet.
    fs::rename(&path, folder.path().join("events.db.recovering")).unwrap();
    fs::write(folder.path().join("events.db.damaged-1"), &database).unwrap();
    fs::write(folder.path().join("events.db-wal"), &log).unwrap();
    drop(open(&path));
    assert_eq!(numbers(&path), (0..9).collect::<Vec<_>>());
    assert_eq!(fs::read(folder.path().join("events.db.damaged-2-wal")).unwrap(), log, "it is kept as well");
}

/// Before everything is renamed, the damaged database has its place, and its log is beside it: that is what the order of names is for.
#[test]
fn a_recovery_that_ends_before_its_renames_begins_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    store.append(&batch(0..100)).unwrap();
    drop(store);
    damage(&path, 50);
    let damaged = fs::read(&path).unwrap();
    fs::write(folder.path().join("events.db.recovering"), b"a part of a new one").unwrap();
    fs::write(folder.path().join("events.db.recovering-wal"), b"and of its log").unwrap();
    let (_, recovery) = Store::open(&path).unwrap();
    let recovery = recovery.unwrap();
    assert_eq!((recovery.records, fs::read(&recovery.kept_aside).unwrap()), (99, damaged));
}

#[test]
fn numbers_of_a_log_that_was_lost_are_not_given_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let destinations = vec![("central".to_owned(), 2)];
    for is_cut in [false, true] {
        let mut store = open(&path);
        store.append(&Batch { destinations: destinations.clone(), ..batch(0..3) }).unwrap();
        let before = fs::metadata(folder.path().join("events.db-wal")).unwrap().len() as usize;
        let last = store.append(&batch(3..50)).unwrap();
        let (database, mut log) = (fs::read(&path).unwrap(), fs::read(folder.path().join("events.db-wal")).unwrap());
        drop(store);
        // The machine stops; what a collector has already is not on the disk any more.
        log.truncate(if is_cut { before } else { 0 });
        fs::write(&path, &database).unwrap();
        fs::write(folder.path().join("events.db-wal"), &log).unwrap();
        let mut store = open(&path);
        let next = store.append(&Batch { destinations: destinations.clone(), ..batch(100..101) }).unwrap();
        assert!(next > last, "{next} was given before, and {last} is delivered");
        drop(store);
        // An orderly end leaves none out.
        assert_eq!(open(&path).append(&batch(101..102)).unwrap(), next + 1);
        fs::remove_file(&path).unwrap();
    }
}

fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// A hostile sensor chooses the numbers of its records; its store at the collector is recovered all the same.
#[test]
fn records_with_the_greatest_numbers_are_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let honest = records(0..1).remove(0);
    let bytes = honest.bytes();
    // Behind version and flags: fold, part, count and first number, a byte each.
    let mut hostile = bytes[..2].to_vec();
    for number in [u64::MAX, 0, 1, u64::MAX] {
        varint(number, &mut hostile);
    }
    hostile.extend_from_slice(&bytes[6..]);
    let hostile = Record::decode(&hostile).unwrap();
    assert_eq!((hostile.fold(), hostile.last()), (u64::MAX, u64::MAX));
    let mut store = open(&path);
    let rows = vec![Row::plain(1, &hostile).unwrap()];
    store.append(&Batch { rows, ..batch(5..10) }).unwrap();
    store.append(&Batch { records: vec![hostile], ..Batch::default() }).unwrap();
    drop(store);
    damage(&path, 7);
    let (store, recovery) = Store::open(&path).unwrap();
    assert_eq!((recovery.unwrap().records, store.last_id()), (6, 7));
}
