//! Formats of other programs: ERF, Microsoft Network Monitor, Ixia's pcap; tshark reads the same.

use std::{
    io::{Cursor, Read},
    path::Path,
    process::Command,
};

use proptest::prelude::*;
use tidewire_files::Reader;
use tidewire_testing::{InTime as _, missing};

use crate::common::{Form, Got, Numbers, Order, Packet, drain, erf, gzip, netmon, pcap, read, read_stream};

/// A stream that gives a few bytes at a time.
struct Dribble(Cursor<Vec<u8>>, usize);

impl Read for Dribble {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.1.min(room.len());
        self.0.read(&mut room[..bytes])
    }
}

fn packets(count: u64, link: u16) -> Vec<Packet> {
    let mut numbers = Numbers(3);
    let packet = |number: u64| {
        let bytes = numbers.bytes(60 + number as usize % 50);
        let wire_bytes = bytes.len() as u32 + (number as u32 % 3) * 100;
        Packet {
            timestamp_ns: 1_700_000_000_000_000_000 + number * 1_234_567_000,
            bytes,
            wire_bytes,
            link,
            interface: 0,
        }
    };
    (0..count).map(packet).collect()
}

/// The versions that differ.
const NETMON: [(u8, u8); 6] = [(1, 1), (2, 0), (2, 1), (2, 2), (2, 3), (2, 4)];

/// Captures by hardware and by software.
const IXIA: [(u32, Form); 2] = [(0x1c00_01ac, Form::Micro), (0x1c00_01ab, Form::Micro)];

/// Times as a version has them.
fn rounded(packets: &[Packet], (major, minor): (u8, u8)) -> Vec<Packet> {
    let unit_ns = if major == 1 {
        1_000_000
    } else if minor < 3 {
        1_000
    } else {
        100
    };
    let round = |packet: &Packet| Packet { timestamp_ns: packet.timestamp_ns / unit_ns * unit_ns, ..packet.clone() };
    packets.iter().map(round).collect()
}

fn whole(got: &Got) {
    assert!(got.errors.is_empty(), "{:?}", got.errors);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_written_is_read_back_in_pieces_and_compressed(count in 2..40_u64, step in 1..200_usize) {
        let packets = packets(count, 1);
        let (file, starts) = erf(2, &packets);
        for got in [read(&file), read(&gzip(&file)), read_stream(Dribble(Cursor::new(file), step))] {
            whole(&got);
            prop_assert_eq!(&got.packets, &packets);
            prop_assert_eq!(starts.len(), got.frames.len());
        }
        for version in NETMON {
            let (file, _) = netmon(version, 1, &packets);
            for got in [read(&file), read_stream(Dribble(Cursor::new(file), step))] {
                whole(&got);
                prop_assert_eq!(&got.packets, &rounded(&packets, version));
            }
        }
    }
}

#[test]
fn link_types_are_those_of_pcap() {
    let link = |got: Got| {
        whole(&got);
        (got.packets[0].link, got.packets[0].bytes.len())
    };
    let packets = packets(3, 1);
    for (kind, expected) in
        [(2, 1), (11, 1), (16, 1), (20, 1), (1, 50), (10, 50), (22, 101), (23, 101), (3, u16::MAX), (21, u16::MAX)]
    {
        assert_eq!(link(read(&erf(kind, &packets).0)), (expected, 60), "ERF type {kind}");
    }
    // Padding and information on the card are no packets.
    for kind in [27, 48] {
        let (mut file, _) = erf(kind, &packets);
        file.extend(erf(2, &packets).0);
        assert_eq!(read(&file).packets, packets);
    }
    let cases = [
        (0, 1),
        (1, 1),
        (2, 6),
        (3, 10),
        (4, u16::MAX),
        (8, 101),
        (9, 101),
        (0xe071, 113),
        (0xe080, 105),
        (0xffe0, u16::MAX),
    ];
    for (media, expected) in cases {
        assert_eq!(link(read(&netmon((2, 3), media, &packets).0)), (expected, 60), "media type {media:#x}");
    }
    for media in [0xfffc, 0xfffd, 0xfffe] {
        assert!(read(&netmon((2, 1), media, &packets).0).packets.is_empty(), "what programs noted");
    }
    // Radio information before a frame: its version, its length, and so on.
    let mut radio = packets.clone();
    radio[0].bytes[..3].copy_from_slice(&[2, 32, 0]);
    radio[1].bytes[..3].copy_from_slice(&[2, 200, 0]);
    let got = read(&netmon((2, 1), 6, &radio).0);
    assert_eq!((got.packets[0].link, &got.packets[0].bytes[..]), (105, &radio[0].bytes[32..]));
    assert_eq!((got.packets[1].link, &got.packets[1].bytes), (u16::MAX, &radio[1].bytes));
}

#[test]
fn ixia_s_pcap_has_a_word_more() {
    let packets = packets(4, 1);
    for (magic, form) in IXIA {
        for big_endian in [false, true] {
            let (mut file, _) = pcap(form, Order { big_endian }, 1, &packets);
            file[..4].copy_from_slice(&if big_endian { magic.to_be_bytes() } else { magic.to_le_bytes() });
            file.splice(24..24, [0; 4]);
            let got = read(&file);
            whole(&got);
            assert_eq!(got.packets, packets);
            assert_eq!(read(&file[..26]).damage_offset(), 0);
        }
    }
}

#[test]
fn damage_is_named_with_its_place() {
    let packets = packets(3, 1);
    let (file, starts) = erf(2, &packets);
    let last = starts[2] as usize;
    for (at, value) in [(8, 0), (8, 99), (10, 0), (11, 17)] {
        let mut damaged = file.clone();
        damaged[last + 10] = if at == 11 { 0 } else { damaged[last + 10] };
        damaged[last + at] = value;
        if at == 10 {
            damaged[last + 11] = 3;
        }
        let got = read(&damaged);
        assert_eq!((got.packets.len(), got.damage_offset()), (2, starts[2]), "{value} at {at}");
    }
    for cut in [last + 3, last + 20, file.len() - 1] {
        let got = read(&file[..cut]);
        assert_eq!((got.packets.len(), got.damage_offset()), (2, starts[2]), "cut to {cut}");
    }
    for version in NETMON {
        let (file, starts) = netmon(version, 1, &packets);
        let last = starts[2] as usize;
        for cut in [last + 3, last + 30] {
            let got = read(&file[..cut]);
            assert_eq!((got.packets.len(), got.damage_offset()), (2, starts[2]), "{version:?} cut to {cut}");
        }
        // A length that reaches into the frame table, and one that no packet has.
        let at = last + if version.0 == 1 { 6 } else { 12 };
        let mut damaged = file.clone();
        damaged[at..at + 2].copy_from_slice(&[0xff, 0xff]);
        assert_eq!(read(&damaged).damage_offset(), starts[2], "{version:?}");
        if version.0 == 2 {
            damaged[at + 3] = 0xff;
            let got = read(&damaged);
            assert!(got.damage_offset() == starts[2] && got.allocated_bytes < 4 << 20, "{version:?}");
        }
        assert_eq!(read(&file[..100]).damage_offset(), 0);
        // A frame table inside the header, and a version that does not exist.
        damaged.clone_from(&file);
        damaged[24..28].copy_from_slice(&[4, 0, 0, 0]);
        assert!(read(&damaged).errors[0].to_string().contains("frame table at byte 4, inside its header"));
        damaged[5] = 3;
        assert!(read(&damaged).errors[0].to_string().contains("version 3."));
    }
}

/// A file of another type is not read as ERF: random bytes, text, zeros.
#[test]
fn erf_is_not_seen_where_it_is_not() {
    let mut numbers = Numbers(11);
    let mut seen = 0;
    for length in [16, 40, 100, 700, 5_000, 70_000] {
        for _ in 0..50 {
            seen += usize::from(!read(&numbers.bytes(length)).packets.is_empty());
        }
        assert!(read(&vec![0; length]).packets.is_empty());
        assert!(read(&b"2026-11-23 09:00 a line of text\n".repeat(length)).packets.is_empty());
    }
    assert_eq!(seen, 0);
}

/// Times in nanoseconds, captured and original lengths, as tshark has them.
fn by_tshark(path: &Path) -> Vec<(u64, u32, u32)> {
    let fields = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.cap_len", "-e", "frame.len"];
    let output = Command::new("tshark").env("TZ", "UTC").arg("-r").arg(path).args(fields).run_in_time().unwrap();
    assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
    let line = |line: &str| {
        let words: Vec<&str> = line.split('\t').collect();
        let number = |word: &str| word.parse::<u64>().unwrap_or_else(|_| panic!("{}: {line}", path.display()));
        let (seconds, fraction) = words[0].split_once('.').unwrap();
        (number(seconds) * 1_000_000_000 + number(fraction), number(words[1]) as u32, number(words[2]) as u32)
    };
    String::from_utf8(output.stdout).unwrap().lines().map(line).collect()
}

#[test]
fn tshark_and_editcap_agree() {
    if let Some(reason) = missing(&["tshark", "editcap"]) {
        return println!("skipped: {reason}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let same = |what: &str| {
        let got = drain(Reader::open(&path).unwrap());
        assert!(got.errors.is_empty(), "{what}: {:?}", got.errors);
        let read: Vec<_> = got
            .packets
            .iter()
            .map(|packet| (packet.timestamp_ns, packet.bytes.len() as u32, packet.wire_bytes))
            .collect();
        assert_eq!(read, by_tshark(&path), "{what}");
        assert!(!read.is_empty(), "{what}");
        // Frames are where they say.
        let file = std::fs::read(&path).unwrap();
        for (frame, packet) in got.frames.iter().zip(&got.packets) {
            assert!(file[frame.origin as usize - 1..].starts_with(&packet.bytes), "{what}");
        }
    };
    // Ethernet of a whole frame and its check sequence has no longer form: tshark cuts nothing off.
    let packets = packets(20, 1);
    std::fs::write(&path, erf(2, &packets).0).unwrap();
    same("erf");
    for version in NETMON {
        std::fs::write(&path, netmon(version, 1, &packets).0).unwrap();
        same(&format!("netmon {version:?}"));
    }
    for (magic, form) in IXIA {
        let (mut file, _) = pcap(form, Order { big_endian: false }, 1, &packets);
        file[..4].copy_from_slice(&magic.to_le_bytes());
        file.splice(24..24, [0; 4]);
        std::fs::write(&path, file).unwrap();
        same("ixia");
    }
    // The output of editcap for a real capture.
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus/demo/demo.pcap");
    for form in ["netmon1", "netmon2", "snoop", "pcap", "nsecpcap", "modpcap", "pcapng"] {
        let written = Command::new("editcap").env("TZ", "UTC").args(["-F", form]).arg(&demo).arg(&path).run_in_time();
        assert!(written.unwrap().status.success(), "{form}");
        same(form);
        assert_eq!(by_tshark(&path).len(), 155);
    }
    // Formats that are not read have a name.
    for (form, name) in [
        ("ngwsniffer_2_0", "NetXRay"),
        ("5views", "5View"),
        ("observer", "Observer"),
        ("visual", "Visual"),
        ("nettl", "HP-UX"),
    ] {
        let written = Command::new("editcap").args(["-F", form]).arg(&demo).arg(&path).run_in_time();
        assert!(written.unwrap().status.success(), "{form}");
        let message = Reader::open(&path).unwrap_err().to_string();
        assert!(message.contains(name) && message.contains("editcap"), "{form}: {message}");
    }
}

/// Programs of the system compress, this library unpacks.
#[test]
fn files_of_xz_and_bzip2_are_unpacked() {
    if let Some(reason) = missing(&["xz", "bzip2"]) {
        return println!("skipped: {reason}");
    }
    let packets = packets(3_000, 1);
    let (file, _) = pcap(Form::Nano, Order { big_endian: false }, 1, &packets);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let compressed = |words: &[&str]| {
        std::fs::write(&path, &file).unwrap();
        let output = Command::new(words[0]).args(&words[1..]).arg("-c").arg(&path).run_in_time().unwrap();
        assert!(output.status.success(), "{words:?}");
        output.stdout
    };
    let forms: [&[&str]; 8] = [
        &["xz", "-0"],
        &["xz", "-9e"],
        &["xz", "-C", "sha256"],
        &["xz", "-C", "crc32", "--block-size=65536", "-T2"],
        &["xz", "--x86", "--lzma2=preset=1"],
        &["xz", "--delta=dist=4", "--lzma2=preset=1"],
        &["bzip2", "-1"],
        &["bzip2", "-9"],
    ];
    for words in forms {
        let got = read(&compressed(words));
        assert!(got.errors.is_empty(), "{words:?}: {:?}", got.errors);
        assert!(got.packets == packets, "{words:?}");
    }
    // A dictionary that takes more memory than is given.
    let got = read(&compressed(&["xz", "--lzma2=dict=512MiB,nice=8,mf=hc3,mode=fast"]));
    assert!(got.errors[0].to_string().contains("more than 129 MiB of memory"), "{:?}", got.errors);
}
