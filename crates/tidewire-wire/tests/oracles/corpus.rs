//! Every packet of the shared corpus's plain pcap files: no panic, results inside the frame, and as many TCP and UDP
//! packets as tshark found (the numbers in `oracles/`), differences explained one by one.
//!
//! The corpus lies in `../shared/corpus` beside the checkout, or where `TIDEWIRE_CORPUS` says; without it the test
//! says so and passes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tidewire_wire::{
    Checksum, Decoded, Headers, Kind, LinkType, Settings, TunnelKind, decode, icmp_type_and_code, ipv4_header_checksum,
    transport_checksum,
};

/// Content of one capture, in packets.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    tcp: u64,
    udp: u64,
    fragments: u64,
    /// Of other kinds, found in a tunnel that is itself UDP: tshark counts these as UDP, too.
    in_udp: u64,
    /// ICMP errors, which quote a packet: tshark counts those that quote UDP as UDP.
    errors: u64,
    malformed: BTreeMap<&'static str, u64>,
    packets: u64,
}

impl Counts {
    fn add(&mut self, frame: &[u8], decoded: &Decoded) {
        self.packets += 1;
        let in_udp = matches!(
            decoded.tunnel.kind,
            TunnelKind::Vxlan
                | TunnelKind::VxlanGpe
                | TunnelKind::Geneve
                | TunnelKind::GtpU
                | TunnelKind::Teredo
                | TunnelKind::L2tp
                | TunnelKind::Capwap
                | TunnelKind::Ayiya
                | TunnelKind::Lisp
                | TunnelKind::Mpls
                | TunnelKind::Tzsp
        );
        self.in_udp += u64::from(in_udp && decoded.kind != Kind::Udp);
        let error = match (decoded.kind, icmp_type_and_code(frame, decoded)) {
            (Kind::Icmp, Some((kind, _))) => matches!(kind, 3 | 4 | 5 | 11 | 12),
            (_, Some((kind, _))) => kind < 128,
            _ => false,
        };
        self.errors += u64::from(error);
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

/// Captures in which we and tshark count differently, and why we stand by our count.
const EXPLAINED: &[(&str, &str)] = &[
    ("showcase.pcap", "frame 1327: a pseudowire without control word; tshark takes the address's zero for one"),
    ("17_ah_invalid_payload_length_too_small.pcap", "AH shorter than its fixed part: tshark reads on regardless"),
    ("06_geneve_invalid_version.pcap", "GENEVE version 1 does not exist; tshark reads it as version 0"),
    ("bug-6402-01/input.pcap", "GRE inside GENEVE: the innermost tunnel is not UDP"),
    ("bug-76/input.pcap", "two IPv4 total lengths beyond the frame, one TCP data offset beyond the segment"),
    ("tcp-session-decode-malformed-ipv4/input.pcap", "a two-byte security option: Linux accepts it, tshark stops"),
    ("telnet-01/telnet.pcap", "payload cut out of five frames without saying so: total length beyond the frame"),
    ("transform-base64-7296/input.pcap", "two TCP data offsets beyond the segment"),
    ("test.rewrite_layer2", "IPv6 under IPv4's EtherType, which hosts drop; tshark goes by the version"),
    ("invalid_or_unsupported.pcap", "IPv4 total lengths beyond the frame"),
    ("tcp-malformed.pcap", "TCP data offsets beyond the segment"),
    ("AH-IPcomp-IPv4.pcap", "compressed payloads (IPComp), which tshark inflates"),
    ("babel_update_oobr.pcap", "UDP lengths beyond the IP packet"),
    ("kday4.pcap", "an IPv4 total length beyond the frame"),
    ("kday7.pcap", "an IPv4 total length beyond the frame"),
    ("sflow_expanded.pcap", "tshark also counts the TCP header that an sFlow sample quotes"),
    ("modbus/fuzz-72.pcap", "two IPv4 total lengths beyond the frame"),
    ("383379789-decrypt-crash.pcap", "IPv4 and UDP lengths beyond the frame"),
];

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
    let mut unexplained = Vec::new();
    let mut total: BTreeMap<&'static str, u64> = BTreeMap::new();
    for row in manifest.lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let Ok(file) = fs::read(corpus.join(columns[0])) else { continue };
        let mut counts = Counts::default();
        let settings = Settings::default();
        let walked = walk_pcap(&file, |link, frame, wire| {
            let decoded = decode(link, frame, wire, &settings);
            let broken = Headers::new(link, frame, &decoded).broken_promise();
            assert_eq!(broken, None, "{}, packet {}", columns[0], counts.packets + 1);
            counts.add(frame, &decoded);
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
        // tshark reassembles and counts the last fragment as what the datagram holds; that is not the decoder's work.
        let tcp_agrees = (counts.tcp..=counts.tcp + counts.fragments).contains(&tcp);
        let udp_least = counts.udp + counts.in_udp;
        let udp_agrees = (udp_least..=udp_least + counts.errors + counts.fragments).contains(&udp);
        if !(tcp_agrees && udp_agrees) {
            differ += 1;
            match EXPLAINED.iter().find(|(file, _)| columns[0].ends_with(file)) {
                Some((_, reason)) => println!("{}: {reason}", columns[0]),
                None => unexplained.push(format!("{}: tshark tcp {tcp} udp {udp}, {counts:?}", columns[0])),
            }
        }
    }
    println!("{files} files, {packets} packets, {compared} compared, {differ} differ; malformed: {total:?}");
    assert!(unexplained.is_empty(), "{}", unexplained.join("\n"));
}

/// Zeek's checksum captures say in their names which checksum is good or bad. The mobility header's is not looked at:
/// it is a flow without ports to us.
#[test]
fn checksums_are_as_the_captures_names_say() {
    let Some(folder) = corpus().map(|corpus| corpus.join("captures/zeek+zeek/testing/btest/Traces/chksums")) else {
        eprintln!("skipped: no corpus at ../shared/corpus or in TIDEWIRE_CORPUS");
        return;
    };
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("mip6") {
            continue;
        }
        let mut verdicts = Vec::new();
        walk_pcap(&fs::read(&path).unwrap(), |link, frame, wire| {
            let decoded = decode(link, frame, wire, &Settings::default());
            verdicts.push((ipv4_header_checksum(frame, &decoded), transport_checksum(frame, &decoded)));
        });
        let expected = if name.contains("bad") { Checksum::Bad } else { Checksum::Good };
        for (ip, transport) in verdicts {
            assert_eq!(transport, expected, "{name}");
            assert!(matches!(ip, Checksum::Good | Checksum::Absent), "{name}: {ip:?}");
        }
    }
}
