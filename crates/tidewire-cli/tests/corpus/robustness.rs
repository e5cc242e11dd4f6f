//! Invariants of every capture under every setting: it is read to its end in bounded memory and time, every packet
//! has one fate, offsets only grow, bytes and gaps cover the stream, and the number of workers changes nothing.

use std::time::Duration;

use crate::{
    corpus::{self, Entry},
    record::{self, DirectionRecord, Record},
};
use tidewire::{ChecksumMode, Config, DefragPolicy, DirectionCutoff, Mode, TcpPolicy};

/// Every change of settings that a capture is read with, by name.
fn settings() -> Vec<(&'static str, Config)> {
    let default = Config::default();
    vec![
        ("ignoring checksums", default.clone().with_checksum(ChecksumMode::Ignore)),
        ("verifying checksums", default.clone().with_checksum(ChecksumMode::Verify).with_urgent_inline(false)),
        ("chunks with overlap", default.clone().with_chunk_bytes(64).with_overlap_bytes(16)),
        (
            "chunks with flush",
            default.clone().with_chunk_bytes(4096).with_flush_timeout(Some(Duration::from_millis(1))),
        ),
        ("a cutoff", default.clone().with_cutoff(DirectionCutoff::new(100, 1))),
        ("a cutoff of nothing", default.clone().with_cutoff(DirectionCutoff::new(0, 0))),
        ("fast", default.clone().with_mode(Mode::Fast)),
        ("track", default.clone().with_mode(Mode::Track)),
        ("little memory", little(&default)),
        (
            "little memory, shed",
            little(&default).with_shed(true).with_priorities(3).with_overload_cutoff_bytes(Some(1000)),
        ),
        ("short timeouts", short(&default)),
    ]
}

fn little(default: &Config) -> Config {
    default
        .clone()
        .with_memory_bytes(64 << 10)
        .with_stream_buffer_bytes(8 << 10)
        .with_stream_holes_max(3)
        .with_holes_max(8)
        .with_flows_max(Some(64))
        .with_half_open_max(16)
        .with_list_max(4)
        .with_fragment_memory_bytes(16 << 10)
        .with_datagrams_max(4)
        .with_chunk_bytes(1000)
}

fn short(default: &Config) -> Config {
    default
        .clone()
        .with_inactivity_timeout(Some(Duration::from_millis(10)))
        .with_closed_timeout(Duration::from_nanos(1))
        .with_half_open_timeout(Duration::from_millis(1))
        .with_hole_timeout(Some(Duration::from_nanos(1)))
        .with_hole_segments_strict(1)
        .with_fragment_timeout(Duration::from_micros(1))
}

/// Captures of which capinfos reads fewer packets, and why there are more.
const MORE_PACKETS: &[(&str, &str)] = &[(
    "FuzzTarget-5766899836387328",
    "pcap 2.3: a record's two lengths may be the other way round, and here they are",
)];

/// Violations after a run.
fn broken(record: &Record, config: &Config, packets: u64) -> Vec<String> {
    let mut broken = record.broken.clone();
    let ledger = &record.ledger;
    if ledger.buffered_bytes_max > config.memory_bytes() {
        broken.push(format!("{} bytes buffered of {} allowed", ledger.buffered_bytes_max, config.memory_bytes()));
    }
    if ledger.streams_opened != ledger.streams_closed || ledger.streams_closed != record.streams.len() as u64 {
        let (opened, closed) = (ledger.streams_opened, ledger.streams_closed);
        broken.push(format!("{opened} streams opened, {closed} closed, {} reported", record.streams.len()));
    }
    let delivered: u64 = record.streams.iter().flat_map(|stream| &stream.directions).map(|d| d.delivered_bytes).sum();
    if ledger.delivered_bytes != delivered {
        broken.push(format!("{delivered} bytes delivered, in the ledger {}", ledger.delivered_bytes));
    }
    if ledger.received != packets {
        broken.push(format!("{} packets received of {packets}", ledger.received));
    }
    broken
}

#[test]
fn everything_is_read_and_accounted_for() {
    let Some(entries) = corpus::entries() else { return };
    let differences = corpus::each(
        &entries,
        |entry| &entry.name,
        |entry| {
            let config = Config::default();
            let record = match record::run(&entry.path, 1, config.clone()) {
                Ok(record) => record,
                Err(error) => return unreadable(entry, &error.to_string()),
            };
            // A file that capinfos refuses is read up to the damage; how far that is, the reader's own tests say.
            let damaged = !record.damages.is_empty() || MORE_PACKETS.iter().any(|(name, _)| entry.name.ends_with(name));
            let packets = entry.packets.filter(|_| !damaged).unwrap_or(record.ledger.received);
            let mut found = broken(&record, &config, packets);
            if !damaged && entry.packets.is_some_and(|packets| packets < record.ledger.received) {
                found.push(format!("{} packets received, the manifest has {packets}", record.ledger.received));
            }
            found.extend(workers_agree(entry, &record));
            found
        },
    );
    differences.conclude();
}

/// A file that cannot be opened as a capture at all has no packets by the manifest either.
fn unreadable(entry: &Entry, error: &str) -> Vec<String> {
    match entry.packets {
        Some(1..) => vec![format!("not read, {:?} packets: {error}", entry.packets)],
        _ => Vec::new(),
    }
}

fn workers_agree(entry: &Entry, alone: &Record) -> Vec<String> {
    let mut found = Vec::new();
    for workers in [2, 4] {
        let Ok(mut together) = record::run(&entry.path, workers, Config::default()) else {
            return vec![format!("{workers} workers: not read")];
        };
        // The one figure that is a sum of maxima.
        together.ledger.streams_open_max = alone.ledger.streams_open_max;
        together.ledger.buffered_bytes_max = alone.ledger.buffered_bytes_max;
        if together != *alone {
            found.push(format!("{workers} workers: {}", first_difference(alone, &together)));
        }
    }
    found
}

fn first_difference(a: &Record, b: &Record) -> String {
    if a.streams.len() != b.streams.len() {
        return format!("{} streams, alone {}", b.streams.len(), a.streams.len());
    }
    if let Some((a, b)) = a.streams.iter().zip(&b.streams).find(|(a, b)| a != b) {
        return format!("{b:?}\n  alone {a:?}");
    }
    if a.datagrams != b.datagrams {
        return format!("{:?}\n  alone {:?}", b.datagrams, a.datagrams);
    }
    format!("{:?} {:?} {:?}\n  alone {:?} {:?} {:?}", b.ledger, b.damages, b.broken, a.ledger, a.damages, a.broken)
}

#[test]
fn invariants_hold_under_every_setting() {
    let Some(entries) = corpus::entries() else { return };
    let settings = settings();
    let differences = corpus::each(
        &entries,
        |entry| &entry.name,
        |entry| {
            let Ok(default) = record::run(&entry.path, 1, Config::default()) else { return Vec::new() };
            let mut found = Vec::new();
            for (name, config) in &settings {
                let Ok(record) = record::run(&entry.path, 1, config.clone()) else {
                    return vec![format!("{name}: not read")];
                };
                let broken = broken(&record, config, default.ledger.received);
                found.extend(broken.into_iter().map(|line| format!("{name}: {line}")));
                found.extend(relation(name, &default, &record).into_iter().map(|line| format!("{name}: {line}")));
            }
            found
        },
    );
    differences.conclude();
}

#[test]
fn invariants_hold_under_every_policy() {
    let Some(entries) = corpus::entries() else { return };
    // Where nothing overlaps all policies are the same code: fragments, conflicts and what is malformed is where they differ.
    let interesting =
        |entry: &Entry| ["frag", "overlap", "malformed", "retx", "gap"].iter().any(|tag| entry.exercises.contains(tag));
    let entries: Vec<Entry> = entries.into_iter().filter(interesting).collect();
    let differences = corpus::each(
        &entries,
        |entry| &entry.name,
        |entry| {
            let Ok(default) = record::run(&entry.path, 1, Config::default()) else { return Vec::new() };
            let mut found = Vec::new();
            for index in 0..TcpPolicy::ALL.len().max(DefragPolicy::ALL.len()) {
                let tcp_policy = TcpPolicy::ALL[index % TcpPolicy::ALL.len()];
                let defrag_policy = DefragPolicy::ALL[index % DefragPolicy::ALL.len()];
                let config = Config::default()
                    .with_tcp_policy(tcp_policy)
                    .with_defrag_policy(defrag_policy)
                    .with_defrag_policy_v6(defrag_policy)
                    .with_checksum(ChecksumMode::Ignore);
                let Ok(record) = record::run(&entry.path, 1, config.clone()) else { return vec!["not read".into()] };
                let name = format!("{} {}", tcp_policy.name(), defrag_policy.name());
                let broken = broken(&record, &config, default.ledger.received);
                found.extend(broken.into_iter().map(|line| format!("{name}: {line}")));
            }
            found
        },
    );
    differences.conclude();
}

/// Violations by one setting of what it must leave alone, compared with the defaults.
fn relation(name: &str, default: &Record, other: &Record) -> Vec<String> {
    let same_streams = name.starts_with("chunks") || name.contains("cutoff") || name == "track";
    if !same_streams {
        return Vec::new();
    }
    if default.streams.len() != other.streams.len() {
        return vec![format!("{} streams, by default {}", other.streams.len(), default.streams.len())];
    }
    let mut found = Vec::new();
    for (a, b) in default.streams.iter().zip(&other.streams) {
        for (direction, (a, b)) in a.directions.iter().zip(&b.directions).enumerate() {
            let wrong =
                if name.starts_with("chunks") { a.sha256 != b.sha256 || a.gaps != b.gaps } else { wrong_figures(a, b) };
            if wrong {
                found.push(format!("direction {direction}: {b:?}\n  by default {a:?}"));
            }
        }
    }
    found
}

/// Statistics go on beyond a cutoff, and without delivery.
fn wrong_figures(a: &DirectionRecord, b: &DirectionRecord) -> bool {
    let figures = |record: &DirectionRecord| {
        let stats = &record.stats;
        (stats.packets, stats.frame_bytes, stats.ip_bytes, stats.payload_wire_bytes, stats.tcp_flags, stats.start)
    };
    figures(a) != figures(b) || b.delivered_bytes > a.delivered_bytes
}
