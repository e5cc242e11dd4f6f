//! TCP and UDP flows against what the captures' own projects expect of them: nDPI's, Arkime's and Zeek's results.
//!
//! Compared by direction and ends: packets, frame bytes (nDPI, Arkime) and bytes from the network layer up (Zeek),
//! summed over the flows with the same ends, as each of the three splits and merges flows by timeouts of its own.

use crate::{
    corpus,
    matching::{TCP, UDP, endpoint, ours},
    oracle, record,
};
use serde_json::Value;
use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, sync::Mutex};

/// Protocol, sender, receiver.
type Way = (u8, SocketAddr, SocketAddr);

/// Captures in which the other project's result is another on purpose: its name, the capture's end, and why.
const EXPLAINED: &[(&str, &str, &str)] = &[
    ("arkime", "pcap/single-packets.pcap", "Arkime counts the only packet, a server's, as the client's"),
    (
        "arkime",
        "pcap/socks5-http-302-frag.pcap",
        "Arkime counts the bytes of a rebuilt datagram, we those of every fragment's frame",
    ),
    ("arkime", "pcap/wireshark-dhcp.pcap", "Arkime joins DHCP's two flows"),
    ("ndpi", "pcap/fins.pcap", "nDPI counts captured bytes: four of each frame are missing"),
    ("ndpi", "pcap/fuzz-2020-02-16-11740.pcap", "fuzzed: nDPI takes other packets for malformed"),
    ("ndpi", "pcap/ip_fragmented_garbage.pcap", "nDPI does not put fragments together"),
    ("ndpi", "pcap/ndpi_match_string_subprotocol__error.pcapng", "fuzzed: nDPI takes other packets for malformed"),
    ("ndpi", "pcap/quic-fuzz-overflow.pcapng", "fuzzed: nDPI takes other packets for malformed"),
    ("ndpi", "pcap/reasm_crash_anon.pcapng", "fuzzed: nDPI takes other packets for malformed"),
    ("ndpi", "pcap/reasm_segv_anon.pcapng", "nDPI counts captured bytes: four of each frame are missing"),
    ("ndpi", "pcap/tls_invalid_reads.pcap", "fuzzed: nDPI looks into a tunnel with bytes behind the packet inside"),
    ("ndpi", "pcap/rsh-syslog-false-positive.pcap", "nDPI has six of the capture's eight packets"),
    (
        "zeek-conn.log",
        "gtp/gtp1_gn_normal_incl_fragmentation.pcap",
        "Zeek counts a rebuilt datagram once, we its fragments",
    ),
    (
        "zeek-conn.log",
        "tunnels/ayiya3.pcap",
        "Zeek logs the tunnel's own flow besides those in it; ours has the packets that carry none",
    ),
    (
        "zeek-conn.log",
        "Traces/globus-url-copy.pcap",
        "Zeek's GridFTP script lets go of a data channel once it is recognised",
    ),
    ("zeek-conn.log", "Traces/ntp/misordered-ntp.pcap", "Zeek counts both directions' packets as the originator's"),
    (
        "zeek-conn.log",
        "tunnels/teredo_bubble_with_payload.pcap",
        "Zeek logs the tunnel's own flow with all its packets; ours has those that carry none, and what has bytes behind it",
    ),
    ("zeek-conn.log", "Traces/smtp.pcap", "the test hides most of the connection from Zeek"),
    (
        "zeek-conn.log",
        "Traces/vntag_vlan_sandwich_clean.pcap",
        "cut inside the TCP header: Zeek logs the flow without its packet",
    ),
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    packets: u64,
    frame_bytes: u64,
    ip_bytes: u64,
}

fn ours_by_way(record: &record::Record) -> BTreeMap<Way, Sums> {
    let mut result = BTreeMap::<Way, Sums>::new();
    for stream in &record.streams {
        let (client, server) = (ours(stream.key.client), ours(stream.key.server));
        for (direction, ends) in stream.directions.iter().zip([(client, server), (server, client)]) {
            let sums = result.entry((stream.key.proto, ends.0, ends.1)).or_default();
            sums.packets += direction.stats.frames;
            sums.frame_bytes += direction.stats.frame_bytes;
            sums.ip_bytes += direction.stats.ip_bytes;
        }
    }
    result
}

/// The expected flows, summed; `None` in a field: not stated.
fn expected(flows: &[Value]) -> BTreeMap<Way, [Option<u64>; 3]> {
    let mut result = BTreeMap::<Way, [Option<u64>; 3]>::new();
    for flow in flows {
        let proto = match flow["proto"].as_str().unwrap_or_default() {
            "tcp" | "6" => TCP,
            "udp" | "17" => UDP,
            _ => continue,
        };
        let end = |name: &str| flow[name].as_str().filter(|text| text.contains('|')).and_then(parse);
        let (Some(a), Some(b)) = (end("a"), end("b")) else { continue };
        for (way, suffix) in [((proto, a, b), "ab"), ((proto, b, a), "ba")] {
            let sums = result.entry(way).or_insert([Some(0); 3]);
            for (sum, name) in sums.iter_mut().zip(["pkts", "frame_bytes", "ip_bytes"]) {
                let value = flow.get(format!("{name}_{suffix}")).and_then(Value::as_u64);
                *sum = sum.zip(value).map(|(sum, value)| sum + value);
            }
        }
    }
    result
}

/// `ADDRESS|PORT`, where that is what it is: some tools print names and cut addresses.
fn parse(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.rsplit_once('|')?;
    (address.parse::<std::net::IpAddr>().is_ok() && port.parse::<u16>().is_ok()).then(|| endpoint(text))
}

#[test]
fn flows_are_those_that_other_projects_expect() {
    let Some(corpus) = corpus::find() else { return };
    let folder = std::fs::read_dir(corpus.join("flow_expectations")).expect("the corpus has expectations");
    let mut files: Vec<PathBuf> = folder.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let tally = Mutex::new(BTreeMap::<String, [u64; 2]>::new());
    let differences = corpus::each(
        &files,
        |file| file.to_str().unwrap_or_default(),
        |file| {
            let file = corpus::parse(file);
            let capture = file["capture"].as_str().expect("a name");
            let Ok(record) = record::run(&corpus.join(capture), 1, oracle::config()) else {
                return vec!["not read".into()];
            };
            let mine = ours_by_way(&record);
            let mut differences = Vec::new();
            for expectation in file["expectations"].as_array().expect("a list") {
                let kind = expectation["kind"].as_str().expect("text");
                for (way, wanted) in expected(expectation["flows"].as_array().expect("flows")) {
                    let found = mine.get(&way).copied();
                    // Zeek logs a tunnel's own flow besides the flows in it; a flow of ours is the innermost.
                    let is_tunnel = kind.starts_with("zeek") && capture.contains("/tunnels/") && found.is_none();
                    let sums = found.unwrap_or_default();
                    let matches = [sums.packets, sums.frame_bytes, sums.ip_bytes]
                        .iter()
                        .zip(wanted)
                        .all(|(found, wanted)| wanted.is_none_or(|wanted| wanted == *found));
                    let explained = EXPLAINED.iter().any(|(tool, name, _)| *tool == kind && capture.ends_with(name));
                    let mut tally = tally.lock().unwrap();
                    let counts = tally.entry(kind.to_owned()).or_default();
                    counts[0] += u64::from(matches);
                    counts[1] += 1;
                    if !matches && !explained && !is_tunnel {
                        differences.push(format!("{kind}: {way:?}: {sums:?}, expected {wanted:?}"));
                    }
                }
            }
            differences
        },
    );
    eprintln!("directions of flows matched of all: {:?}", tally.into_inner().unwrap());
    differences.conclude();
}
