//! Every capture of the shared corpus, read in full: as many packets as its manifest states.
//!
//! The corpus lies in `../shared/corpus` beside the workspace, or where `TIDEWIRE_CORPUS` says. Without it the test
//! says so and passes.

use crate::common::{Got, drain, gzip, lz4, zstd};
use std::{
    io::Cursor,
    path::{Path, PathBuf},
};
use tidewire_files::Reader;
use tidewire_filter::Filter;
use tidewire_wire::LinkType;

fn corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = std::env::var_os("TIDEWIRE_CORPUS").map_or(beside, PathBuf::from);
    if folder.join("MANIFEST.tsv").is_file() {
        return Some(folder);
    }
    eprintln!("skipped: no corpus in {} (set TIDEWIRE_CORPUS)", folder.display());
    None
}

/// Captures that Wireshark's tools, which the manifest's figures are from, refuse as a whole.
const NOT_AS_STATED: &[(&str, u64, &str)] = &[
    ("clusterfuzz-testcase-minimized-FuzzTarget-5752969003008000", 1, "a link type that Wireshark has no name for"),
    ("clusterfuzz-testcase-minimized-FuzzTarget-5766899836387328", 1, "a link type that Wireshark has no name for"),
    ("tcpdump/tests/dsa-high-vid.pcap", 4, "link type 284 (DSA); tcpdump reads 4 packets too"),
    ("tcpdump/tests/frf16_magic_ie-oobr.pcap", 1, "link type 182 (MFR); tcpdump reads 1 packet too"),
    ("tcpdump/tests/juniper_es_oobr.pcap", 1, "FCS bits beside link type 132; tcpdump reads 1 packet too"),
    ("tcpdump/tests/vtp_asan.pcap", 5, "link type 182 (MFR); tcpdump reads 5 packets too"),
    ("tcpdump/tests/vtp_asan-2.pcap", 1, "link type 182 (MFR)"),
    ("tcpdump/tests/vtp_asan-3.pcap", 1, "link type 182 (MFR)"),
];

fn read(path: &Path) -> Got {
    match Reader::open(path) {
        Ok(reader) => drain(reader),
        Err(error) => Got { errors: vec![error], ..Got::default() },
    }
}

/// The fields of each line of the manifest, and each capture's path.
fn captures() -> Vec<(Vec<String>, PathBuf)> {
    let Some(folder) = corpus() else { return Vec::new() };
    let manifest = std::fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let fields = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
    let captures = manifest.lines().skip(1).map(|line| (fields(line), folder.join(&fields(line)[0])));
    captures.collect()
}

#[test]
fn packet_counts_are_the_manifests() {
    let mut wrong = Vec::new();
    let captures = captures();
    for (fields, path) in &captures {
        let got = read(path);
        let stated: u64 = fields[7].parse().unwrap();
        let exception = NOT_AS_STATED.iter().find(|(name, ..)| fields[0].ends_with(name));
        let expected = exception.map_or(stated, |&(_, packets, _)| packets);
        if got.frames.len() as u64 != expected {
            wrong.push(format!("{}: {}, not {expected} {:?}", fields[0], got.frames.len(), got.errors));
        }
    }
    println!("{} captures", captures.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A packet as libpcap gives it.
struct Theirs {
    bytes: Vec<u8>,
    seconds: i64,
    nanoseconds: i64,
    wire_bytes: u32,
}

/// libpcap on the same file: the packets it gives before it stops, and the error it stops at.
fn libpcap(path: &Path) -> Option<(Vec<Theirs>, Option<String>)> {
    let mut capture = pcap::Capture::from_file_with_precision(path, pcap::Precision::Nano).ok()?;
    let mut packets = Vec::new();
    let error = loop {
        match capture.next_packet() {
            Ok(packet) => packets.push(Theirs {
                bytes: packet.data.to_vec(),
                seconds: packet.header.ts.tv_sec,
                nanoseconds: packet.header.ts.tv_usec,
                wire_bytes: packet.header.len,
            }),
            Err(pcap::Error::NoMorePackets) => break None,
            Err(error) => break Some(error.to_string()),
        }
    };
    Some((packets, error))
}

impl Theirs {
    /// Whether ours is the same packet, but for what libpcap does otherwise.
    fn is(&self, ours: &crate::common::Packet) -> bool {
        // It takes a pcap file's seconds and fractions for signed numbers; the draft says that they are not.
        let unsigned = |number: i64| number as u32;
        let seconds = if self.seconds < 0 { i64::from(unsigned(self.seconds)) } else { self.seconds };
        let nanoseconds =
            if self.nanoseconds < 0 { i64::from(unsigned(self.nanoseconds / 1000)) * 1000 } else { self.nanoseconds };
        // It gives simple packets, which have no time, 0; here they have the time of the packet before them.
        let timeless = (seconds, nanoseconds) == (0, 0);
        let timestamp_ns = (seconds * 1_000_000_000).wrapping_add(nanoseconds) as u64;
        // It cuts packets at the snap length that the file's header states, though the file has more of them.
        ours.bytes.starts_with(&self.bytes)
            && (timeless || ours.timestamp_ns == timestamp_ns)
            && ours.wire_bytes == self.wire_bytes.max(ours.bytes.len() as u32)
    }
}

#[test]
fn packets_are_libpcaps() {
    let mut wrong = Vec::new();
    let (mut compared, mut refused) = (0, 0);
    for (fields, path) in captures() {
        let got = read(&path);
        let Some((packets, error)) = libpcap(&path) else { continue };
        compared += 1;
        if let Some((ours, _)) = got.packets.iter().zip(&packets).find(|(ours, theirs)| !theirs.is(ours)) {
            wrong.push(format!("{}: {ours:?}", fields[0]));
        }
        // It reads no further where interfaces differ in link type or snap length.
        if error.as_deref().is_some_and(|error| error.contains("different from the")) {
            refused += 1;
            continue;
        }
        let stopped = got.errors.first().map(ToString::to_string);
        if got.packets.len() != packets.len() || stopped.is_some() != error.is_some() {
            let (ours, theirs) = (got.packets.len(), packets.len());
            wrong.push(format!("{}: {ours} {stopped:?}, libpcap {theirs} {error:?}", fields[0]));
        }
    }
    println!("{compared} captures that libpcap opens, {refused} that it does not read to their end");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn captures_are_the_same_compressed() {
    for (fields, path) in captures().iter().filter(|(fields, _)| !fields[0].ends_with(".gz")).step_by(40) {
        let plain = std::fs::read(path).unwrap();
        let expected = read(path);
        for compressed in [gzip(&plain), zstd(&plain), lz4(&plain), lz4(&gzip(&plain))] {
            let got = drain(Reader::from_stream("compressed", Cursor::new(compressed)).unwrap());
            assert!(got.packets == expected.packets, "{}", fields[0]);
            assert_eq!(got.errors.len(), expected.errors.len(), "{}", fields[0]);
        }
    }
}

/// Filters of every kind against libpcap's evaluator on real packets of every link type.
#[test]
fn filters_match_what_libpcaps_match() {
    let expressions = [
        "tcp",
        "udp port 53",
        "ip[6:2] & 0x3fff != 0",
        "vlan",
        "host 10.0.0.1 or ip6",
        "len > 100",
        "not ip protochain 6",
    ];
    let mut compared = 0u64;
    let mut ours: Vec<Filter> = expressions.iter().map(|expression| Filter::new(expression).unwrap()).collect();
    let mut theirs: std::collections::HashMap<u16, Vec<Option<pcap::BpfProgram>>> = Default::default();
    for (fields, path) in captures() {
        for packet in read(&path).packets {
            let programs = theirs.entry(packet.link).or_insert_with(|| {
                let number = match packet.link {
                    101 | 14 => 12,
                    100 => 11,
                    other => i32::from(other),
                };
                let compiled = |expression: &&str| {
                    pcap::Capture::dead(pcap::Linktype(number)).ok()?.compile(expression, true).ok()
                };
                expressions.iter().map(compiled).collect()
            });
            for (filter, program) in ours.iter_mut().zip(programs) {
                let matches = filter.matches(LinkType(packet.link), &packet.bytes, packet.bytes.len() as u32).ok();
                let expected = program.as_ref().map(|program| program.filter(&packet.bytes));
                assert_eq!(matches, expected, "{}: {} on {packet:?}", fields[0], filter.expression());
                compared += 1;
            }
        }
    }
    println!("{compared} packets and expressions");
}
