//! Random queries find what tcpdump finds in the whole archive as one file.

use std::{env, fs, io::Cursor, path::Path, process::Command, time::Instant};

use tidewire_archive::{Identities, Query, Settings};
use tidewire_files::Reader;
use tidewire_filter::Filter;
use tidewire_testing::{InTime as _, missing};
use tidewire_wire::LinkType;

use crate::{
    queries::{assert_found, expression, mixed},
    rig::{Numbers, Recorder, Seen, drain, encoded, recall},
};

/// Queries, unless `TIDEWIRE_QUERIES` says how many.
const QUERIES: usize = 1000;

fn by_tcpdump(path: &Path, filter: &str) -> Vec<Seen> {
    let mut tcpdump = Command::new("tcpdump");
    let output =
        tcpdump.args(["-r", path.to_str().expect("a name"), "-w", "-", "--", filter]).run_in_time().expect("it runs");
    assert!(output.status.success(), "{filter}: {}", String::from_utf8_lossy(&output.stderr));
    drain(&mut Reader::from_stream("tcpdump", Cursor::new(output.stdout)).expect("a capture")).0
}

#[test]
fn random_queries_find_what_tcpdump_finds() {
    if let Some(reason) = missing(&["tcpdump"]) {
        return println!("skipped: {reason}");
    }
    let count = env::var("TIDEWIRE_QUERIES").ok().and_then(|count| count.parse().ok()).unwrap_or(QUERIES);
    let mut numbers = Numbers(0x7cbd_0114);
    let mut packets = mixed(&mut numbers);
    // tcpdump writes times in microseconds, and reads files with one link type.
    packets.retain(|packet| packet.link == LinkType::ETHERNET.0);
    packets.truncate(4000);
    for (number, packet) in packets.iter_mut().enumerate() {
        packet.timestamp_ns = 1_700_000_000_000_000_000 + number as u64 * 1_000_000;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (archive, whole) = (folder.path().join("archive"), folder.path().join("whole.pcapng"));
    fs::write(&whole, encoded(&packets)).expect("written");
    let mut recorder = Recorder::new(&archive, &Settings::default());
    for part in packets.chunks(packets.len().div_ceil(4)) {
        recorder.segment(part, &Identities::default());
    }
    let (begun, mut tried, mut found) = (Instant::now(), 0, 0);
    while tried < count {
        let depth = numbers.below(3) as u32;
        let filter = expression(&mut numbers, &packets, depth);
        if Filter::new(&filter).and_then(|mut filter| filter.prepare(LinkType::ETHERNET)).is_err() {
            continue;
        }
        tried += 1;
        let (result, expected) = (
            recall(&archive, &Query { filter: Some(filter.clone()), ..Query::default() }),
            by_tcpdump(&whole, &filter),
        );
        assert_found(&result, &packets, &expected, |_| true, &filter);
        found += result.len();
    }
    println!("{tried} queries found {found} packets, as tcpdump did, in {:.1} s", begun.elapsed().as_secs_f64());
    assert!(found > tried);
}
