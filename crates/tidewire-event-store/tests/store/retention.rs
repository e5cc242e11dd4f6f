//! Removal of records, records that stay, and how long others wait for a removal.

use std::{sync::mpsc::channel, time::Duration};

use tidewire_event_store::{Batch, Limits, Now, Reader, Row, Store, Writer, WriterSettings};
use tidewire_events::Severity;
use tidewire_testing::{PATIENCE, wait_until};

use crate::common::{batch, numbers, open, records};

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * SECOND;
/// The 23rd of November 2026.
const TODAY: u64 = 1_795_392_000 * SECOND;
const AGE: Limits = Limits { age_ns: Some(14 * DAY), size_bytes: u64::MAX };

fn store_at(store: &mut Store, number: u64, now: Now) {
    store.append(&Batch { stored: Some(now), ..batch(number..number + 1) }).unwrap();
}

/// A machine without a clock begins in 1970, and NTP corrects it.
#[test]
fn a_clock_that_is_set_removes_nothing_early() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    let first = [1; 16];
    store_at(&mut store, 0, Now::since_boot(5 * SECOND, first, 5 * SECOND));
    store_at(&mut store, 1, Now::since_boot(70 * SECOND, first, 70 * SECOND));
    assert_eq!(store.retain(&AGE, Now::since_boot(71 * SECOND, first, 71 * SECOND)).unwrap(), 0);
    // The clock is right now.
    assert_eq!(store.retain(&AGE, Now::since_boot(TODAY, first, 80 * SECOND)).unwrap(), 0);
    drop(store);
    let mut store = open(&path);
    assert_eq!(store.retain(&AGE, Now::since_boot(TODAY + DAY, first, DAY)).unwrap(), 0, "another process, too");
    // By the clock that does not jump: a minute apart, as they were stored.
    assert_eq!(store.retain(&AGE, Now::since_boot(5, first, 14 * DAY + 40 * SECOND)).unwrap(), 1);
    store_at(&mut store, 2, Now::since_boot(TODAY + 15 * DAY, first, 15 * DAY));
    assert_eq!(store.retain(&AGE, Now::since_boot(TODAY + 16 * DAY, first, 16 * DAY)).unwrap(), 1);
    // After the next start of the machine, the times that were corrected count.
    let second = [2; 16];
    assert_eq!(store.retain(&AGE, Now::since_boot(TODAY + 28 * DAY, second, SECOND)).unwrap(), 0);
    assert_eq!(store.retain(&AGE, Now::since_boot(TODAY + 30 * DAY, second, 2 * DAY)).unwrap(), 1);
}

#[test]
fn times_of_a_clock_that_was_wrong_keep_records_as_long_as_others() {
    let limits = AGE;
    // In the future, in 1970, and before the one before.
    for wrong in [TODAY + 3650 * DAY, 7 * SECOND, TODAY - 400 * DAY] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.db");
        let mut store = open(&path);
        store_at(&mut store, 0, Now::since_boot(TODAY - DAY, [1; 16], SECOND));
        store_at(&mut store, 1, Now::since_boot(wrong, [2; 16], SECOND));
        store_at(&mut store, 2, Now::since_boot(TODAY, [3; 16], SECOND));
        let now = |days: u64| Now::since_boot(TODAY + days * DAY, [3; 16], SECOND + days * DAY);
        assert_eq!(store.retain(&limits, now(0)).unwrap(), 0, "{wrong}");
        assert_eq!(store.retain(&limits, now(12)).unwrap(), 0, "{wrong}");
        assert_eq!(store.retain(&limits, now(13)).unwrap() + store.retain(&limits, now(15)).unwrap(), 3, "{wrong}");
    }
}

/// The clock is set to a wrong year while it runs, and back.
#[test]
fn a_clock_that_is_ahead_for_a_while_removes_nothing_early() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    store_at(&mut store, 0, Now::since_boot(TODAY - DAY, [1; 16], SECOND));
    store_at(&mut store, 1, Now::since_boot(TODAY, [2; 16], SECOND));
    assert_eq!(store.retain(&AGE, Now::since_boot(TODAY, [2; 16], SECOND)).unwrap(), 0);
    let ahead = Now::since_boot(TODAY + 3650 * DAY, [2; 16], 10 * SECOND);
    assert_eq!(store.retain(&AGE, ahead).unwrap(), 0);
    store_at(&mut store, 2, ahead);
    drop(store);
    let mut store = open(&path);
    assert_eq!(store.retain(&AGE, ahead).unwrap(), 0, "another process, too");
    assert_eq!(store.retain(&AGE, Now::since_boot(TODAY, [2; 16], 20 * SECOND)).unwrap(), 0);
    assert_eq!(store.retain(&AGE, Now::since_boot(TODAY, [2; 16], 13 * DAY + 60 * SECOND)).unwrap(), 1);
    assert_eq!(store.retain(&AGE, Now::since_boot(TODAY, [2; 16], 14 * DAY + 60 * SECOND)).unwrap(), 2);
}

#[test]
fn retention_removes_in_steps_between_which_others_are_served() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    for at in 0..15 {
        store.append(&batch(at * 1000..at * 1000 + 1000)).unwrap();
    }
    let limits = Limits { age_ns: None, size_bytes: store.used_bytes().unwrap() / 8 };
    let step = store.retain_step(&limits, Now::read()).unwrap();
    assert!((1..=1000).contains(&step.records) && step.has_more, "{step:?}");
    let settings = WriterSettings { limits, ..WriterSettings::default() };
    let writer = Writer::start(store, settings).unwrap();
    let (acknowledged, results) = channel();
    let mut removed = Vec::new();
    for at in 0..3 {
        let acknowledged = acknowledged.clone();
        let more = batch(20_000 + at..20_001 + at);
        writer.submit(more, move |result| acknowledged.send(result.is_ok()).unwrap());
        assert!(results.recv_timeout(PATIENCE).unwrap());
        removed.push(writer.status().removed);
    }
    wait_until("all is removed", || writer.status().removed > 11_000);
    assert!(removed.iter().all(|removed| *removed < 9000), "a batch waits for a step, not for all of it: {removed:?}");
    drop(writer.finish());
    let mut store = open(&path);
    store.retain(&limits, Now::read()).unwrap();
    assert!(store.used_bytes().unwrap() <= limits.size_bytes);
    let counted: u64 = store.removed().unwrap().iter().map(|removed| removed.records).sum();
    assert_eq!(numbers(&path).len() as u64 + counted, 15_003);
}

/// Batches that come all the time do not keep the store from getting smaller.
#[test]
fn a_flood_keeps_within_the_limits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let limits = Limits { age_ns: None, size_bytes: 2 << 20 };
    let settings = WriterSettings { limits, retain_every: Duration::from_millis(20), ..WriterSettings::default() };
    let writer = Writer::start(open(&path), settings).unwrap();
    let mut most = 0;
    for at in 0..30_u64 {
        writer.submit(batch(at * 500..at * 500 + 500), |result| assert!(result.is_ok()));
        most = most.max(writer.status().store_bytes);
    }
    wait_until("all is stored", || writer.status().records == 15_000);
    wait_until("the rest is removed", || writer.status().store_bytes <= 2 << 20);
    assert!(most < 8 << 20, "{most} bytes at most");
}

fn kinds(path: &std::path::Path) -> u64 {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.query_row("SELECT count(*) FROM kind", [], |row| row.get::<_, i64>(0)).unwrap() as u64
}

/// Kinds are names that analyzers choose.
#[test]
fn kinds_go_with_their_last_record_and_push_out_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    let hostile = |from: u64| -> Vec<Row> {
        let row = Row::plain(0, &records(0..1)[0]).unwrap();
        let kind = |number: u64| format!("kind-with-a-name-that-is-rather-long-{number:020}");
        (from..from + 1000).map(|number| Row { kind: kind(number), ..row.clone() }).collect()
    };
    // Severe ones, that are not to go.
    let severe: Vec<u64> = (0..500).filter(|number| number % 5 == 4).collect();
    store.append(&batch(0..500)).unwrap();
    let limits = Limits { age_ns: None, size_bytes: 1 << 20 };
    for round in 0..10 {
        store.append(&Batch { rows: hostile(round * 1000), ..Batch::default() }).unwrap();
        store.retain(&limits, Now::read()).unwrap();
        let left = Reader::open(&path).unwrap().counts().unwrap().0;
        assert!(kinds(&path) <= left, "{} kinds of {left} records", kinds(&path));
    }
    assert!(store.used_bytes().unwrap() <= 1 << 20);
    let left = numbers_of(&path, Severity::Critical);
    assert_eq!(left, severe);
    // A recovered store counts them as well.
    drop(store);
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute("UPDATE record SET crc = crc + 1 WHERE id = (SELECT min(id) FROM record)", []).unwrap();
    drop(other);
    let (mut store, recovery) = Store::open(&path).unwrap();
    assert!(recovery.is_some());
    store.retain(&Limits { age_ns: None, size_bytes: 0 }, Now::read()).unwrap();
    assert_eq!((store.counts().unwrap().0, kinds(&path)), (0, 0));
}

fn numbers_of(path: &std::path::Path, severity: Severity) -> Vec<u64> {
    let reader = Reader::open(path).unwrap();
    let all = reader.all(&tidewire_event_store::Query { severity, ..Default::default() }).unwrap();
    all.iter().map(|stored| stored.record().unwrap().first()).collect()
}

#[test]
fn a_position_behind_the_last_record_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    let destinations = vec![("central".to_owned(), i64::MAX as u64), ("folder".to_owned(), 3)];
    store.append(&Batch { destinations, registered: Some(vec!["central".into()]), ..batch(0..3) }).unwrap();
    assert_eq!(store.take_refused(), [("central".to_owned(), i64::MAX as u64)]);
    assert!(store.take_refused().is_empty());
    let position = |store: &Store, name: &str| {
        store.destinations().unwrap().iter().find(|one| one.name == name).map(|one| one.delivered)
    };
    assert_eq!((position(&store, "central"), position(&store, "folder")), (Some(0), Some(3)));
    // A writer says so.
    let writer = Writer::start(store, WriterSettings::default()).unwrap();
    writer.submit(Batch { destinations: vec![("central".into(), 5)], ..batch(3..4) }, |result| assert!(result.is_ok()));
    wait_until("it is refused", || writer.status().refused_positions == 1);
    assert_eq!(writer.status().refused_position, Some(("central".to_owned(), 5)));
}

/// A record that a destination's filter leaves out is not lost to it.
#[test]
fn removed_records_are_lost_to_destinations_that_would_have_got_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    let registered = Some(vec!["all".to_owned(), "high".to_owned()]);
    let severities = vec![("high".to_owned(), Severity::High)];
    store.append(&Batch { registered, severities, ..batch(0..1000) }).unwrap();
    assert_eq!(store.retain(&Limits { age_ns: None, size_bytes: 0 }, Now::read()).unwrap(), 1000);
    let lost: Vec<u64> = store.destinations().unwrap().iter().map(|one| one.lost_records).collect();
    assert_eq!(lost, [1000, 400]);
}
