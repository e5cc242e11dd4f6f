//! Filters over several link types and inputs, and what is said of expressions that are wrong.

mod common;

use common::{FORMS, Numbers, Order, Packet, drain, pcap};
use std::io::Cursor;
use tidewire_capture::{Error, Filter, Filtered, LinkType, Reader};

#[test]
fn every_link_type_has_its_own_program() {
    let raw = [&[0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2][..], &[0, 53, 0, 53, 0, 8, 0, 0]];
    let raw = raw.concat();
    let ethernet = [&[0; 12][..], &[8, 0], &raw].concat();
    let cooked = [&[0; 14][..], &[8, 0], &raw].concat();
    let null = [&[2, 0, 0, 0][..], &raw].concat();
    let mut filter = Filter::new("udp port 53 and host 10.0.0.2").unwrap();
    let mut matches = |link: u16, bytes: &[u8]| filter.matches(LinkType(link), bytes, bytes.len() as u32).unwrap();
    for _ in 0..2 {
        assert!(matches(1, &ethernet) && matches(113, &cooked) && matches(0, &null));
        for link in [12, 14, 101, 228] {
            assert!(matches(link, &raw), "{link}");
            assert!(!matches(link, &ethernet), "{link}");
        }
    }
}

#[test]
fn lengths_are_those_on_the_wire() {
    let mut filter = Filter::new("greater 1000").unwrap();
    assert!(filter.matches(LinkType::ETHERNET, &[0; 60], 1514).unwrap());
    assert!(!filter.matches(LinkType::ETHERNET, &[0; 60], 60).unwrap());
}

#[test]
fn what_is_wrong_is_said_with_the_expression_and_the_link_type() {
    let error = Filter::new("tcp prot 80").unwrap_err();
    assert!(matches!(error, Error::Filter { .. }));
    let text = error.to_string();
    assert!(text.contains("\"tcp prot 80\"") && text.contains("EN10MB (1)"), "{text}");
    assert!(text.contains("syntax error") || text.contains("can't parse"), "{text}");
    assert!(Filter::new("ip\0tcp").is_err());
    // Of 802.11 only: well formed, but not for Ethernet.
    let mut filter = Filter::new("wlan type mgt").unwrap();
    assert!(filter.prepare(LinkType(127)).is_ok());
    let text = filter.prepare(LinkType::ETHERNET).unwrap_err().to_string();
    assert!(text.contains("EN10MB (1)"), "{text}");
}

fn packets() -> Vec<Packet> {
    let mut numbers = Numbers(9);
    let packet = |number: u64| {
        let mut bytes = numbers.bytes(60);
        bytes[12..15].copy_from_slice(&[8, 0, 0x45]);
        bytes[23] = [6, 17][number as usize % 2];
        Packet { timestamp_ns: number * 1000, wire_bytes: 60, bytes, link: 1, interface: 0 }
    };
    (0..20_000).map(packet).collect()
}

#[test]
fn filtered_sources_count_what_they_drop() {
    let packets = packets();
    let (file, _) = pcap(FORMS[0], Order { big_endian: false }, 1, &packets);
    let mut filter = Filter::new("ip and udp").unwrap();
    let wanted: Vec<bool> =
        packets.iter().map(|packet| filter.matches(LinkType(packet.link), &packet.bytes, 60).unwrap()).collect();
    let mut source = Filtered::new(Reader::from_stream("test", Cursor::new(file)).unwrap(), filter);
    let mut block = tidewire_capture::Block::new();
    let mut seen = 0;
    while tidewire_capture::Source::fill(&mut source, &mut block).unwrap() {
        for frame in block.batch().frames {
            let at = frame.number as usize - 1;
            assert!(wanted[at] && block.batch().bytes(frame) == packets[at].bytes);
            seen += 1;
        }
    }
    assert_eq!(seen, wanted.iter().filter(|&&wanted| wanted).count());
    assert_eq!(source.dropped_packets() as usize, packets.len() - seen);
    assert_eq!(source.dropped_bytes(), 60 * source.dropped_packets());
}

/// Who reads can end it although nothing is wanted.
#[test]
fn a_filter_that_wants_nothing_comes_back_after_each_block() {
    let packets = packets();
    let (file, _) = pcap(FORMS[0], Order { big_endian: false }, 1, &packets);
    let filter = Filter::new("less 1").unwrap();
    let mut source = Filtered::new(Reader::from_stream("test", Cursor::new(file)).unwrap(), filter);
    let (mut block, mut blocks) = (tidewire_capture::Block::new(), 0);
    while tidewire_capture::Source::fill(&mut source, &mut block).unwrap() {
        assert!(block.batch().frames.is_empty());
        blocks += 1;
    }
    assert!(blocks > 1 && source.dropped_packets() as usize == packets.len(), "{blocks}");
}

#[test]
fn an_expression_without_meaning_for_the_input_ends_it() {
    let (file, _) = pcap(FORMS[0], Order { big_endian: false }, 1, &packets());
    let filter = Filter::new("wlan type mgt").unwrap();
    let got = drain(Filtered::new(Reader::from_stream("test", Cursor::new(file)).unwrap(), filter));
    assert!(got.packets.is_empty() && matches!(got.errors[..], [Error::Filter { .. }]), "{:?}", got.errors);
}
