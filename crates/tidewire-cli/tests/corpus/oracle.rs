//! Every TCP stream of the corpus against an independent reassembly.
//!
//! The oracle splits streams as tshark does, and reassembles by intervals when the whole capture is known: the byte
//! that came first stays, and a direction ends at its first hole. It looks at neither windows nor timestamps, resets
//! nor checksums. Grade A and B: any correct reassembler gives these bytes. Grade C: something is ambiguous; those must
//! agree too, except for the ones that `doubts` lists, each with its reason.

use crate::{
    corpus::{self, Entry},
    doubts,
    matching::{TCP, by_pair, endpoint, pair},
    record::{self, DirectionRecord, StreamRecord},
};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Mutex, time::Duration};
use tidewire::{ChecksumMode, Config, TcpPolicy};

/// Longer than any capture.
const FOREVER_NS: u64 = 1 << 62;

/// The configuration that corresponds to the oracle's reading: nothing times out, bad checksums
/// do not matter, and the byte that came first stays. Every conflict is compared.
pub fn config() -> Config {
    Config::default()
        .with_checksum(ChecksumMode::Ignore)
        .with_tcp_policy(TcpPolicy::First)
        .with_closed_timeout(Duration::from_nanos(FOREVER_NS))
        .with_half_open_timeout(Duration::from_nanos(FOREVER_NS))
        .with_list_max(4096)
}

/// Directions compared and matched, by grade.
#[derive(Debug, Default)]
struct Tally {
    captures: u64,
    streams: BTreeMap<String, [u64; 2]>,
    doubted: u64,
}

#[test]
fn streams_are_the_oracles() {
    let Some(entries) = corpus::entries() else { return };
    let entries: Vec<Entry> = entries.into_iter().filter(|entry| entry.oracle.is_some()).collect();
    let tally = Mutex::new(Tally::default());
    let used = Mutex::new(Vec::new());
    let differences = corpus::each(
        &entries,
        |entry| &entry.name,
        |entry| {
            let record = match record::run(&entry.path, 1, config()) {
                Ok(record) => record,
                Err(error) => return vec![format!("not read: {error}")],
            };
            let mut differences = record.broken;
            compare(entry, &record.streams, &tally, &used, &mut differences);
            tally.lock().unwrap().captures += 1;
            differences
        },
    );
    let tally = tally.into_inner().unwrap();
    eprintln!(
        "{} captures; streams matched of all, by grade: {:?}; {} doubted",
        tally.captures, tally.streams, tally.doubted
    );
    differences.conclude();
    doubts::assert_used(&used.into_inner().unwrap());
}

fn compare(
    entry: &Entry,
    streams: &[StreamRecord],
    tally: &Mutex<Tally>,
    used: &Mutex<Vec<usize>>,
    differences: &mut Vec<String>,
) {
    let oracle = entry.oracle();
    let mut theirs = BTreeMap::<_, Vec<&Value>>::new();
    for stream in oracle["streams"].as_array().expect("streams") {
        let ends = ["client", "server"].map(|end| endpoint(stream[end].as_str().expect("text")));
        theirs.entry(pair(ends[0], ends[1])).or_default().push(stream);
    }
    let mine = by_pair(streams, &[TCP]);
    for (ends, group) in &theirs {
        let mine = mine.get(ends).map_or(&[][..], Vec::as_slice);
        for (index, stream) in group.iter().enumerate() {
            let grade = stream["grade"].as_str().expect("grade");
            let found = match mine.get(index) {
                Some(ours) if mine.len() == group.len() => stream_differences(ours, stream),
                _ => vec![format!("{ends:?}: {} streams, the oracle has {}", mine.len(), group.len())],
            };
            let mut tally = tally.lock().unwrap();
            let counts = tally.streams.entry(grade.to_owned()).or_default();
            counts[1] += 1;
            counts[0] += u64::from(found.is_empty());
            let number = stream["stream"].as_u64().expect("number");
            for difference in found {
                if let Some(doubt) = doubts::find(&entry.name, number, &difference) {
                    used.lock().unwrap().push(doubt);
                    tally.doubted += 1;
                } else {
                    differences.push(format!(
                        "stream {number} ({grade}, packet {}): {difference} {}",
                        stream["first_frame"], stream["doubts"]
                    ));
                }
            }
        }
    }
    if oracle.get("streams_truncated_to").is_none() {
        for (ends, group) in mine.iter().filter(|(ends, _)| !theirs.contains_key(ends)) {
            let ours = |(name, id, _): &(&str, u64, &str)| entry.name.ends_with(name) && *id == group[0].id;
            if doubts::OURS_ALONE.iter().any(ours) {
                continue;
            }
            differences.push(format!("{ends:?}: {} streams that the oracle does not have", group.len()));
        }
    }
}

fn stream_differences(ours: &StreamRecord, theirs: &Value) -> Vec<String> {
    let client = endpoint(theirs["client"].as_str().expect("text"));
    let mut result = Vec::new();
    let swapped = crate::matching::ours(ours.key.client) != client;
    if swapped && theirs["direction_from"] == "syn" {
        result.push(format!("client is {:?}, the oracle has {client}", ours.key.client));
    }
    for (index, name) in ["c2s", "s2c"].into_iter().enumerate() {
        let direction = &ours.directions[index ^ usize::from(swapped)];
        for difference in direction_differences(direction, &theirs[name]) {
            result.push(format!("{name} {difference}"));
        }
    }
    result
}

fn direction_differences(ours: &DirectionRecord, theirs: &Value) -> Vec<String> {
    let mut result = Vec::new();
    let number = |name: &str| theirs[name].as_u64().unwrap_or_default();
    let mut number_is = |name: &str, ours: u64, theirs: u64| {
        if ours != theirs {
            result.push(format!("{name} {ours}, the oracle has {theirs}"));
        }
    };
    number_is("packets", ours.stats.packets, number("packets"));
    number_is("payload_bytes_on_wire", ours.stats.payload_wire_bytes, number("payload_bytes_on_wire"));
    number_is("reassembled_bytes", ours.prefix_bytes, number("reassembled_bytes"));
    if theirs.get("retransmitted_bytes").is_some() {
        number_is("retransmitted_bytes", ours.stats.retransmitted_bytes, number("retransmitted_bytes"));
    }
    number_is("gaps", holes(ours), number("gaps"));
    if ours.prefix_sha256 != theirs["sha256"].as_str().unwrap_or_default() {
        result.push(format!("sha256 differs at {} bytes", ours.prefix_bytes));
    }
    if let Some(hash) = theirs["sha256_with_gaps_removed"].as_str()
        && hash != ours.sha256
    {
        let bytes = number("span_bytes").saturating_sub(number("gap_bytes"));
        result
            .push(format!("sha256_with_gaps_removed differs: {} bytes, the oracle has {bytes}", ours.delivered_bytes));
    }
    let conflicting: u64 = ours.conflicts.iter().map(|conflict| conflict.bytes).sum();
    if conflicting != number("conflicting_overlap_bytes") {
        result.push(format!("conflicts {conflicting}, the oracle has {}", number("conflicting_overlap_bytes")));
    }
    result
}

/// Holes as the oracle counts them: gaps that touch (one not captured, one snapped) are one, and a gap at the very end
/// (before a FIN, acknowledged, or snapped), which we know of, does not count: no byte follows it.
fn holes(ours: &DirectionRecord) -> u64 {
    let mut holes = 0;
    let mut end = None;
    for gap in &ours.gaps {
        holes += u64::from(end != Some(gap.offset));
        end = Some(gap.offset + gap.bytes);
    }
    let total = ours.delivered_bytes + ours.gaps.iter().map(|gap| gap.bytes).sum::<u64>();
    holes - u64::from(end == Some(total))
}
