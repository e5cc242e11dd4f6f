use std::io::Cursor;

use tidewire_core::wire::LinkType;
use tidewire_files::Reader;
use tidewire_filter::Filter;

use super::*;

const PACKETS: u64 = 20_000;

/// Bytes of the packet with this number, from 1: UDP and TCP take turns.
fn packet(number: u64) -> [u8; 60] {
    let mut bytes = [number as u8; 60];
    bytes[12..15].copy_from_slice(&[8, 0, 0x45]);
    bytes[23] = [6, 17][number as usize % 2];
    bytes
}

/// A capture of Ethernet frames.
fn reader() -> Reader {
    let mut file = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1].map(u32::to_le_bytes).concat();
    for number in 1..=PACKETS {
        file.extend([0, number as u32, 60, 60].map(u32::to_le_bytes).concat());
        file.extend(packet(number));
    }
    Reader::from_stream("test", Cursor::new(file)).unwrap()
}

#[test]
fn filtered_sources_count_what_they_drop() {
    let mut filter = Filter::new("ip and udp").unwrap();
    let mut is_wanted = |number| filter.matches(LinkType::ETHERNET, &packet(number), 60).unwrap();
    let wanted: Vec<bool> = (1..=PACKETS).map(&mut is_wanted).collect();
    let mut source = Filtered::new(reader(), filter);
    let mut block = Block::new();
    let mut seen = 0;
    while source.fill(&mut block).unwrap() {
        for frame in block.batch().frames {
            assert!(wanted[frame.number as usize - 1] && block.batch().bytes(frame) == packet(frame.number));
            seen += 1;
        }
    }
    assert_eq!(seen, wanted.iter().filter(|&&wanted| wanted).count() as u64);
    assert_eq!(source.dropped_packets(), PACKETS - seen);
    assert_eq!(source.dropped_bytes(), 60 * source.dropped_packets());
}

/// Who reads can end it although nothing is wanted.
#[test]
fn a_filter_that_wants_nothing_comes_back_after_each_block() {
    let mut source = Filtered::new(reader(), Filter::new("less 1").unwrap());
    let (mut block, mut blocks) = (Block::new(), 0);
    while source.fill(&mut block).unwrap() {
        assert!(block.batch().frames.is_empty());
        blocks += 1;
    }
    assert!(blocks > 1 && source.dropped_packets() == PACKETS, "{blocks}");
}

#[test]
fn an_expression_without_meaning_for_the_input_matches_nothing_and_is_reported_once() {
    let mut source = Filtered::new(reader(), Filter::new("wlan type mgt").unwrap());
    let (mut block, mut errors) = (Block::new(), Vec::new());
    loop {
        match source.fill(&mut block) {
            Ok(true) => assert!(block.batch().frames.is_empty()),
            Ok(false) => break,
            Err(error) => errors.push(error),
        }
    }
    assert!(matches!(errors[..], [Error::Filter(_)]), "{errors:?}");
    assert_eq!(source.dropped_packets(), PACKETS);
}
