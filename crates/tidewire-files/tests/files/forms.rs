//! Packets written in any form are read back equal, however they arrive.

use crate::common::{
    Compress, FORMS, Form, Order, Packet, Pcapng, bzip2, drain, gzip, lz4, pcap, read, read_stream, snoop, xz, zstd,
};
use proptest::prelude::*;
use std::io::{Cursor, Read};
use tidewire_files::Reader;

const ORDERS: [Order; 2] = [Order { big_endian: false }, Order { big_endian: true }];

/// A stream that gives a few bytes at a time, as pipes do.
struct Dribble {
    bytes: Cursor<Vec<u8>>,
    step: usize,
}

impl Read for Dribble {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.step.min(room.len());
        self.bytes.read(&mut room[..bytes])
    }
}

fn packets(count: usize, longest: usize) -> impl Strategy<Value = Vec<Packet>> {
    let packet =
        (0..u64::from(u32::MAX), 0..1_000_000u64, proptest::collection::vec(any::<u8>(), 0..longest), 0..2000u32);
    let packet = packet.prop_map(|(seconds, micros, bytes, more)| Packet {
        timestamp_ns: seconds * 1_000_000_000 + micros * 1000,
        wire_bytes: bytes.len() as u32 + more,
        bytes,
        link: 1,
        interface: 0,
    });
    proptest::collection::vec(packet, 0..count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn pcap_across_the_borders_of_pieces(packets in packets(60, 70_000)) {
        let (file, _) = pcap(Form::Nano, ORDERS[0], 1, &packets);
        let got = read(&file);
        prop_assert_eq!(&got.packets, &packets);
        for compressed in [gzip(&file), zstd(&file), lz4(&file), gzip(&zstd(&file)), xz(&file), bzip2(&file)] {
            let got = read(&compressed);
            prop_assert!(got.errors.is_empty(), "{:?}", got.errors);
            prop_assert_eq!(&got.packets, &packets);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pcap_in_every_form(packets in packets(40, 300), step in 1..200usize) {
        for form in FORMS {
            for order in ORDERS {
                let (file, starts) = pcap(form, order, 1, &packets);
                let got = read(&file);
                prop_assert!(got.errors.is_empty(), "{:?}", got.errors);
                prop_assert_eq!(&got.packets, &packets);
                prop_assert!(got.frames.iter().all(|frame| frame.origin == 0));
                prop_assert_eq!(starts.len(), got.frames.len());
                let got = read_stream(Dribble { bytes: Cursor::new(file), step });
                prop_assert_eq!(&got.packets, &packets);
            }
        }
    }

    #[test]
    fn snoop_in_pieces_and_compressed(packets in packets(40, 300), step in 1..200usize, origin: bool) {
        let (file, starts) = snoop(if origin { 0 } else { 4 }, &packets);
        let got = read(&gzip(&file));
        prop_assert!(got.errors.is_empty(), "{:?}", got.errors);
        prop_assert_eq!(&got.packets, &packets);
        prop_assert_eq!(starts.len(), got.frames.len());
        let got = read_stream(Dribble { bytes: Cursor::new(file), step });
        prop_assert_eq!(&got.packets, &packets);
    }

    #[test]
    fn pcapng_in_every_resolution(
        packets in packets(40, 300),
        kinds in proptest::collection::vec((0..4u8, 0..3u16), 40),
        resolutions in proptest::array::uniform3((0..=9u8).prop_map(|exponent| exponent.max(6))),
        offsets in proptest::array::uniform3(proptest::option::of(0..1000i64)),
        big_endian: bool,
        step in 1..200usize,
    ) {
        let order = Order { big_endian };
        let mut writer = Pcapng::new();
        writer.section(order, -1);
        for (link, (resolution, offset)) in (1u16..).zip(resolutions.iter().zip(offsets)) {
            writer.interface(link, 0, Some(*resolution), offset);
        }
        let mut expected: Vec<Packet> = Vec::new();
        let mut last_ns = 0;
        for (packet, &(kind, interface)) in packets.iter().zip(&kinds) {
            let at = usize::from(interface);
            let offset_ns = offsets[at].unwrap_or(0) as u64 * 1_000_000_000;
            let timestamp_ns = packet.timestamp_ns.max(offset_ns);
            let units = (timestamp_ns - offset_ns) / 10u64.pow(9 - u32::from(resolutions[at]));
            let mut read = Packet { timestamp_ns, link: interface + 1, interface, ..packet.clone() };
            match kind {
                0 => writer.enhanced(interface.into(), units, packet.wire_bytes, &packet.bytes),
                1 => writer.obsolete(interface, units, packet.wire_bytes, &packet.bytes),
                2 => {
                    let wire_bytes = packet.bytes.len() as u32;
                    read = Packet { timestamp_ns: last_ns, wire_bytes, link: 1, interface: 0, ..read };
                    writer.simple(wire_bytes, &packet.bytes)
                }
                _ => {
                    writer.block(0x0bad, &packet.bytes);
                    continue;
                }
            };
            last_ns = read.timestamp_ns;
            expected.push(read);
        }
        let got = read(&writer.file);
        prop_assert!(got.errors.is_empty(), "{:?}", got.errors);
        prop_assert_eq!(&got.packets, &expected);
        let got = read_stream(Dribble { bytes: Cursor::new(writer.file), step });
        prop_assert_eq!(&got.packets, &expected);
    }
}

#[test]
fn sections_of_both_orders_have_their_own_interfaces() {
    let mut writer = Pcapng::new();
    writer.section(ORDERS[0], -1).interface(1, 0, None, None).interface(101, 0, Some(9), None);
    writer.enhanced(1, 5, 3, b"abc").block(0x0a, b"secrets").block(9, b"journal").block(5, b"statistics");
    let stated = writer.file.len() as i64;
    writer.section(ORDERS[1], stated).interface(113, 0, Some(0x80 | 10), None);
    writer.enhanced(0, 1 << 10, 9, b"def").simple(2, b"gh");
    let got = read(&writer.file);
    assert!(got.errors.is_empty(), "{:?}", got.errors);
    let seen: Vec<_> = got.packets.iter().map(|packet| (packet.link, packet.interface, packet.timestamp_ns)).collect();
    assert_eq!(seen, [(101, 1, 5), (113, 2, 1_000_000_000), (113, 2, 1_000_000_000)]);
}

#[test]
fn a_simple_packet_is_cut_at_the_snap_length() {
    let mut writer = Pcapng::new();
    writer.section(ORDERS[0], -1).interface(1, 5, None, None).simple(100, b"abcde").simple(3, b"abc");
    let got = read(&writer.file);
    assert_eq!(got.packets[0].bytes, b"abcde");
    assert_eq!((got.packets[0].wire_bytes, got.packets[1].wire_bytes), (100, 3));
}

#[test]
fn lengths_on_the_wire_are_never_less_than_captured() {
    let packet = Packet { timestamp_ns: 0, bytes: vec![1; 60], wire_bytes: 14, link: 1, interface: 0 };
    let got = read(&pcap(Form::Micro, ORDERS[0], 1, &[packet]).0);
    assert_eq!(got.packets[0].wire_bytes, 60);
}

#[test]
fn frame_check_bits_beside_the_link_type_are_put_aside() {
    let packet = Packet { timestamp_ns: 0, bytes: vec![1; 60], wire_bytes: 60, link: 1, interface: 0 };
    let link = |network| read(&pcap(Form::Micro, ORDERS[1], network, std::slice::from_ref(&packet)).0).packets[0].link;
    assert_eq!(link(0x4400_0001), 1);
    assert_eq!(link(0x3000_0084), 132);
    assert_eq!(link(0x0001_0001), u16::MAX, "beyond the registry");
}

#[test]
fn a_plain_file_says_where_its_frames_are() {
    let packet = |byte| Packet { timestamp_ns: 1000, bytes: vec![byte; 5], wire_bytes: 5, link: 1, interface: 0 };
    let (file, _) = pcap(Form::Micro, ORDERS[0], 1, &[packet(7), packet(8)]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.pcap");
    std::fs::write(&path, &file).unwrap();
    let reader = Reader::open(&path).unwrap();
    for frame in drain(reader).frames {
        let from = frame.origin as usize - 1;
        assert_eq!(file[from..from + 5], [6 + frame.number as u8; 5]);
    }
    std::fs::write(&path, gzip(&file)).unwrap();
    assert!(drain(Reader::open(&path).unwrap()).frames.iter().all(|frame| frame.origin == 0));
}

#[test]
fn compressed_streams_may_have_several_parts() {
    let packet = |byte| Packet { timestamp_ns: 1000, bytes: vec![byte; 5], wire_bytes: 5, link: 1, interface: 0 };
    let packets = [packet(7), packet(8)];
    let (file, _) = pcap(Form::Micro, ORDERS[0], 1, &packets);
    let (one, other) = file.split_at(30);
    let skippable = [&[0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
    let parts: [Compress; 5] = [gzip, zstd, lz4, xz, bzip2];
    for (at, part) in parts.into_iter().enumerate() {
        let mut file = [part(one), part(&[]), part(other)].concat();
        assert_eq!(read(&file).packets, packets, "{at}");
        if matches!(at, 0 | 3) {
            // Padding: of gzip any, of xz in words.
            file.extend([0; 100]);
        } else if at != 4 {
            file = [&skippable[..], &part(one), &skippable, &part(other), &skippable].concat();
        }
        let got = read(&file);
        assert!(got.errors.is_empty() && got.packets == packets, "{at}: {:?}", got.errors);
    }
}

#[test]
fn records_and_blocks_may_be_longer_than_a_piece() {
    let packet = |length: usize| Packet {
        timestamp_ns: 1000,
        bytes: vec![length as u8; length],
        wire_bytes: length as u32,
        link: 220,
        interface: 0,
    };
    let packets = [packet(7), packet(5_000_001), packet(300_000), packet(8)];
    let (file, _) = pcap(Form::Micro, ORDERS[0], 220, &packets);
    assert!(read(&file).packets == packets);
    let mut writer = Pcapng::new();
    writer.section(ORDERS[1], -1).block(0x0a, &vec![1; 10 << 20]).interface(220, 0, None, None);
    for packet in &packets {
        writer.enhanced(0, 1, packet.wire_bytes, &packet.bytes).block(0x0a, &vec![2; 1 << 20]);
    }
    let got = read(&writer.file);
    assert!(got.errors.is_empty(), "{:?}", got.errors);
    assert!(got.packets == packets);
    let got = read_stream(Dribble { bytes: Cursor::new(writer.file), step: 4000 });
    assert!(got.packets == packets);
}

#[test]
fn snoop_s_data_links_are_pcap_s_and_other_versions_are_refused() {
    let packet = Packet { timestamp_ns: 1_000_000_000, bytes: vec![1; 61], wire_bytes: 90, link: 0, interface: 0 };
    for (number, link) in [(0, 1), (4, 1), (2, 6), (8, 10), (1, u16::MAX), (26, u16::MAX)] {
        let (file, _) = snoop(number, std::slice::from_ref(&packet));
        let expected = Packet { link, ..packet.clone() };
        assert_eq!(read(&file).packets, [expected], "data link {number}");
    }
    let (mut file, _) = snoop(4, std::slice::from_ref(&packet));
    file[11] = 5;
    let message = read(&file).errors[0].to_string();
    assert!(message.contains("snoop file of version 5") && message.contains("editcap"), "{message}");
    // As a file that can be read again, records have an origin.
    file[11] = 2;
    let path = std::env::temp_dir().join(format!("tidewire-snoop-{}", std::process::id()));
    std::fs::write(&path, &file).unwrap();
    let got = drain(Reader::open(&path).unwrap());
    std::fs::remove_file(&path).unwrap();
    assert_eq!(got.frames[0].origin, 16 + 24 + 1);
}

#[test]
fn damage_of_a_snoop_file_is_named_with_its_place() {
    let packet = |byte| Packet { timestamp_ns: 0, bytes: vec![byte; 61], wire_bytes: 61, link: 1, interface: 0 };
    let (file, starts) = snoop(4, &[packet(1), packet(2), packet(3)]);
    let second = starts[1] as usize;
    for (at, bytes) in [(4, 0x0010_0000_u32), (8, 20), (8, 24 + 61 + 65), (8, u32::MAX)] {
        let mut damaged = file.clone();
        damaged[second + at..second + at + 4].copy_from_slice(&bytes.to_be_bytes());
        let got = read(&damaged);
        assert_eq!((got.packets.len(), got.damage_offset()), (1, starts[1]), "{bytes:#x} at {at}");
    }
    for cut in [file.len() - 1, starts[2] as usize + 30, starts[2] as usize + 5] {
        let got = read(&file[..cut]);
        assert_eq!((got.packets.len(), got.damage_offset()), (2, starts[2]), "cut to {cut}");
    }
    assert_eq!(read(&file[..12]).damage_offset(), 0, "a header that is cut");
    assert!(read(&file[..16]).packets.is_empty());
}
