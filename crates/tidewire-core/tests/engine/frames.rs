//! Frames that are not one whole packet: transport headers cut by the snap length, and 802.11 aggregates of several packets.

use crate::common::*;
use std::collections::BTreeMap;
use tidewire_core::{
    Batch, Engine, Fate, Frame, Handler, Ledger, Share, Stream, StreamPacket, Timestamp,
    wire::{LinkType, Malformation},
};

/// What streams count, by client's port: packets, frames' bytes, bytes from IP up, state.
#[derive(Default)]
struct Figures(BTreeMap<u16, Vec<(u64, u64, u64, String)>>);

impl Handler for Figures {
    type Data = ();

    fn close(&mut self, stream: &mut Stream<'_, ()>, _: tidewire_core::EndReason) {
        use tidewire_core::Direction::{ClientToServer, ServerToClient};
        let [up, down] = [ClientToServer, ServerToClient].map(|direction| stream.stats(direction));
        let figures = (
            up.packets + down.packets,
            up.frame_bytes + down.frame_bytes,
            up.ip_bytes + down.ip_bytes,
            stream.state().name().to_owned(),
        );
        self.0.entry(stream.key().client.port).or_default().push(figures);
    }
}

#[test]
fn packets_with_a_cut_header_count_in_the_flow_of_their_ports() {
    let mut segments = handshake(100, 900);
    segments.push(Seg::new(true, 101, 901, ACK, &[7; 50]));
    segments.push(Seg::new(false, 901, 151, ACK, &[8; 30]));
    // 20 bytes of IP and some of TCP: its ports, its data offset too.
    for captured in [24, 33, 39] {
        let mut feed = Feed::new(&config(), Figures::default());
        for segment in &segments {
            let bytes = segment.bytes();
            feed.packet(LinkType::RAW, &bytes, bytes.len() - captured, 1);
        }
        let (figures, ledger) = feed.finish();
        assert_eq!(fate(&ledger, Fate::HeaderCut), 5, "captured {captured}");
        assert_eq!(ledger.malformations().map(|(_, count)| count).sum::<u64>(), 0);
        let [(packets, _, ip_bytes, state)] = &figures.0.values().next().unwrap()[..] else { panic!("one stream") };
        assert_eq!((*packets, *ip_bytes, state.as_str()), (5, 5 * 40 + 80, "midstream"));
        assert_eq!(figures.0.len(), 1);
    }
}

#[test]
fn cut_headers_among_whole_ones() {
    let all: Vec<Seg> = handshake(100, 900)
        .into_iter()
        .chain([Seg::new(true, 101, 901, ACK, b"abc"), Seg::new(true, 104, 901, ACK, b"def")])
        .collect();
    // The SYN is whole, its answer is cut; then bytes come, of which the last are cut, header and all.
    let mut feed = Feed::new(&config(), InvariantChecker::default());
    for (index, segment) in all.iter().enumerate() {
        let bytes = segment.bytes();
        let cut = if matches!(index, 1 | 4) { bytes.len() - 30 } else { 0 };
        feed.packet(LinkType::RAW, &bytes, cut, 1);
    }
    let (checker, ledger) = feed.finish();
    let log = checker.streams.values().next().unwrap();
    assert_eq!((log.packets, log.bytes[0].as_slice(), checker.streams.len()), ([4, 1], &b"abc"[..], 1));
    assert_eq!(fate(&ledger, Fate::HeaderCut), 2);
}

#[test]
fn a_datagram_with_a_cut_header_is_a_gap() {
    let mut feed = Feed::new(&config(), InvariantChecker::default());
    for (payload, captured) in [(&b"whole"[..], 33), (b"lost", 25), (b"end", 31), (b"no ports", 22)] {
        let bytes = udp(7, payload);
        feed.packet(LinkType::RAW, &bytes, bytes.len() - captured, 1);
    }
    let (checker, ledger) = feed.finish();
    assert_eq!(fate(&ledger, Fate::HeaderCut), 2);
    assert_eq!(checker.streams.len(), 2, "without its ports it is of the addresses alone");
    let log = &checker.streams[&1];
    assert_eq!((log.bytes[0].as_slice(), &log.gaps[0]), (&b"wholeend"[..], &vec![(5, 4, "snapped".to_owned())]));
    assert_eq!(checker.streams[&4].gaps[0], [(0, 8, "snapped".to_owned())]);
}

/// An 802.11 data frame that is an aggregate of these packets: EtherType and bytes.
fn aggregate(packets: &[(u16, &[u8])]) -> Vec<u8> {
    let mut frame = [&[0x88, 1][..], &[0; 22], &[0x80, 0]].concat();
    for (ether_type, packet) in packets {
        frame.resize((frame.len() - 26).next_multiple_of(4) + 26, 0);
        frame.extend([2; 12]);
        frame.extend((8 + packet.len() as u16).to_be_bytes());
        frame.extend([0xaa, 0xaa, 3, 0, 0, 0]);
        frame.extend(ether_type.to_be_bytes());
        frame.extend(*packet);
    }
    frame
}

fn frames(packets: &[Vec<u8>]) -> (Vec<u8>, Vec<Frame>) {
    let mut memory = Vec::new();
    let mut frames = Vec::new();
    for (number, bytes) in (1..).zip(packets) {
        frames.push(
            Frame::new(LinkType::IEEE802_11, Timestamp::from_nanos(number))
                .with_number(number)
                .with_place(memory.len() as u32, bytes.len() as u32),
        );
        memory.extend(bytes);
    }
    (memory, frames)
}

fn run_frames<H: Handler>(packets: &[Vec<u8>], workers: u32, handler: impl Fn() -> H) -> (Vec<H>, Ledger) {
    let (memory, frames) = frames(packets);
    let mut ledger = Ledger::default();
    let handlers = (0..workers).map(|index| {
        let mut engine = Engine::new(config(), Share::new(index, workers), handler());
        engine.process(&Batch::new(&memory, &frames));
        engine.finish();
        let (handler, own) = engine.into_parts();
        ledger.add(&own);
        handler
    });
    let handlers = handlers.collect();
    assert_eq!(ledger.received, packets.len() as u64);
    assert!(ledger.closes(), "{ledger:?}");
    (handlers, ledger)
}

#[test]
fn every_packet_of_an_aggregate_is_in_its_stream() {
    let whole: Vec<Vec<u8>> = handshake(100, 900).iter().map(Seg::bytes).collect();
    let data = [Seg::new(true, 101, 901, ACK, b"abc").bytes(), Seg::new(true, 104, 901, ACK, b"def").bytes()];
    let datagrams: Vec<Vec<u8>> = (0..20).map(|port| udp(1000 + port, b"x")).collect();
    let ip = |packets: &[Vec<u8>]| {
        let list: Vec<(u16, &[u8])> = packets.iter().map(|packet| (0x0800, packet.as_slice())).collect();
        aggregate(&list)
    };
    let packets = [
        ip(&whole),
        ip(&data),
        ip(&datagrams),
        aggregate(&[(0x0806, &[0; 28]), (0x0800, &datagrams[0])]),
        aggregate(&[(0x0806, &[0; 28]), (0x88cc, &[0; 28])]),
        aggregate(&[(0x0800, &[0x45; 12]), (0x88cc, &[0; 28])]),
    ];
    let mut first: Option<BTreeMap<u64, StreamLog>> = None;
    for workers in [1, 2, 3, 8] {
        let (witnesses, ledger) = run_frames(&packets, workers, InvariantChecker::default);
        let mut streams = BTreeMap::new();
        for checker in witnesses {
            for (id, log) in checker.streams {
                assert!(streams.insert(id, log).is_none(), "an id stands for one stream");
            }
        }
        assert_eq!(streams.len(), 21);
        assert_eq!(streams[&1].bytes[0], b"abcdef");
        assert_eq!(streams[&1].packets, [4, 1]);
        assert_eq!(fate(&ledger, Fate::Aggregate), 4);
        assert_eq!((fate(&ledger, Fate::Arp), fate(&ledger, Fate::Malformed)), (1, 1));
        assert_eq!(ledger.malformation(Malformation::Ipv4Short), 1);
        assert_eq!(first.get_or_insert_with(|| streams.clone()), &streams, "{workers} workers");
    }
}

#[test]
fn an_aggregate_s_bytes_are_counted_once() {
    let datagrams = [udp(1, b"abc"), udp(2, b"defgh"), udp(3, b"i")];
    let list: Vec<(u16, &[u8])> = datagrams.iter().map(|packet| (0x0800, packet.as_slice())).collect();
    let mut frame = aggregate(&list);
    frame.extend([0; 4]);
    let (handlers, _) = run_frames(&[frame.clone()], 1, Figures::default);
    let figures: Vec<_> = handlers[0].0.values().flatten().collect();
    assert_eq!(figures.iter().map(|one| one.1).sum::<u64>(), frame.len() as u64);
    assert_eq!(figures.iter().map(|one| one.2).collect::<Vec<_>>(), [31, 33, 29]);
}

/// The numbers and payloads of packets, in the order of calls.
#[derive(Default)]
struct Packets(Vec<(u64, Vec<u8>)>);

impl Handler for Packets {
    type Data = ();
    const PACKETS: bool = true;

    fn packet(&mut self, _: &mut Stream<'_, ()>, packet: StreamPacket<'_>) {
        let payload = &packet.bytes[packet.payload_at as usize..][..packet.payload_captured_bytes as usize];
        self.0.push((packet.number, payload.to_vec()));
    }
}

#[test]
fn packets_of_an_aggregate_have_its_number() {
    let datagrams = [udp(1, b"abc"), udp(2, b"defgh"), udp(1, b"i")];
    let list: Vec<(u16, &[u8])> = datagrams.iter().map(|packet| (0x0800, packet.as_slice())).collect();
    let (handlers, _) = run_frames(&[aggregate(&list[..2]), aggregate(&list[1..])], 1, Packets::default);
    let expected: [(u64, &[u8]); 4] = [(1, b"abc"), (1, b"defgh"), (2, b"defgh"), (2, b"i")];
    assert_eq!(handlers[0].0.iter().map(|(number, bytes)| (*number, bytes.as_slice())).collect::<Vec<_>>(), expected);
}

#[test]
fn fragments_in_aggregates_are_put_together() {
    let whole = udp(5, &[9; 40]);
    let piece = |offset: usize, bytes: usize, more: bool| {
        let mut packet = [&whole[..20], &whole[20 + offset..20 + offset + bytes]].concat();
        packet[2..4].copy_from_slice(&(20 + bytes as u16).to_be_bytes());
        packet[4..6].copy_from_slice(&[0, 77]);
        packet[6] = if more { 0x20 } else { 0 };
        packet[7] = (offset / 8) as u8;
        packet
    };
    let (first, last) = (piece(0, 24, true), piece(24, 24, false));
    let packets = [aggregate(&[(0x0800, &first), (0x0800, &last)])];
    for workers in [1, 3] {
        let (witnesses, ledger) = run_frames(&packets, workers, InvariantChecker::default);
        let streams: Vec<StreamLog> = witnesses.into_iter().flat_map(|checker| checker.streams.into_values()).collect();
        assert_eq!((streams.len(), &streams[0].bytes[0][..]), (1, &[9; 40][..]));
        assert_eq!((ledger.datagrams_rebuilt, fate(&ledger, Fate::Aggregate)), (1, 1));
    }
}
