//! Files that were concatenated are read on at each header.

use crate::common::{Form, Order, Packet, Pcapng, gzip, pcap, read, read_stream};
use std::io::Cursor;
use tidewire_files::{CaptureLoss, Reader, Source as _};

const ORDERS: [Order; 2] = [Order { big_endian: false }, Order { big_endian: true }];

fn packets(from: u64, link: u16, interface: u16) -> Vec<Packet> {
    let packet = |number: u64| Packet {
        timestamp_ns: number * 1_000_000,
        bytes: vec![number as u8; 20 + number as usize],
        wire_bytes: 60 + number as u32,
        link,
        interface,
    };
    (from..from + 5).map(packet).collect()
}

/// Files of both formats with their packets, in the place of the input's interface `interface`.
fn files(interface: u16) -> Vec<(Vec<u8>, Vec<Packet>)> {
    let mut files = Vec::new();
    for order in ORDERS {
        for (form, link) in [(Form::Micro, 1), (Form::Nano, 101), (Form::Modified, 113)] {
            let packets = packets(1, link, interface);
            files.push((pcap(form, order, link.into(), &packets).0, packets));
        }
        let packets = packets(7, 1, interface);
        let mut writer = Pcapng::new();
        writer.section(order, -1).interface(1, 0, Some(9), None);
        for packet in &packets {
            writer.enhanced(0, packet.timestamp_ns, packet.wire_bytes, &packet.bytes);
        }
        files.push((writer.file, packets));
    }
    files
}

#[test]
fn files_of_every_form_follow_each_other() {
    for (first, before) in files(0) {
        for (second, behind) in files(1) {
            let expected = [&before[..], &behind[..]].concat();
            let got = read(&[&first[..], &second[..]].concat());
            assert!(got.errors.is_empty(), "{:?}", got.errors);
            assert_eq!(got.packets, expected);
            let members = [gzip(&first), gzip(&second)].concat();
            assert_eq!(read(&members).packets, expected, "gzip members");
        }
    }
}

#[test]
fn a_header_may_come_in_pieces() {
    struct Slowly(Cursor<Vec<u8>>);
    impl std::io::Read for Slowly {
        fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
            let bytes = room.len().min(7);
            self.0.read(&mut room[..bytes])
        }
    }
    for (second, behind) in files(1) {
        let before = packets(1, 1, 0);
        let (first, _) = pcap(Form::Micro, ORDERS[0], 1, &before);
        let got = read_stream(Slowly(Cursor::new([&first[..], &second].concat())));
        assert!(got.errors.is_empty(), "{:?}", got.errors);
        assert_eq!(got.packets, [before, behind].concat());
    }
}

/// A record of a packet may look like a header but for its lengths, which no packet has.
#[test]
fn a_packet_s_record_is_no_header() {
    for magic in [0xa1b2_c3d4_u64, 0xd4c3_b2a1, 0x4d3c_b2a1, 0x0a0d_0d0a] {
        for micros in [0x0002_0004, 0x0004_0002] {
            let like = Packet {
                timestamp_ns: magic * 1_000_000_000 + micros * 1000,
                // The packet itself begins as a header, too.
                bytes: [&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0][..], &[0; 12], &[1, 0, 0, 0]].concat(),
                wire_bytes: 24,
                link: 1,
                interface: 0,
            };
            let empty = Packet { bytes: Vec::new(), wire_bytes: 14, ..like.clone() };
            for order in ORDERS {
                let all = [like.clone(), empty.clone(), like.clone()];
                let got = read(&pcap(Form::Micro, order, 1, &all).0);
                assert!(got.errors.is_empty(), "{:?}", got.errors);
                assert_eq!(got.packets, all);
            }
        }
    }
}

#[test]
fn a_file_says_what_its_capture_lost() {
    let mut writer = Pcapng::new();
    let order = ORDERS[1];
    writer.section(order, -1).interface(1, 0, Some(9), None).interface(1, 0, Some(9), None);
    let packet = packets(1, 1, 0).remove(0);
    let option = |code: u16, value: u64| [&order.u16(code)[..], &order.u16(8), &order.u64(value)].concat();
    let head = [order.u32(1), order.u32(0), order.u32(1), order.u32(4), order.u32(60)].concat();
    for lost in [7, 2] {
        writer.block(6, &[&head[..], &packet.bytes[..4], &option(4, lost), &order.u32(0)].concat());
    }
    for (interface_dropped, system_dropped) in [(100, 40), (123, 45)] {
        let options = [option(5, interface_dropped), option(7, system_dropped), order.u32(0).to_vec()].concat();
        writer.block(5, &[&order.u32(1)[..], &[0; 8], &options].concat());
    }
    let (plain, _) = pcap(Form::Nano, order, 1, &packets(1, 1, 0));
    let file = [writer.file, plain].concat();
    let mut reader = Reader::from_stream("test", Cursor::new(file)).unwrap();
    let mut block = tidewire_files::Block::new();
    let mut count = 0;
    while reader.fill(&mut block).unwrap() {
        count += block.batch().frames.len();
    }
    assert_eq!(count, 7);
    let losses = reader.losses();
    let figures = |loss: &CaptureLoss| (loss.interface_dropped, loss.system_dropped, loss.between_packets);
    assert_eq!(losses.iter().map(figures).collect::<Vec<_>>(), [(123, 45, 9)]);
}
