//! The published overlap vectors as whole captures through the engine: TCP with initial sequence numbers far from the wrap
//! and at it, IPv4 and IPv6 fragments. They lie in the corpus beside the checkout (`TIDEWIRE_CORPUS` names another place).

use serde_json::Value;
use tidewire_core::{
    Batch, ChecksumMode, Chunk, Config, Datagram, DefragPolicy, Direction, Engine, Frame, Gap, Handler, Share, Stream,
    TcpPolicy, Timestamp, wire::LinkType,
};

/// The client's bytes, with dots for what is missing, and the payloads of rebuilt datagrams.
#[derive(Default)]
struct Collector {
    stream: Vec<u8>,
    datagrams: Vec<Vec<u8>>,
}

impl Handler for Collector {
    type Data = ();
    const DATAGRAMS: bool = true;

    fn data(&mut self, _: &mut Stream<'_, ()>, chunk: Chunk<'_>) {
        if chunk.direction == Direction::ClientToServer && !chunk.is_datagram {
            assert_eq!(chunk.offset, self.stream.len() as u64);
            self.stream.extend_from_slice(chunk.fresh());
        }
    }

    fn gap(&mut self, _: &mut Stream<'_, ()>, gap: Gap) {
        if gap.direction == Direction::ClientToServer {
            self.stream.resize(self.stream.len() + gap.bytes as usize, b'.');
        }
    }

    fn datagram(&mut self, datagram: &Datagram<'_>) {
        if datagram.rejected.is_none() {
            self.datagrams.push(datagram.payload.to_vec());
        }
    }
}

/// Runs a plain little-endian capture of raw IP packets.
fn run(capture: &[u8], config: Config) -> Collector {
    let mut engine = Engine::new(config, Share::ALL, Collector::default());
    let (mut at, mut number) = (24, 0);
    while let Some(head) = capture.get(at..at + 16) {
        let length = u32::from_le_bytes(head[8..12].try_into().unwrap());
        number += 1;
        let frame = Frame::new(LinkType::RAW, Timestamp::from_nanos(number))
            .with_number(number)
            .with_place(at as u32 + 16, length);
        engine.process(&Batch::new(capture, &[frame]));
        at += 16 + length as usize;
    }
    engine.finish();
    assert!(engine.ledger().closes());
    engine.into_parts().0
}

fn vectors(name: &str) -> Option<(String, Value)> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let corpus = std::env::var("TIDEWIRE_CORPUS").unwrap_or_else(|_| beside.into());
    let folder = format!("{corpus}/vectors");
    let Ok(text) = std::fs::read_to_string(format!("{folder}/{name}")) else {
        eprintln!("skipped: {folder}/{name} is absent");
        return None;
    };
    Some((folder, serde_json::from_str(&text).unwrap()))
}

fn config() -> Config {
    Config::default().with_checksum(ChecksumMode::Ignore)
}

#[test]
fn tcp_captures_of_every_policy_and_both_sequence_numbers() {
    let Some((folder, file)) = vectors("tcp_overlap_policy_vectors.json") else { return };
    let mut checked = 0;
    for vector in file["vectors"].as_array().unwrap() {
        let tcp_policy = match vector["policy"].as_str().unwrap() {
            "LINUX" => TcpPolicy::Linux26,
            "OLD_LINUX" => TcpPolicy::Linux22,
            name => name.parse().unwrap(),
        };
        for variant in ["pcap", "pcap_wrap"] {
            let capture = std::fs::read(format!("{folder}/{}", vector[variant].as_str().unwrap())).unwrap();
            let found = run(&capture, config().with_tcp_policy(tcp_policy)).stream;
            let wanted = vector["expected_final"].as_str().unwrap();
            assert_eq!(String::from_utf8(found).unwrap(), wanted, "{} {variant}", vector["name"]);
            checked += 1;
        }
    }
    assert!(checked >= 28, "{checked}");
}

#[test]
fn captures_of_fragments() {
    let Some((folder, file)) = vectors("ip_defrag_policy_vectors.json") else { return };
    let mut checked = 0;
    for test in file["tests"].as_array().unwrap() {
        let capture = std::fs::read(format!("{folder}/{}", test["pcap"].as_str().unwrap())).unwrap();
        for (name, wanted) in test["expected_by_policy"].as_object().unwrap() {
            let policy = match name.as_str() {
                "ANY" => DefragPolicy::First,
                "LINUX" => DefragPolicy::Linux26,
                name => name.parse().unwrap(),
            };
            let config = config().with_defrag_policy(policy).with_defrag_policy_v6(policy);
            let found = run(&capture, config).datagrams;
            let wanted: Vec<Vec<u8>> = wanted.as_str().iter().map(|text| text.as_bytes().to_vec()).collect();
            assert_eq!(found, wanted, "{} {name}", test["name"]);
            checked += 1;
        }
    }
    assert!(checked >= 15, "{checked}");
}

/// Where segments arrive in order but for a hole, and nothing overlaps: every policy gives the same.
#[test]
fn holes_are_holes_for_every_policy() {
    let Some((_, file)) = vectors("tcp_ooo_gap_vectors.json") else { return };
    for vector in file["vectors"].as_array().unwrap() {
        for &tcp_policy in TcpPolicy::ALL {
            let mut wanted = Vec::new();
            let mut capture = vec![0; 24];
            let mut put = |packet: Vec<u8>| {
                let length = (packet.len() as u32).to_le_bytes();
                capture.extend([[0; 4], [0; 4], length, length].as_flattened());
                capture.extend(packet);
            };
            put(segment(0, 0x02, b""));
            for step in vector["steps"].as_array().unwrap() {
                let (seq, text) = (step["rel_seq"].as_u64().unwrap() as usize, step["segment"].as_str().unwrap());
                put(segment(seq as u32, 0x10, text.as_bytes()));
                // (No two bytes of these vectors differ where they overlap, but for E over A and C: the first stays.)
                wanted.resize(wanted.len().max(seq + text.len() - 1), b'.');
                for (at, byte) in (seq - 1..).zip(text.bytes()) {
                    if wanted[at] == b'.' {
                        wanted[at] = byte;
                    }
                }
            }
            if tcp_policy == TcpPolicy::First || vector["name"] != "StreamTcpReassembleRawTest05" {
                let found = run(&capture, config().with_tcp_policy(tcp_policy)).stream;
                assert_eq!(found, wanted, "{} {}", vector["name"], tcp_policy.name());
            }
        }
    }
}

/// A raw IPv4 packet with a TCP segment from the client.
fn segment(seq: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend((40 + payload.len() as u16).to_be_bytes());
    packet.extend([0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend([0x9c, 0x40, 0, 80]);
    packet.extend(seq.to_be_bytes());
    packet.extend([0, 0, 0, 1, 0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    packet.extend(payload);
    packet
}
