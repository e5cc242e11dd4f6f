use std::{sync::Arc, time::Duration};

use tidewire_archive::{Query, Settings};
use tidewire_recorder::{LookBackSettings, RecordSettings, Trigger};

use crate::rig::{Seen, captures, read, recall, record};

const SPAN: Duration = Duration::from_millis(20);

fn settings(filters: &[&str], patterns: &[&[u8]], is_of_streams: bool) -> RecordSettings {
    let look_back = LookBackSettings {
        before: SPAN,
        after: SPAN,
        memory_bytes: 64 << 20,
        filters: filters.iter().map(|filter| (*filter).to_owned()).collect(),
        patterns: patterns.iter().map(|pattern| pattern.to_vec()).collect(),
        is_of_streams,
        trigger: Arc::new(Trigger::default()),
    };
    RecordSettings { look_back: Some(look_back), ..RecordSettings::default() }
}

fn demo() -> std::path::PathBuf {
    captures().into_iter().find(|path| path.ends_with("demo.pcap")).expect("demo.pcap")
}

/// Packets that lie around one that fires.
fn around(packets: &[Seen], fires: impl Fn(&Seen) -> bool) -> Vec<Seen> {
    let times: Vec<u64> = packets.iter().filter(|packet| fires(packet)).map(|packet| packet.timestamp_ns).collect();
    assert!(!times.is_empty());
    let near = |packet: &&Seen| times.iter().any(|time| time.abs_diff(packet.timestamp_ns) <= SPAN.as_nanos() as u64);
    packets.iter().filter(near).cloned().collect()
}

#[test]
fn what_lies_around_a_trigger_is_recorded() {
    let packets = read(&demo());
    let is_query = |packet: &Seen| packet.bytes.windows(7).any(|bytes| bytes == b"HTTP/1.");
    let mut expected = around(&packets, is_query);
    assert!(expected.len() < packets.len());
    let folder = tempfile::tempdir().expect("a directory");
    let (figures, _) = record(&demo(), &[folder.path()], &Settings::default(), settings(&[], &[b"HTTP/1."], false));
    let mut found = recall(&[folder.path()], &Query::default());
    found.sort();
    expected.sort();
    assert!(found == expected, "{} of {}", found.len(), expected.len());
    let all = figures.totals.all();
    assert_eq!(all.filtered_packets, (packets.len() - expected.len()) as u64);
}

#[test]
fn a_trigger_of_streams_records_the_streams_that_it_concerns() {
    let packets = read(&demo());
    let folder = tempfile::tempdir().expect("a directory");
    record(&demo(), &[folder.path()], &Settings::default(), settings(&["udp port 53"], &[], true));
    let found = recall(&[folder.path()], &Query::default());
    assert!(!found.is_empty() && found.len() < 10, "{} of {}", found.len(), packets.len());
    let only = Query { filter: Some("udp port 53".into()), ..Query::default() };
    assert_eq!(recall(&[folder.path()], &only).len(), found.len());
}

#[test]
fn without_a_trigger_nothing_is_recorded() {
    let folder = tempfile::tempdir().expect("a directory");
    let (figures, _) =
        record(&demo(), &[folder.path()], &Settings::default(), settings(&["port 4"], &[b"no such"], false));
    let all = figures.totals.all();
    assert_eq!((all.written_packets, all.filtered_packets), (0, 155));
}
