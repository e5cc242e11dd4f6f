//! Records of streams that go on: what collectors hear of them before they end.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    net::Ipv4Addr,
    path::Path,
};

use tidewire_testing::missing;

use crate::{
    common::*,
    exports::{Collector, ok, totals, tsharks},
};

/// flowEndReason of a stream that goes on.
const ACTIVE_TIMEOUT: u8 = 2;

/// The fields of a biflow's record that are compared: milliseconds, reason, and packets and bytes of both directions.
struct Biflow {
    times: [u64; 2],
    reason: u8,
    figures: [u64; 4],
}

/// The records of template 256 in a file of messages by flowId, in order (RFC 7011 section 3).
fn biflows(file: &Path) -> BTreeMap<u64, Vec<Biflow>> {
    /// Bytes of a record: docs/formats.md has its elements in order.
    const RECORD_BYTES: usize = 79;
    let bytes = fs::read(file).unwrap();
    let word = |at: usize| usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    let number = |at: usize| u64::from_be_bytes(bytes[at..at + 8].try_into().unwrap());
    let (mut flows, mut message) = (BTreeMap::<u64, Vec<Biflow>>::new(), 0);
    while message < bytes.len() {
        let (mut set, end) = (message + 16, message + word(message + 2));
        while set < end {
            let next = set + word(set + 2);
            let mut at = set + 4;
            while word(set) == 256 && at + RECORD_BYTES <= next {
                let figures = [number(at + 33), number(at + 41), number(at + 51), number(at + 59)];
                let biflow = Biflow { times: [number(at), number(at + 8)], reason: bytes[at + 29], figures };
                flows.entry(number(at + 67)).or_default().push(biflow);
                at += RECORD_BYTES;
            }
            set = next;
        }
        message = end;
    }
    flows
}

/// Conversations over UDP and TCP of many minutes, with pauses, and short ones.
fn long_ones(bench: &Bench, seed: u64) -> String {
    let mut pcap = Pcap::new();
    let mut random = seed;
    let mut below = |most: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % most
    };
    let server = Ipv4Addr::new(192, 0, 2, 1);
    let mut packets = Vec::new();
    for flow in 0..40_u16 {
        let client = Ipv4Addr::new(10, 0, 0, flow as u8);
        let (mut at_us, end_us) = (below(600_000_000), 1 + below(1_200_000_000));
        while at_us < end_us {
            let (from, to, ports) = match below(3) {
                0 => (server, client, (7, 40_000 + flow)),
                _ => (client, server, (40_000 + flow, 7)),
            };
            let text = vec![b'x'; below(900) as usize];
            packets.push((at_us, ipv4(from, to, 17, 1, 0, &udp(from, to, ports, &text))));
            at_us += below([100_000, 3_000_000, 40_000_000][usize::from(flow) % 3]) + 1;
        }
    }
    packets.sort_by_key(|(at_us, _)| *at_us);
    packets.iter().for_each(|(at_us, frame)| pcap.frame_at(1_700_000_000_000_000 + at_us, frame));
    bench.file(&format!("long{seed}.pcap"), pcap.bytes())
}

/// Sums of a stream's records are what the run without the option says; they follow each other in time, and all but the last are marked.
#[test]
fn sums_of_interim_records_are_the_figures_of_streams() {
    let bench = Bench::new();
    for (seed, active, workers) in [(1, "1m", "1"), (2, "10s", "1"), (3, "5m", "2"), (4, "1s", "2"), (5, "0", "1")] {
        let capture = long_ones(&bench, seed);
        let file = bench.path(&format!("{seed}.ipfix"));
        ok(&[
            "flows",
            "--to",
            &format!("ipfix:{}", file.display()),
            "--active-timeout",
            active,
            "-j",
            workers,
            &capture,
        ]);
        let records = biflows(&file);
        let expected: BTreeMap<u64, [u64; 4]> = json(&["flows", "--json", &capture])
            .iter()
            .map(|flow| {
                let figures = ["packets_c2s", "bytes_c2s", "packets_s2c", "bytes_s2c"];
                (flow["id"].as_u64().unwrap(), figures.map(|name| flow[name].as_u64().unwrap()))
            })
            .collect();
        let sum = |all: &Vec<Biflow>| [0, 1, 2, 3].map(|at| all.iter().map(|record| record.figures[at]).sum::<u64>());
        let sums: BTreeMap<u64, [u64; 4]> = records.iter().map(|(id, all)| (*id, sum(all))).collect();
        assert_eq!(sums, expected, "{active}");
        for all in records.values() {
            // The last one, too, if nothing came behind it.
            assert!(all[..all.len() - 1].iter().all(|record| record.reason == ACTIVE_TIMEOUT));
            assert!(all.iter().all(|record| record.figures[0] + record.figures[2] > 0), "{active}");
            assert!(all.iter().all(|record| record.times[0] <= record.times[1]), "{active}");
            assert!(all.windows(2).all(|pair| pair[0].times[1] <= pair[1].times[0]), "{active}");
        }
        let most = records.values().map(Vec::len).max().unwrap();
        assert!(if active == "0" { most == 1 } else { most > 2 }, "{active}: {most}");
    }
}

/// The default is a minute, for collectors alone: records of other formats stay one for each stream.
#[test]
fn collectors_hear_of_streams_that_go_on() {
    let bench = Bench::new();
    let capture = long_ones(&bench, 9);
    let expected = totals(&capture);
    let (ipfix, eve) = (bench.path("a.ipfix"), bench.path("eve.json"));
    let words =
        ["flows", "--to", &format!("ipfix:{}", ipfix.display()), "--to", &format!("eve:{}", eve.display()), &capture];
    ok(&words);
    let flows = file_lines(&eve).into_iter().filter(|record| record["event_type"] == "flow");
    assert_eq!(flows.count() as u64, expected[0]);
    let reasons: BTreeSet<u8> = biflows(&ipfix).into_values().flatten().map(|record| record.reason).collect();
    assert!(reasons.contains(&ACTIVE_TIMEOUT) && reasons.len() > 1, "{reasons:?}");
    if missing(&["tshark"]).is_none() {
        let [records, packets, bytes] = tsharks(&ipfix);
        assert!(records > 2 * expected[0] && [packets, bytes] == expected[1..], "{records} {packets} {bytes}");
    }
    if missing(&["nfcapd", "nfdump"]).is_none() {
        for format in ["ipfix-uniflow", "netflow9"] {
            let collector = Collector::start(bench.path(format));
            ok(&["flows", "--to", &format!("{format}:{}", collector.place), &capture]);
            let [records, packets, bytes] = collector.totals();
            assert!(records > 2 * expected[0] && [packets, bytes] == expected[1..], "{format}: {records}");
        }
    }
    let (complaint, code) = complaint(&["flows", "--to", "eve:-", "--active-timeout", "1m", &capture]);
    assert!(code == 2 && complaint.contains("--active-timeout is for IPFIX and NetFlow"), "{complaint}");
}
