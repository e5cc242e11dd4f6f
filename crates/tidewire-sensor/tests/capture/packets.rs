//! Packet queues: every packet of a stream, in order, with its place in it, compared with etherparse.

use etherparse::{LaxSlicedPacket, TransportSlice};
use tidewire::{Capture, Fate, Handler};
use tidewire_queue::records::{Direction, OFFSET_NONE, packet_reasons};
use tidewire_sensor::config::{Distribution, Unit};

use crate::rig::{Packet, Rig, corpus, hostile, queue};

/// Packets that analyzers of a packet queue or a set of them see.
fn packets(files: &[std::path::PathBuf], count: usize, distribution: Distribution) -> Vec<Vec<Packet>> {
    let mut packets = queue("packets");
    (packets.unit, packets.count, packets.distribution, packets.wait_for) = (Unit::Packets, count, distribution, 1);
    let rig = Rig::new(files, vec![packets]);
    let mut running = rig.start();
    running.ready();
    let name = |index| if count == 1 { "packets".to_owned() } else { format!("packets.{index}") };
    let analyzers: Vec<_> = (0..count).map(|index| rig.analyzer(&name(index), None)).collect();
    let seen = analyzers.into_iter().map(|analyzer| analyzer.join().unwrap().packets).collect();
    running.finish();
    seen
}

#[test]
fn packets_have_their_layers_where_etherparse_finds_them() {
    let seen = packets(&[corpus("demo")], 1, Distribution::FlowHash).remove(0);
    let (mut tcp, mut udp) = (0, 0);
    let mut last = 0;
    for packet in &seen {
        let (header, bytes) = (&packet.header, &packet.bytes);
        if packet.stream == 0 {
            continue;
        }
        assert!(header.number > last, "in the order of capture");
        last = header.number;
        // A datagram of fragments is an IP packet.
        let is_rebuilt = header.link_type == 101;
        let sliced = match is_rebuilt {
            true => LaxSlicedPacket::from_ip(bytes).unwrap(),
            false => LaxSlicedPacket::from_ethernet(bytes).unwrap(),
        };
        let at = |part: &[u8]| part.as_ptr() as usize - bytes.as_ptr() as usize;
        let (proto, ports, transport, payload) = match sliced.transport.as_ref().unwrap() {
            TransportSlice::Tcp(one) => {
                tcp += 1;
                (6, [one.source_port(), one.destination_port()], one.slice(), one.payload())
            }
            TransportSlice::Udp(one) => {
                udp += 1;
                (17, [one.source_port(), one.destination_port()], one.slice(), one.payload())
            }
            _ => continue,
        };
        let sent = match packet.direction {
            Direction::ClientToServer => [header.key.client.port, header.key.server.port],
            Direction::ServerToClient => [header.key.server.port, header.key.client.port],
        };
        assert_eq!((header.key.protocol, sent), (proto, ports), "packet {}", header.number);
        let network = match sliced.net.as_ref().unwrap() {
            etherparse::LaxNetSlice::Ipv4(one) => at(one.header().slice()),
            etherparse::LaxNetSlice::Ipv6(one) => at(one.header().slice()),
            other => panic!("{other:?}"),
        };
        assert_eq!(header.network_at as usize, network);
        assert_eq!(header.transport_at as usize, at(transport));
        assert_eq!((header.payload_at as usize, header.payload_bytes as usize), (at(payload), payload.len()));
        assert!(is_rebuilt || (header.link_type, header.wire_bytes as usize) == (1, bytes.len()), "captured whole");
    }
    assert!(tcp > 50 && udp > 5, "{tcp} {udp}");
}

#[test]
fn offsets_are_within_the_bytes_whatever_was_captured() {
    for packet in packets(&hostile(), 1, Distribution::FlowHash).remove(0) {
        let (header, bytes) = (packet.header, packet.bytes.len() as u64);
        if packet.stream == 0 {
            continue;
        }
        for at in [header.network_at, header.transport_at, header.payload_at] {
            assert!(at == OFFSET_NONE || u64::from(at) <= bytes, "packet {}: {at} of {bytes}", header.number);
        }
        assert!(u64::from(header.payload_at) + u64::from(header.payload_bytes) <= bytes);
    }
}

#[test]
fn a_set_divides_packets_by_flow_or_in_turn() {
    let files = hostile();
    let whole = packets(&files, 1, Distribution::FlowHash).remove(0);
    let numbers =
        |packets: &[Packet]| packets.iter().map(|packet| (packet.header.number, packet.stream)).collect::<Vec<_>>();
    let streams =
        |packets: &[Packet]| packets.iter().map(|packet| packet.stream).collect::<std::collections::HashSet<_>>();
    for distribution in [Distribution::FlowHash, Distribution::RoundRobin] {
        let parts = packets(&files, 2, distribution);
        let mut union: Vec<_> = parts.iter().flat_map(|part| numbers(part)).collect();
        union.sort_unstable();
        let mut expected = numbers(&whole);
        expected.sort_unstable();
        assert_eq!(union, expected);
        match distribution {
            Distribution::FlowHash => assert!(streams(&parts[0]).is_disjoint(&streams(&parts[1]))),
            Distribution::RoundRobin => assert!(parts[0].len().abs_diff(parts[1].len()) <= 1),
        }
    }
}

/// A stream queue beside a packet queue, in one engine.
#[test]
fn packets_and_streams_are_published_side_by_side() {
    let (mut packets, mut streams) = (queue("packets"), queue("streams"));
    packets.unit = Unit::Packets;
    packets.cutoff_bytes = Some(0);
    (packets.wait_for, streams.wait_for) = (1, 1);
    let rig = Rig::new(&[corpus("demo")], vec![packets, streams]);
    let mut running = rig.start();
    running.ready();
    let [packets, streams] = ["packets", "streams"].map(|name| rig.analyzer(name, None));
    let (packets, streams) = (packets.join().unwrap().packets, streams.join().unwrap().streams);
    running.finish();
    assert!(!packets.is_empty() && packets.iter().all(|packet| packet.header.payload_bytes == 0), "a cutoff of 0");
    assert!(packets.iter().all(|packet| packet.stream == 0 || streams.contains_key(&packet.stream)));
    assert!(streams.values().any(|stream| stream.bytes[1].len() > 30_000));
}

/// Each packet of the input is in the queue, or is a fragment: those without a stream say why they have none.
#[test]
fn packets_without_a_stream_say_why() {
    let files = hostile();
    let ran = Capture::files(&files).run_with(Nothing).unwrap();
    let fates = [Fate::Arp, Fate::OtherLink, Fate::UnsupportedLink, Fate::Malformed];
    let expected = fates.map(|fate| ran.ledger.fate(fate));
    let mut seen = [0; 5];
    for packet in packets(&files, 1, Distribution::FlowHash).remove(0) {
        assert_eq!(packet.code == 0, packet.stream != 0, "packet {}", packet.header.number);
        if packet.stream == 0 {
            seen[usize::from(packet.code)] += 1;
            assert_eq!(packet.header.network_at, OFFSET_NONE);
            assert!(packet.header.number > 0 && !packet.bytes.is_empty());
        }
    }
    let reasons =
        [packet_reasons::ARP, packet_reasons::OTHER_LINK, packet_reasons::UNSUPPORTED_LINK, packet_reasons::MALFORMED];
    let seen = reasons.map(|reason| seen[usize::from(reason)]);
    assert!(expected.iter().sum::<u64>() > 5, "{expected:?}");
    assert_eq!(seen, expected);
}

struct Nothing;

impl Handler for Nothing {
    type Data = ();
}
