//! The thread that writes.

use std::{sync::mpsc::channel, time::Duration};

use tidewire_event_store::{Limits, Now, Writer, WriterSettings};
use tidewire_testing::{PATIENCE, wait_until};

use crate::common::{batch, numbers, open};

#[test]
fn batches_of_several_threads_are_acknowledged_when_they_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let writer = Writer::start(open(&path), WriterSettings::default()).unwrap();
    let (acknowledged, results) = channel();
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (writer, acknowledged) = (&writer, acknowledged.clone());
            scope.spawn(move || {
                for at in 0..50 {
                    let from = thread * 1000 + at * 10;
                    let acknowledged = acknowledged.clone();
                    writer.submit(batch(from..from + 10), move |result| {
                        acknowledged.send((from, result.is_ok())).unwrap()
                    });
                }
            });
        }
    });
    drop(acknowledged);
    let mut done = Vec::new();
    while let Ok((from, is_ok)) = results.recv_timeout(PATIENCE) {
        assert!(is_ok);
        done.push(from);
        if done.len() == 100 {
            // A reader beside the writer finds everything that was acknowledged.
            let stored = numbers(&path);
            assert!(done.iter().all(|from| (*from..from + 10).all(|number| stored.contains(&number))));
        }
    }
    assert_eq!(done.len(), 200);
    let status = writer.status();
    assert_eq!((status.records, status.events, status.failing), (2000, 2000, None));
    assert!(status.commits < 200, "batches are stored together: {}", status.commits);
    let store = writer.finish().unwrap();
    assert_eq!(store.last_id(), 2000);
    let mut numbers = numbers(&path);
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), 2000);
}

#[test]
fn a_writer_keeps_within_the_limits() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let limits = Limits { age_ns: None, size_bytes: 1 << 20 };
    let settings = WriterSettings { limits, retain_every: Duration::from_millis(5), ..WriterSettings::default() };
    let writer = Writer::start(open(&path), settings).unwrap();
    for at in 0..100 {
        writer.submit(batch(at * 100..at * 100 + 100), |result| assert!(result.is_ok()));
    }
    wait_until("old events are removed", || {
        let status = writer.status();
        status.records == 10_000 && status.removed > 5000
    });
    let mut store = writer.finish().unwrap();
    store.retain(&limits, Now::at(0)).unwrap();
    assert!(store.used_bytes().unwrap() <= 1 << 20);
    let removed: u64 = store.removed().unwrap().iter().map(|removed| removed.events).sum();
    assert_eq!(numbers(&path).len() as u64 + removed, 10_000, "stored = there + removed");
}
