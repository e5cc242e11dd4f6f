//! Every capture of the shared corpus, read in full: as many packets as its manifest states.
//!
//! The corpus lies in `../shared/corpus` beside the workspace, or where `TIDEWIRE_CORPUS` says. Without it the test
//! says so and passes.

use std::path::{Path, PathBuf};
use tidewire_capture::{Block, Error, Reader, Source};

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

fn read(path: &Path) -> (u64, Vec<Error>) {
    let mut source = match Reader::open(path) {
        Ok(reader) => reader,
        Err(error) => return (0, vec![error]),
    };
    let (mut block, mut packets, mut errors) = (Block::new(), 0, Vec::new());
    loop {
        match source.fill(&mut block) {
            Ok(true) => {
                let batch = block.batch();
                for frame in batch.frames {
                    packets += 1;
                    assert_eq!(frame.number, packets);
                    assert_eq!(batch.bytes(frame).len(), frame.captured_bytes as usize);
                    assert!(frame.wire_bytes >= frame.captured_bytes && frame.clock_ns >= frame.timestamp_ns);
                }
            }
            Ok(false) => return (packets, errors),
            Err(error) => errors.push(error),
        }
    }
}

#[test]
fn packet_counts_are_the_manifests() {
    let Some(folder) = corpus() else { return };
    let manifest = std::fs::read_to_string(folder.join("MANIFEST.tsv")).unwrap();
    let mut wrong = Vec::new();
    let mut captures = 0;
    for line in manifest.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let (packets, errors) = read(&folder.join(fields[0]));
        captures += 1;
        let stated = fields[7].parse().unwrap();
        let exception = NOT_AS_STATED.iter().find(|(name, ..)| fields[0].ends_with(name));
        let expected = exception.map_or(stated, |&(_, packets, _)| packets);
        if packets != expected {
            wrong.push(format!("{} ({}): {packets}, not {expected} {errors:?}", fields[0], fields[9]));
        } else if !errors.is_empty() {
            println!("{}: {packets} {errors:?} {}", fields[0], fields[8]);
        }
    }
    println!("{captures} captures");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
