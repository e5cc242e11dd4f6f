//! Every packet of the shared corpus's plain pcap files: no panic, results inside the frame, and as many TCP and UDP
//! packets as tshark found (the numbers in `oracles/`: innermost headers, without those quoted in ICMP errors).
//!
//! The corpus lies in `../shared/corpus` beside the checkout, or where `TIDEWIRE_CORPUS` says; without it the test
//! says so and passes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tidewire_wire::{Decoded, Kind, LinkType, Settings, decode};

/// What one capture holds, in packets.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    tcp: u64,
    udp: u64,
    fragments: u64,
    malformed: BTreeMap<&'static str, u64>,
    packets: u64,
}

impl Counts {
    fn add(&mut self, decoded: &Decoded) {
        self.packets += 1;
        match decoded.kind {
            Kind::Tcp => self.tcp += 1,
            Kind::Udp => self.udp += 1,
            Kind::Fragment => self.fragments += 1,
            Kind::Malformed => {
                *self.malformed.entry(decoded.malformed.map_or("none", |reason| reason.name())).or_default() += 1;
            }
            _ => {}
        }
    }
}

fn corpus() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let corpus = std::env::var_os("TIDEWIRE_CORPUS").map_or_else(beside, PathBuf::from);
    corpus.join("MANIFEST.tsv").is_file().then_some(corpus)
}

/// Calls `packet` with link type, frame and length on the wire of every packet of a classic pcap file, up to any damage.
fn walk_pcap(file: &[u8], mut packet: impl FnMut(LinkType, &[u8], u32)) -> Option<()> {
    let big_endian = match file.first_chunk()? {
        [0xa1, 0xb2, 0xc3, 0xd4] | [0xa1, 0xb2, 0x3c, 0x4d] => true,
        [0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1] => false,
        _ => return None,
    };
    let word = |at: usize| {
        let bytes = *file.get(at..)?.first_chunk()?;
        Some(if big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    };
    let link = LinkType(word(20)? as u16);
    let mut at = 24;
    while let (Some(captured), Some(wire)) = (word(at + 8), word(at + 12)) {
        let Some(frame) = file.get(at + 16..).and_then(|rest| rest.get(..captured as usize)) else { break };
        packet(link, frame, wire);
        at += 16 + captured as usize;
    }
    Some(())
}

/// The number that follows `"name":` in a JSON text.
fn number(json: &str, name: &str) -> Option<u64> {
    let after = json.split_once(&format!("\"{name}\":"))?.1;
    after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[test]
fn every_packet_of_the_corpus() {
    let Some(corpus) = corpus() else {
        eprintln!("skipped: no corpus at ../shared/corpus or in TIDEWIRE_CORPUS");
        return;
    };
    let manifest = fs::read_to_string(corpus.join("MANIFEST.tsv")).unwrap();
    let (mut files, mut packets, mut compared, mut differ) = (0, 0, 0, 0);
    let mut total: BTreeMap<&'static str, u64> = BTreeMap::new();
    for row in manifest.lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let Ok(file) = fs::read(corpus.join(columns[0])) else { continue };
        let mut counts = Counts::default();
        let settings = Settings::default();
        let walked = walk_pcap(&file, |link, frame, wire| {
            let decoded = decode(link, frame, wire, &settings);
            counts.add(&decoded);
        });
        if walked.is_none() {
            continue;
        }
        files += 1;
        packets += counts.packets;
        for (name, count) in &counts.malformed {
            *total.entry(name).or_default() += count;
        }
        let Ok(oracle) = fs::read_to_string(corpus.join(columns[15])) else { continue };
        let (Some(tcp), Some(udp)) = (number(&oracle, "tcp_frames"), number(&oracle, "udp_frames")) else { continue };
        compared += 1;
        if (tcp, udp) != (counts.tcp, counts.udp) {
            differ += 1;
            println!("{}: tshark tcp {tcp} udp {udp}, {counts:?}", columns[0]);
        }
    }
    println!("{files} files, {packets} packets, {compared} compared, {differ} differ; malformed: {total:?}");
}
