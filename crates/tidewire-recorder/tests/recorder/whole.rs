use std::time::Duration;

use tidewire_archive::{Compression, Query, Settings, verify};
use tidewire_filter::{Filter, Fragments};
use tidewire_recorder::RecordSettings;
use tidewire_wire::LinkType;

use crate::rig::{captures, read, recall, record};

#[test]
fn what_is_recorded_is_the_capture() {
    for capture in captures() {
        let expected = read(&capture);
        if expected.is_empty() {
            continue;
        }
        for compression in [Compression::None, Compression::Zstd] {
            let folder = tempfile::tempdir().expect("a directory");
            // Several segments, of most captures.
            let archive = Settings {
                segment_bytes: 20_000,
                segment_time: Duration::from_secs(1 << 30),
                compression,
                ..Settings::default()
            };
            let (figures, reported) = record(&capture, &[folder.path()], &archive, RecordSettings::default());
            let name = capture.display();
            assert_eq!(reported, Vec::<String>::new(), "{name}");
            let all = figures.totals.all();
            assert_eq!(all.written_packets, expected.len() as u64, "{name}");
            assert_eq!(all.received_packets, all.written_packets, "{name}");
            let mut found = recall(&[folder.path()], &Query::default());
            let mut expected = expected.clone();
            found.sort();
            expected.sort();
            assert!(found == expected, "{name}: {} of {} packets", found.len(), expected.len());
            let verification = verify(folder.path()).expect("it verifies");
            assert_eq!(verification.findings, [], "{name}");
        }
    }
}

/// The index only leaves out what the filter would.
#[test]
fn what_is_found_is_what_a_filter_finds_in_the_capture() {
    let general =
        ["tcp", "udp", "icmp or icmp6", "ip6", "vlan", "not tcp", "arp", "port 80", "udp port 53", "tcp[13] & 2 != 0"];
    for capture in captures() {
        let packets = read(&capture);
        let folder = tempfile::tempdir().expect("a directory");
        let archive =
            Settings { segment_bytes: 50_000, segment_time: Duration::from_secs(1 << 30), ..Settings::default() };
        record(&capture, &[folder.path()], &archive, RecordSettings::default());
        let mut filters: Vec<String> = general.map(str::to_owned).to_vec();
        // Addresses and ports of some packets, wherever they stand.
        for packet in packets.iter().step_by(packets.len() / 2 + 1) {
            for at in [26, 34, 46, 76] {
                if let Some([a, b, c, d]) = packet.bytes.get(at..at + 4) {
                    filters.push(format!("host {a}.{b}.{c}.{d}"));
                    filters.push(format!("port {}", u32::from(*a) << 8 | u32::from(*b)));
                }
            }
        }
        for expression in filters {
            let mut filter = Filter::new(&expression).expect("a filter");
            let (mut expected, mut fragments) = (packets.clone(), Fragments::default());
            expected.retain(|packet| {
                let link = LinkType(packet.link);
                filter.matches(link, &packet.bytes, packet.wire_bytes).is_ok_and(|is_accepted| {
                    fragments.accepts(link, &packet.bytes, packet.wire_bytes, packet.timestamp_ns, is_accepted)
                })
            });
            let query = Query { filter: Some(expression.clone()), ..Query::default() };
            let mut found = if packets.is_empty() { Vec::new() } else { recall(&[folder.path()], &query) };
            found.sort();
            expected.sort();
            assert!(found == expected, "{}: {expression}: {} of {}", capture.display(), found.len(), expected.len());
        }
    }
}
