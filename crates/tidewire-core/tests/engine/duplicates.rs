//! The same packet twice.

use std::time::Duration;

use tidewire_core::{
    Batch, Config, DuplicatePattern, DuplicateRule, Engine, Fate, Frame, Handler, Ledger, Share, Stream, Timestamp,
    wire::{LinkType, Settings},
};

use crate::common::{Seg, config, ethernet, fate, handshake, udp};

/// Counts packets of streams.
#[derive(Default)]
struct Packets {
    streams: u64,
    packets: u64,
    retransmitted: u64,
}

impl Handler for Packets {
    type Data = ();

    fn close(&mut self, stream: &mut Stream<'_, ()>, _: tidewire_core::EndReason) {
        self.streams += 1;
        for direction in [tidewire_core::Direction::ClientToServer, tidewire_core::Direction::ServerToClient] {
            self.packets += stream.stats(direction).packets;
            self.retransmitted += stream.stats(direction).retransmitted_bytes;
        }
    }
}

/// A packet at an interface: time in microseconds, frame.
type Shown = (u16, u64, Vec<u8>);

fn frame(number: u64, (interface, time_us, bytes): &Shown) -> Frame {
    let time_ns = 1_000_000_000 + time_us * 1_000;
    Frame::new(LinkType::ETHERNET, Timestamp::from_nanos(time_ns))
        .with_number(number)
        .with_place(0, bytes.len() as u32)
        .with_interface(*interface)
}

fn run(shown: &[Shown], rule: DuplicateRule, workers: u32) -> (Packets, Ledger) {
    let (mut sum, mut ledger) = (Packets::default(), Ledger::default());
    let config: Config = config().with_duplicates(rule);
    for index in 0..workers {
        let mut engine = Engine::new(config.clone(), Share::new(index, workers), Packets::default());
        for (number, one) in shown.iter().enumerate() {
            engine.process(&Batch::new(&one.2, &[frame(number as u64 + 1, one)]));
        }
        engine.finish();
        let (handler, part) = engine.into_parts();
        sum.streams += handler.streams;
        sum.packets += handler.packets;
        sum.retransmitted += handler.retransmitted;
        ledger.add(&part);
    }
    assert_eq!(ledger.received, shown.len() as u64);
    assert!(ledger.closes(), "{ledger:?}");
    (sum, ledger)
}

/// A connection, with identifications as a host gives them.
fn connection() -> Vec<Vec<u8>> {
    let mut segments = handshake(100, 500);
    for at in 0..8 {
        segments.push(Seg::new(true, 101 + at * 300, 501 + at * 300, 0x18, &[b'a' + at as u8; 300]));
        segments.push(Seg::new(false, 501 + at * 300, 401 + at * 300, 0x18, &[b'A' + at as u8; 300]));
    }
    let numbered = |(at, segment): (usize, &Seg)| {
        let mut bytes = segment.bytes();
        bytes[4..6].copy_from_slice(&(at as u16 + 1).to_be_bytes());
        bytes
    };
    segments.iter().enumerate().map(numbered).collect()
}

/// The same frame with other addresses, one hop later.
fn routed(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    packet[8] -= 1;
    packet[11] ^= 1;
    let mut bytes = ethernet(&[], &packet);
    bytes[5] = 77;
    bytes
}

#[test]
fn packets_at_several_interfaces_count_once() {
    let packets = connection();
    let mut shown = Vec::new();
    for (at, packet) in packets.iter().enumerate() {
        let time_us = at as u64 * 1_000;
        shown.push((0, time_us, ethernet(&[], packet)));
        shown.push((1, time_us + 20, ethernet(&[7], packet)));
        shown.push((2, time_us + 400, routed(packet)));
    }
    let all = packets.len() as u64;
    for workers in [1, 3] {
        let (handler, ledger) = run(&shown, DuplicateRule::Places, workers);
        assert_eq!((handler.streams, handler.packets, handler.retransmitted), (1, all, 0));
        assert_eq!(fate(&ledger, Fate::Duplicate), 2 * all);
        assert_eq!(ledger.duplicates().collect::<Vec<_>>(), [(1, all), (2, all)]);
        let (handler, ledger) = run(&shown, DuplicateRule::Keep, workers);
        assert_eq!((handler.packets, fate(&ledger, Fate::Duplicate)), (3 * all, 0));
    }
}

#[test]
fn a_mirror_of_both_directions_is_one_conversation() {
    let packets = connection();
    let twice =
        |(at, packet): (usize, &Vec<u8>)| [0, 20].map(|late| (0, at as u64 * 1_000 + late, ethernet(&[], packet)));
    let shown: Vec<Shown> = packets.iter().enumerate().flat_map(twice).collect();
    let mut pattern = DuplicatePattern::new([1, 2], &Settings::default());
    for (number, one) in shown.iter().enumerate() {
        assert!(pattern.observe(&Batch::new(&one.2, &[frame(number as u64 + 1, one)])));
    }
    let found = pattern.verdict().expect("a pattern");
    assert_eq!((found.rule, found.within), (DuplicateRule::Doubled, Duration::from_micros(20)));
    assert_eq!((found.packets, found.copies), (shown.len() as u32, packets.len() as u32));
    for rule in [DuplicateRule::Identified, DuplicateRule::Doubled] {
        let (handler, ledger) = run(&shown, rule, 2);
        assert_eq!((handler.streams, handler.packets, handler.retransmitted), (1, packets.len() as u64, 0));
        assert_eq!(fate(&ledger, Fate::Duplicate), packets.len() as u64);
    }
}

/// Retransmissions have the same bytes, and another identification.
#[test]
fn retransmissions_are_no_copies_and_no_pattern() {
    let packets = connection();
    let mut shown: Vec<Shown> = Vec::new();
    for (at, packet) in packets.iter().enumerate() {
        let mut again = packet.clone();
        again[4..6].copy_from_slice(&(1_000 + at as u16).to_be_bytes());
        shown.push((0, at as u64 * 1_000, ethernet(&[], packet)));
        shown.push((0, at as u64 * 1_000 + 300, ethernet(&[], &again)));
    }
    let mut pattern = DuplicatePattern::new([1, 2], &Settings::default());
    for (number, one) in shown.iter().enumerate() {
        pattern.observe(&Batch::new(&one.2, &[frame(number as u64 + 1, one)]));
    }
    assert_eq!(pattern.verdict(), None);
    let (handler, ledger) = run(&shown, DuplicateRule::Doubled, 1);
    assert_eq!((handler.packets, fate(&ledger, Fate::Duplicate)), (shown.len() as u64, 0));
}

/// A flood of equal packets, or a generator's, is no mirror.
#[test]
fn a_flood_of_equal_packets_is_no_pattern() {
    let packet = ethernet(&[], &udp(40_000, &[b'x'; 400]));
    let mut pattern = DuplicatePattern::new([1, 2], &Settings::default());
    for number in 0..2_000_u64 {
        let one = (0, number, packet.clone());
        pattern.observe(&Batch::new(&one.2, &[frame(number + 1, &one)]));
    }
    assert_eq!(pattern.verdict(), None);
}

/// Fragments have no ports: every worker sees them, one counts them.
#[test]
fn fragments_are_left_out_too() {
    let whole = udp(40_000, &[b'y'; 1_600]);
    let fragment = |offset: usize, bytes: &[u8], more: bool| {
        let mut packet = whole[..20].to_vec();
        packet[2..4].copy_from_slice(&(20 + bytes.len() as u16).to_be_bytes());
        packet[4..6].copy_from_slice(&[9, 9]);
        packet[6..8].copy_from_slice(&((offset / 8) as u16 | u16::from(more) << 13).to_be_bytes());
        packet.extend(bytes);
        ethernet(&[], &packet)
    };
    let parts = [fragment(0, &whole[20..828], true), fragment(808, &whole[828..], false)];
    let mut shown = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        shown.push((0, at as u64 * 10, part.clone()));
        shown.push((1, at as u64 * 10 + 5, part.clone()));
    }
    for workers in [1, 3] {
        let (handler, ledger) = run(&shown, DuplicateRule::Places, workers);
        assert_eq!((handler.packets, fate(&ledger, Fate::FragmentRebuilt), fate(&ledger, Fate::Duplicate)), (1, 2, 2));
    }
}
