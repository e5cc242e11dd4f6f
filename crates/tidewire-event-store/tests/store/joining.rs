//! Parts of a fold become one record, and every event stays.

use tidewire_event_store::{Batch, Query, Reader, Writer, WriterSettings};
use tidewire_events::{Event, FlowKey, FoldSettings, Folder, FolderSettings, Identity, Output, Times};
use tidewire_testing::{InTime as _, wait_until};

use crate::common::open;

fn probe(at: u64) -> Event {
    let key = FlowKey { protocol: 6, server_port: (at / 2) as u16, ..FlowKey::default() };
    Event { time_ns: at * at, analyzer: "scan".into(), kind: "probe".into(), key: Some(key), ..Event::default() }
}

fn folder(times: Times) -> Folder {
    let identity = Identity::Members(Vec::new());
    let default = FoldSettings { identity, times, ..FoldSettings::default() };
    Folder::new(FolderSettings { default, ..FolderSettings::default() }, [0; 2], 0, 0)
}

#[test]
fn parts_are_joined_when_no_destination_awaits_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.db");
    let mut store = open(&path);
    let mut folder = folder(Times::All);
    let mut out = Output::default();
    for at in 0..500 {
        folder.push_event(0, &probe(at), &mut out).unwrap();
        folder.cut(&mut out).unwrap();
    }
    folder.close_all(&mut out).unwrap();
    assert_eq!((out.records.len(), out.closed.as_slice()), (500, &[0][..]));
    let destinations = vec![("collector".to_owned(), 499)];
    store.append(&Batch { records: out.records, destinations, ..Batch::default() }).unwrap();
    let reader = Reader::open(&path).unwrap();
    let events = || -> Vec<_> {
        let all = reader.all(&Query { fold: Some(0), ..Query::default() }).unwrap();
        all.iter().flat_map(|stored| stored.record().unwrap().events().unwrap()).collect()
    };
    let before = events();
    assert!(before.iter().enumerate().all(|(at, (number, event))| (at as u64, &probe(at as u64)) == (*number, event)));
    assert_eq!(store.join(0).unwrap(), 0, "the collector has not got the last");
    store.append(&Batch { destinations: vec![("collector".into(), 500)], ..Batch::default() }).unwrap();
    assert_eq!(store.join(0).unwrap(), 499);
    assert_eq!((events(), reader.counts().unwrap()), (before, (1, 500)));
    let all = reader.all(&Query::default()).unwrap();
    assert!(
        all[0].id == 500 && all[0].record().unwrap().bytes().len() < 4 * 500,
        "{}",
        all[0].record().unwrap().bytes().len()
    );
    assert_eq!((store.join(0).unwrap(), store.join(77).unwrap()), (0, 0), "nothing is left to join");
    drop(store);
    drop(open(&path));
}

#[test]
fn identical_events_without_times_stay_so_few_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.db");
    let writer = Writer::start(open(&path), WriterSettings::default()).unwrap();
    let mut folder = folder(Times::FirstAndLast);
    let mut out = Output::default();
    for at in 0..1000_u64 {
        folder.push_event(0, &Event { time_ns: at * at, ..probe(0) }, &mut out).unwrap();
        if at % 100 == 99 {
            folder.cut(&mut out).unwrap();
        }
    }
    folder.close_all(&mut out).unwrap();
    assert_eq!(out.records.len(), 10);
    writer.submit(Batch { records: out.records, closed: out.closed, ..Batch::default() }, |done| assert!(done.is_ok()));
    wait_until("the parts are joined", || writer.status().joined == 9);
    let all = Reader::open(&path).unwrap().all(&Query::default()).unwrap();
    let [only] = all.as_slice() else { panic!("{} records", all.len()) };
    let record = only.record().unwrap();
    assert_eq!((record.count(), record.first_ns(), record.last_ns(), record.has_times()), (1000, 0, 999 * 999, false));
    assert!(record.bytes().len() < 100, "{}", record.bytes().len());
}

/// Bytes of memory that this process had at most since they were last set back.
fn most_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

#[test]
#[ignore = "a part of a test, which runs it as a process: what it measures is the process's"]
fn leaves_a_large_fold_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.db");
    let mut store = open(&path);
    let mut folder = folder(Times::All);
    for part in 0..600_u64 {
        let mut out = Output::default();
        for at in 0..32 {
            let excerpt = Some(tidewire_testing::filters::Numbers(1 + part * 32 + at).bytes(4000));
            folder.push_event(0, &Event { excerpt, ..probe(part * 32 + at) }, &mut out).unwrap();
        }
        folder.cut(&mut out).unwrap();
        store.append(&Batch { records: out.records, ..Batch::default() }).unwrap();
    }
    assert!(store.used_bytes().unwrap() > 70 << 20);
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = most_bytes();
    assert_eq!(store.join(0).unwrap(), 0);
    let more = most_bytes().saturating_sub(before);
    assert!(more < 16 << 20, "{more} bytes more");
    eprintln!("it stays as it is");
}

#[test]
fn a_fold_that_is_too_large_is_not_brought_into_memory() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "joining::leaves_a_large_fold_alone", "--nocapture"])
        .run_in_time()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("it stays as it is"),
        "{text}{}",
        String::from_utf8_lossy(&output.stdout)
    );
}
