//! Packets one by one: the iterator, the closure, and the views of their headers.

use std::{
    io::{Seek as _, Write as _},
    path::{Path, PathBuf},
};

use tidewire::{
    Capture, Checksum, ChecksumStatus, Error, Fate, Handler, OutsidePacket, Packet, SettingError, Stop, Stream,
    StreamPacket,
};

const HELLO: &[u8] = include_bytes!("corpus/hello/hello.pcap");

/// The project's captures; none where the crate is built from its package.
fn corpus() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let captures = entries.map(|entry| entry.expect("an entry").path().join("capture.pcap"));
    let mut captures: Vec<_> = captures.filter(|path| path.is_file()).collect();
    captures.sort();
    captures
}

/// Everything that a packet says of itself.
fn facts(packet: &Packet<'_>) -> String {
    let headers = packet.headers();
    assert_eq!(headers.broken_promise(), None);
    let times = (packet.number(), packet.timestamp(), packet.interface(), packet.link());
    let sums = (packet.checksum_status(), packet.verify_checksum(), packet.verify_ipv4_checksum());
    let views = (packet.ethernet(), packet.ipv4(), packet.ipv6(), packet.tcp(), packet.udp(), packet.icmp());
    format!("{times:?} {} {sums:?} {views:?} {:?} {:?}", packet.wire_bytes(), packet.flow_key(), packet.bytes())
}

#[test]
fn the_iterator_and_the_closure_give_the_same_packets() {
    for path in corpus() {
        let mut closure = Vec::new();
        let outcome = Capture::file(&path).for_each_packet(|packet| closure.push(facts(&packet))).expect("a capture");
        let mut packets = Capture::file(&path).packets().expect("a capture");
        let kept: Vec<Packet<'static>> = packets.by_ref().collect();
        let iterator: Vec<String> = kept.iter().map(facts).collect();
        assert_eq!(iterator, closure, "{}", path.display());
        let finished = packets.finish();
        assert!(finished.ledger.closes() && !finished.interrupted, "{:?}", finished.ledger);
        assert_eq!(finished.ledger, outcome.ledger);
        assert_eq!(finished.ledger.received, iterator.len() as u64);
        // A kept packet outlives the input, and stays the same once it has its own bytes.
        let owned: Vec<Packet<'static>> = kept.into_iter().map(Packet::into_owned).collect();
        assert_eq!(owned.iter().map(facts).collect::<Vec<_>>(), iterator);
    }
}

/// Facts of every packet that a handler gets.
#[derive(Default)]
struct Views(Vec<String>);

impl Handler for Views {
    type Data = ();
    const PACKETS: bool = true;
    const OUTSIDE: bool = true;

    fn packet(&mut self, stream: &mut Stream<'_, ()>, packet: StreamPacket<'_>) {
        assert_eq!(packet.headers().broken_promise(), None);
        let at = packet.payload_at as usize;
        assert_eq!(packet.payload(), &packet.bytes[at..at + packet.payload_captured_bytes as usize]);
        assert_eq!(packet.ipv4().is_some(), stream.key().client.address.is_ipv4());
        if packet.fragments.is_empty() {
            self.0.push(format!("{} {:?} {:?} {:?}", packet.number, packet.ipv4(), packet.tcp(), packet.udp()));
        } else {
            // Rebuilt: a whole datagram.
            let wire_bytes = packet.udp().map(|udp| usize::from(udp.length()));
            assert!(wire_bytes.is_none_or(|bytes| bytes == packet.payload().len() + 8));
        }
    }

    fn outside(&mut self, packet: OutsidePacket<'_>) {
        assert_eq!(packet.headers().broken_promise(), None);
    }
}

#[test]
fn handlers_and_the_iterator_see_the_same_headers() {
    for path in corpus() {
        let of_handler = Capture::file(&path).duplicates(tidewire::Duplicates::Keep).run_with(Views::default());
        let mut of_handler = of_handler.expect("a capture").into_handler().0;
        let packets = Capture::file(&path).packets().expect("a capture");
        let line = |packet: Packet<'_>| {
            format!("{} {:?} {:?} {:?}", packet.number(), packet.ipv4(), packet.tcp(), packet.udp())
        };
        let all: std::collections::BTreeSet<String> = packets.map(line).collect();
        of_handler.retain(|line| !all.contains(line));
        // Packets of an aggregate are cut out of their frames; those that a broker cut are malformed by themselves.
        let differs = ["aggregate", "sliced"].iter().any(|name| path.to_string_lossy().contains(name));
        assert!(of_handler.is_empty() || differs, "{path:?}: {of_handler:?}");
    }
}

#[test]
fn a_packet_says_what_was_captured() {
    let mut packets = Capture::reader(HELLO).packets().unwrap();
    let syn = packets.next().unwrap();
    assert_eq!((syn.number(), syn.interface(), syn.checksum_status()), (1, 0, ChecksumStatus::Unknown));
    assert_eq!((syn.verify_checksum(), syn.verify_ipv4_checksum()), (Checksum::Good, Checksum::Good));
    let key = syn.flow_key().unwrap();
    assert_eq!(key.to_string(), "tcp 192.0.2.1:40000 > 198.51.100.2:80");
    let tcp = syn.tcp().unwrap();
    assert_eq!((tcp.source_port(), tcp.flags(), syn.payload()), (40_000, tidewire::tcp_flag::SYN, &b""[..]));
    let answer = packets.next().unwrap();
    assert_eq!(answer.flow_key().map(tidewire::FlowKey::reversed), Some(key));
    assert!(answer.timestamp() >= syn.timestamp() && syn.udp().is_none() && syn.ipv6().is_none());
}

#[test]
fn what_was_not_taken_is_not_counted() {
    let mut packets = Capture::reader(HELLO).packets().unwrap();
    assert!(packets.next().is_some());
    let outcome = packets.finish();
    assert!(outcome.interrupted && outcome.ledger.closes());
    assert_eq!(outcome.ledger.received, 1);
}

#[test]
fn filters_damage_and_stops_are_in_the_outcome() {
    let mut packets = Capture::reader(HELLO).filter("src host 192.0.2.1").packets().unwrap();
    assert!(packets.by_ref().all(|packet| packet.ipv4().unwrap().source().octets() == [192, 0, 2, 1]));
    let ledger = packets.finish().ledger;
    assert_eq!((ledger.received, ledger.fate(Fate::Filtered), ledger.fate(Fate::Tracked)), (8, 3, 5));
    assert!(ledger.closes());

    let cut = &HELLO[..HELLO.len() - 3];
    let mut packets = Capture::reader(cut).packets().unwrap();
    assert_eq!(packets.by_ref().count(), 7);
    assert_eq!(packets.finish().input_errors.len(), 1);

    let stop = Stop::new();
    let mut packets = Capture::reader(HELLO).stop_when(&stop).packets().unwrap();
    stop.stop();
    assert!(packets.next().is_none());
    assert!(packets.finish().interrupted);

    let error = Capture::reader(HELLO).workers(2).packets().expect_err("one worker");
    assert!(matches!(error, Error::Setting(SettingError::OneWorker { given: 2 })));
    let error = Capture::reader(HELLO).workers(2).for_each_packet(|_| ()).expect_err("one worker");
    assert!(matches!(error, Error::Setting(SettingError::OneWorker { given: 2 })));
}

#[test]
fn memory_does_not_grow_with_the_input() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&HELLO[..24]).unwrap();
    let records = HELLO[24..].repeat(1000);
    for _ in 0..80 {
        file.write_all(&records).unwrap();
    }
    file.rewind().unwrap();
    let (mut count, mut least, mut most) = (0, usize::MAX, 0);
    for packet in Capture::reader(file).packets().unwrap() {
        let address = packet.bytes().as_ptr() as usize;
        (count, least, most) = (count + 1, least.min(address), most.max(address));
    }
    assert_eq!(count, 8 * 80_000);
    assert!(most - least < 16 << 20, "the 50 MB of the input pass through {} bytes", most - least);
}
