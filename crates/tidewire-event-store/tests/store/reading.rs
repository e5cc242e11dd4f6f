//! Reading beside a writer that joins records and adds kinds.

use std::sync::atomic::{AtomicBool, Ordering};

use tidewire_event_store::{Batch, Order, Query, ReadProgress, Reader, Row};
use tidewire_events::{Event, FoldSettings, Folder, FolderSettings, Identity, Output, Record, Value};

use crate::common::{open, records};

fn probe(at: u64) -> Event {
    let event = Event { time_ns: at * at, analyzer: "scan".into(), kind: "probe".into(), ..Event::default() };
    event.with("number", Value::U64(at))
}

/// A fold in parts of ten events, and records of others between them.
fn parts(count: u64) -> (Vec<Record>, u64) {
    let default = FoldSettings { identity: Identity::Members(Vec::new()), ..FoldSettings::default() };
    let settings = FolderSettings { default, ..FolderSettings::default() };
    let mut folder = Folder::new(settings, [0; 2], 10_000, 77);
    let (mut out, mut all) = (Output::default(), Vec::new());
    for at in 0..count * 10 {
        folder.push_event(0, &probe(at), &mut out).unwrap();
        if at % 10 == 9 {
            folder.cut(&mut out).unwrap();
            all.append(&mut out.records);
            all.extend(records(at..at + 1));
        }
    }
    (all, 77)
}

fn probes(record: &Record) -> Vec<Event> {
    record.events().unwrap().into_iter().map(|(_, event)| event).filter(|event| event.kind == "probe").collect()
}

#[test]
fn records_that_are_joined_meanwhile_are_given_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let (records, fold) = parts(40);
    let mut store = open(&path);
    store.append(&Batch { records: records[..50].to_vec(), ..Batch::default() }).unwrap();
    let reader = Reader::open(&path).unwrap();
    // In pages, as a follower reads.
    let given = ReadProgress::default();
    let mut found = Vec::new();
    let page = |after: u64, found: &mut Vec<Event>| {
        let query = Query { after, given: Some(&given), ..Query::default() };
        let read = reader.read_rows(&query, 7, 1 << 20).unwrap();
        for row in &read.rows {
            found.extend(probes(&row.record().unwrap().unwrap()));
        }
        read.last
    };
    let mut after = page(0, &mut found);
    after = page(after, &mut found);
    let before = found.len();
    assert!(before > 20);
    store.append(&Batch { records: records[50..].to_vec(), ..Batch::default() }).unwrap();
    assert!(store.join(fold).unwrap() > 20);
    loop {
        match page(after, &mut found) {
            last if last == after => break,
            last => after = last,
        }
    }
    assert!(found.into_iter().eq((0..400).map(probe)), "each event once, and in order");
    // A reader that begins now gets all of them, and a fold of another store that has the same numbers.
    let all: Vec<Event> =
        reader.all(&Query::default()).unwrap().iter().flat_map(|stored| probes(stored.record().unwrap())).collect();
    assert_eq!(all.len(), 400);
    let other: Vec<Record> = parts(3).0;
    let changed = |record: &Record| {
        let mut folder = Folder::new(FolderSettings::default(), [0; 2], record.first(), record.fold());
        let mut out = Output::default();
        let (_, event) = record.events().unwrap().remove(0);
        let event = Event { time_ns: 7, ..event };
        folder.push_event(0, &event, &mut out).unwrap();
        folder.close_all(&mut out).unwrap();
        out.records.remove(0)
    };
    store.append(&Batch { records: other.iter().map(changed).collect(), ..Batch::default() }).unwrap();
    let mut found = Vec::new();
    while page(after, &mut found) != after {
        after = page(after, &mut Vec::new());
    }
    assert_eq!(found.len(), 3, "{found:?}");
}

/// A kind that is new belongs to the page that its first record belongs to.
#[test]
fn a_filter_passes_no_record_of_a_kind_that_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let mut store = open(&path);
    let row = Row::plain(0, &records(0..1)[0]).unwrap();
    let of = |analyzer: String| Batch { rows: vec![Row { analyzer, ..row.clone() }], ..Batch::default() };
    const PAIRS: u64 = 400;
    let is_over = AtomicBool::new(false);
    let found = std::thread::scope(|scope| {
        let reads = scope.spawn(|| {
            let reader = Reader::open(&path).unwrap();
            let kinds = [row.kind.clone()];
            let (mut after, mut found) = (0, 0);
            loop {
                let was_over = is_over.load(Ordering::Relaxed);
                let read = reader.read_rows(&Query { after, kinds: &kinds, ..Query::default() }, 100, 1 << 20).unwrap();
                found += read.rows.len() as u64;
                if was_over && read.rows.is_empty() {
                    return found;
                }
                after = read.last;
            }
        });
        for number in 0..PAIRS {
            store.append(&of(format!("new-{number}"))).unwrap();
            store.append(&of("old".into())).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        reads.join().unwrap()
    });
    assert_eq!(found, 2 * PAIRS);
}

/// Columns for comparisons end in 2262; later times are compared with the records themselves.
#[test]
fn times_beyond_the_columns_are_compared_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let last = i64::MAX as u64;
    let times = [last - 1, last + 10, last + 20, u64::MAX];
    let mut folds = Folder::new(FolderSettings::default(), [0; 2], 0, 0);
    let mut out = Output::default();
    for (at, time_ns) in times.into_iter().enumerate() {
        folds.push_event(0, &Event { time_ns, ..probe(at as u64) }, &mut out).unwrap();
        folds.close_all(&mut out).unwrap();
    }
    open(&path).append(&Batch { records: out.records, ..Batch::default() }).unwrap();
    let reader = Reader::open(&path).unwrap();
    for order in [Order::Stored, Order::Time] {
        let found = |since_ns, until_ns| {
            let all = reader.all(&Query { since_ns, until_ns, order, ..Query::default() }).unwrap();
            all.iter().map(|stored| stored.record().unwrap().first_ns()).collect::<Vec<_>>()
        };
        assert_eq!(found(Some(last - 1), None), times);
        assert_eq!(found(Some(last + 11), None), times[2..]);
        assert_eq!(found(Some(last + 10), Some(last + 20)), times[1..3]);
        assert_eq!(found(None, Some(last + 15)), times[..2]);
        assert_eq!(found(None, Some(last - 1)), times[..1]);
    }
}
