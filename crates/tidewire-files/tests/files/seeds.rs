//! The seeds of the fuzz target `readers`: how they are made, and that they are read alike at once and in bits.

use crate::common::{
    FORMS, Numbers, Order, Packet, Pcapng, bzip2, erf, gzip, lz4, netmon, pcap, read, read_stream, snoop, xz, zstd,
};
use std::{
    io::{Cursor, Read},
    path::{Path, PathBuf},
};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/readers")
}

fn packets() -> Vec<Packet> {
    let mut numbers = Numbers(1);
    let packet = |number: u64| Packet {
        timestamp_ns: 1_700_000_000_000_000_000 + number * 1_000_000,
        bytes: numbers.bytes(10 + 7 * number as usize),
        wire_bytes: 100,
        link: 1,
        interface: 0,
    };
    (0..4).map(packet).collect()
}

fn pcapng(order: Order) -> Vec<u8> {
    let mut writer = Pcapng::new();
    writer.section(order, -1).interface(1, 0, Some(9), None).interface(101, 96, Some(0x80 | 20), Some(-3600));
    writer.enhanced(0, 1, 60, b"enhanced").obsolete(1, 1 << 30, 60, b"obsolete").simple(6, b"simple");
    let length = 28 + 12;
    writer.section(Order { big_endian: !order.big_endian }, length).interface(113, 0, Some(3), None);
    writer.enhanced(0, 1000, 5, b"again").block(5, &[0; 12]).block(0x8000_0bad, b"custom");
    writer.file
}

#[test]
#[ignore = "writes the seeds; run it after a change to them"]
fn write_seeds() {
    std::fs::create_dir_all(folder()).unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder().join(name), bytes).unwrap();
    let (little, big) = (Order { big_endian: false }, Order { big_endian: true });
    for form in FORMS {
        for order in [little, big] {
            let end = if order.big_endian { "be" } else { "le" };
            write(&format!("{form:?}-{end}.pcap").to_lowercase(), &pcap(form, order, 1, &packets()).0);
        }
    }
    let (plain, _) = pcap(FORMS[0], little, 1, &packets());
    write("usb.pcap", &pcap(FORMS[0], little, 220, &packets()).0);
    write("cut.pcap", &plain[..plain.len() - 3]);
    write("snoop", &snoop(4, &packets()).0);
    write("erf", &erf(2, &packets()).0);
    write("erf-hdlc", &erf(1, &packets()).0);
    for (major, minor) in [(1, 1), (2, 0), (2, 1), (2, 3)] {
        write(&format!("netmon-{major}.{minor}"), &netmon((major, minor), 1, &packets()).0);
    }
    write("le.pcapng", &pcapng(little));
    write("be.pcapng", &pcapng(big));
    write("pcap.gz", &[gzip(&plain[..30]), gzip(&plain[30..])].concat());
    write("pcap.zst", &[zstd(&plain[..30]), zstd(&plain[30..])].concat());
    write("pcap.lz4", &[lz4(&plain[..30]), lz4(&plain[30..])].concat());
    write("pcap.xz", &[xz(&plain[..30]), xz(&plain[30..])].concat());
    write("pcap.bz2", &[bzip2(&plain[..30]), bzip2(&plain[30..])].concat());
    write("damaged.xz", &[&xz(&plain)[..100], &[0xff; 60]].concat());
    write("pcapng.gz.zst", &zstd(&gzip(&pcapng(little))));
    write("skippable", &[&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc", &lz4(&plain)].concat());
}

/// A stream that gives a few bytes at a time.
struct Dribble(Cursor<Vec<u8>>, usize);

impl Read for Dribble {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.1.min(room.len());
        self.0.read(&mut room[..bytes])
    }
}

#[test]
fn seeds_are_read_alike_at_once_and_in_bits() {
    let mut seeds = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let (whole, bits) = (read(&bytes), read_stream(Dribble(Cursor::new(bytes), 3)));
        assert_eq!(whole.packets, bits.packets, "{}", path.display());
        let errors = |got: &crate::common::Got| got.errors.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(errors(&whole), errors(&bits), "{}", path.display());
        seeds += 1;
    }
    assert!(seeds >= 28, "{seeds} seeds");
}

/// The assertions of the fuzz target, of seeds with a few bytes changed, repeated or missing. `TIDEWIRE_MUTATIONS`: how many of each.
#[test]
fn mutated_seeds_are_read_alike_at_once_and_in_bits() {
    let mutations = std::env::var("TIDEWIRE_MUTATIONS").map_or(60, |count| count.parse().unwrap());
    let mut numbers = Numbers(29);
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let seed = std::fs::read(&path).unwrap();
        for mutation in 0..mutations {
            let mut bytes = seed.clone();
            for _ in 0..1 + numbers.next() % 4 {
                let at = numbers.next() as usize % bytes.len().max(1);
                let to = (at + numbers.next() as usize % 40).min(bytes.len());
                match numbers.next() % 6 {
                    0 if bytes.len() > 40 => drop(bytes.drain(at..to)),
                    1 => {
                        drop(bytes.splice(
                            at..at,
                            seed[at.min(seed.len())..to.min(seed.len()).max(at.min(seed.len()))].to_vec(),
                        ))
                    }
                    2 => bytes.truncate(at.max(1)),
                    3 => bytes[at] = [0, 0xff, 0x7f, 0x80][numbers.next() as usize % 4],
                    _ => bytes[at] ^= 1 << (numbers.next() % 8),
                }
            }
            let step = 1 + numbers.next() as usize % 97;
            let (whole, bits) = (read(&bytes), read_stream(Dribble(Cursor::new(bytes.clone()), step)));
            let what = || format!("{} {mutation}, {step} at a time: {bytes:02x?}", path.display());
            assert!(whole.packets == bits.packets, "{}", what());
            let errors = |got: &crate::common::Got| got.errors.iter().map(ToString::to_string).collect::<Vec<_>>();
            // libzstd finds damage a few bytes earlier or later, by how its input comes.
            if !path.to_string_lossy().contains("zst") {
                assert_eq!(errors(&whole), errors(&bits), "{}", what());
            }
            let bytes_read = whole.packets.iter().map(|packet| packet.bytes.len() + 64).sum::<usize>() + bytes.len();
            assert!(whole.allocated_bytes <= (4 << 20) + 4 * bytes_read, "{}", what());
        }
    }
}
