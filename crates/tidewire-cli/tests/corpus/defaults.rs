//! Bytes that the defaults deliver of every unambiguous stream of the corpus, against the oracle.
//!
//! Grade A: SYN seen, nothing missing, no byte in two versions, checksums right. Grade B: the same without the SYN, or
//! with wrong checksums. A user who types no option must get these bytes, so nothing is set here except, in the second
//! pass, the checksum mode. Differences stand in `doubts`, each with its reason.

use crate::{
    corpus::{self, Entry},
    doubts,
    matching::{TCP, by_pair, endpoint, ours, pair},
    record::{self, StreamRecord},
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};
use tidewire::{ChecksumMode, Config};

#[test]
fn defaults_deliver_every_unambiguous_stream() {
    deliver_every_unambiguous_stream("auto", &Config::default());
}

#[test]
fn ignored_checksums_deliver_every_unambiguous_stream() {
    deliver_every_unambiguous_stream("ignore", &Config::default().with_checksum(ChecksumMode::Ignore));
}

/// Streams compared and delivered, by grade, and bytes.
#[derive(Debug, Default)]
struct Tally {
    streams: Mutex<BTreeMap<String, [u64; 2]>>,
    bytes_expected: AtomicU64,
    bytes_delivered: AtomicU64,
}

fn deliver_every_unambiguous_stream(mode: &str, config: &Config) {
    let Some(entries) = corpus::entries() else { return };
    let entries: Vec<Entry> = entries.into_iter().filter(|entry| entry.oracle.is_some()).collect();
    let tally = Tally::default();
    let used = Mutex::new(Vec::new());
    let differences = corpus::each(
        &entries,
        |entry| &entry.name,
        |entry| {
            let record = match record::run(&entry.path, 1, config.clone()) {
                Ok(record) => record,
                Err(error) => return vec![format!("not read: {error}")],
            };
            let mut differences = record.broken;
            compare(entry, mode, &record.streams, &tally, &used, &mut differences);
            differences
        },
    );
    eprintln!(
        "checksums {mode}: streams delivered of all, by grade: {:?}; {} of {} bytes",
        tally.streams.into_inner().unwrap(),
        tally.bytes_delivered.into_inner(),
        tally.bytes_expected.into_inner()
    );
    differences.conclude();
    doubts::assert_defaults_used(mode, &used.into_inner().unwrap());
}

fn compare(
    entry: &Entry,
    mode: &str,
    streams: &[StreamRecord],
    tally: &Tally,
    used: &Mutex<Vec<usize>>,
    differences: &mut Vec<String>,
) {
    let oracle = entry.oracle();
    let mine = by_pair(streams, &[TCP]);
    let unambiguous = |stream: &&Value| stream["grade"] == "A" || stream["grade"] == "B";
    for stream in oracle["streams"].as_array().expect("streams").iter().filter(unambiguous) {
        let ends = ["client", "server"].map(|end| endpoint(stream[end].as_str().expect("text")));
        let group = mine.get(&pair(ends[0], ends[1])).map_or(&[][..], Vec::as_slice);
        let expected: u64 = ["c2s", "s2c"].iter().filter_map(|name| stream[name]["reassembled_bytes"].as_u64()).sum();
        let delivers = group.iter().any(|candidate| is_whole(candidate, ends[0], stream));
        let best = group.iter().map(|candidate| delivered(candidate)).max().unwrap_or_default();
        tally.bytes_expected.fetch_add(expected, Ordering::Relaxed);
        tally.bytes_delivered.fetch_add(best.min(expected), Ordering::Relaxed);
        {
            let mut counts = tally.streams.lock().unwrap();
            let counts = counts.entry(stream["grade"].as_str().expect("grade").to_owned()).or_default();
            counts[0] += u64::from(delivers);
            counts[1] += 1;
        }
        let number = stream["stream"].as_u64().expect("number");
        if delivers {
            continue;
        }
        match doubts::find_default(&entry.name, number, mode) {
            Some(doubt) => used.lock().unwrap().push(doubt),
            None => differences.push(format!(
                "stream {number} ({}): {best} of {expected} bytes in {} streams {}",
                stream["grade"],
                group.len(),
                stream["doubts"]
            )),
        }
    }
}

fn delivered(stream: &StreamRecord) -> u64 {
    stream.directions.iter().map(|direction| direction.delivered_bytes).sum()
}

/// Whether both directions hold the oracle's bytes, all of them and no others.
fn is_whole(candidate: &StreamRecord, client: SocketAddr, theirs: &Value) -> bool {
    let swapped = ours(candidate.key.client) != client;
    ["c2s", "s2c"].iter().enumerate().all(|(index, name)| {
        let direction = &candidate.directions[index ^ usize::from(swapped)];
        direction.sha256 == theirs[name]["sha256"].as_str().unwrap_or_default()
    })
}
