//! The index that is written while recording and the one that is made of the segment find the same frames.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    net::IpAddr,
    path::Path,
};

use tidewire::{Capture, FlowKey, Handler, Mode, Stream, StreamPacket, community_id};
use tidewire_archive::{Directory, Identities, Network, Query, Settings};
use tidewire_recorder::RecordSettings;
use tidewire_wire::{Kind, LinkType, Settings as WireSettings, addresses, decode, ports};

use crate::rig::{Seen, captures, read, recall, record};

/// Community IDs of the streams of a capture.
#[derive(Default)]
struct Streams(BTreeSet<String>);

impl Handler for Streams {
    type Data = ();
    const PACKETS: bool = true;

    fn packet(&mut self, stream: &mut Stream<'_, ()>, _: StreamPacket<'_>) {
        self.0.insert(community_id(&stream.key(), 0));
    }
}

/// Queries of every kind about what is in packets.
fn queries(packets: &[Seen], capture: &Path) -> Vec<Query> {
    let mut queries = vec![Query::default()];
    let filters = [
        "arp",
        "ether proto 0x88cc",
        "ether multicast",
        "stp",
        "vlan",
        "ip",
        "ip6",
        "tcp",
        "udp",
        "icmp",
        "icmp6",
        "sctp",
        "port 53",
        "ip[6:2] & 0x3fff != 0",
        "ip6 proto 44",
        "ip6 protochain 17",
        "ip proto 47",
        "proto 41",
        "not ip",
        "greater 1000",
        "arp host 10.0.0.1",
        "net 10.0.0.0/8",
        "vlan and ip",
        "pppoes",
        "mpls",
        "udp port 4789",
    ];
    queries.extend(filters.map(|filter| Query { filter: Some(filter.into()), ..Query::default() }));
    let (mut hosts, mut port_numbers, mut protocols, mut vlans) =
        (BTreeSet::new(), BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for packet in packets {
        let decoded = decode(LinkType(packet.link), &packet.bytes, packet.wire_bytes, &WireSettings::default());
        vlans.extend(decoded.vlans.iter().filter(|vlan| (1..4095).contains(vlan)));
        if decoded.kind as u8 <= Kind::Fragment as u8 {
            let (source, destination) = addresses(&packet.bytes, &decoded);
            let (from, to) = ports(&packet.bytes, &decoded);
            hosts.extend([source, destination]);
            port_numbers.extend([from, to]);
            protocols.extend([decoded.proto, decoded.fragment.proto]);
        }
    }
    for host in hosts.into_iter().take(40) {
        let prefix = if host.is_ipv4() { 24 } else { 64 };
        queries.push(Query { hosts: vec![host], ..Query::default() });
        queries.push(Query { net: Network::new(host, prefix), ..Query::default() });
        let filter = match host {
            IpAddr::V4(_) => format!("host {host}"),
            IpAddr::V6(_) => format!("ip6 host {host}"),
        };
        queries.push(Query { filter: Some(filter), ..Query::default() });
    }
    queries.extend(port_numbers.into_iter().take(40).map(|port| Query { ports: vec![port], ..Query::default() }));
    queries.extend(protocols.into_iter().map(|protocol| Query { protocol: Some(protocol), ..Query::default() }));
    queries.extend(vlans.into_iter().map(|vlan| Query { vlan: Some(vlan), ..Query::default() }));
    let outcome = Capture::file(capture).mode(Mode::Track).run_with(Streams::default()).expect("a run");
    let streams = outcome.handler().0.iter().take(60);
    queries.extend(streams.map(|id| Query { community_id: Some(id.clone()), ..Query::default() }));
    queries
}

/// Copies the segments of an archive, and has indexes made of them.
fn rebuilt(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("an archive") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|ending| ending == "pcapng") {
            fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("a copy");
        }
    }
    let directory = Directory::open(to, &Settings::default(), 0).expect("a directory");
    directory.index_only(&Identities::default(), true, 0, |_| {}).expect("indexes");
}

#[test]
fn both_indexes_find_the_same_frames() {
    let (mut tried, mut found_in_all, mut of_streams) = (0, 0, 0);
    for capture in captures() {
        let packets = read(&capture);
        let own = tempfile::tempdir().expect("a directory");
        let (figures, _) = record(&capture, &[own.path()], &Settings::default(), RecordSettings::default());
        if figures.totals.all().written_packets == 0 {
            continue;
        }
        let made = tempfile::tempdir().expect("a directory");
        rebuilt(own.path(), made.path());
        for query in queries(&packets, &capture) {
            let compile = |filter: &String| tidewire_filter::Filter::new(filter);
            let links: BTreeSet<u16> = packets.iter().map(|packet| packet.link).collect();
            let has_meaning = query.filter.as_ref().is_none_or(|filter| {
                links.iter().all(|&link| compile(filter).is_ok_and(|mut it| it.prepare(LinkType(link)).is_ok()))
            });
            if !has_meaning {
                continue;
            }
            let (one, other) = (recall(&[own.path()], &query), recall(&[made.path()], &query));
            // Which stream a packet in a tunnel belongs to, of which the tunnel's packet was fragmented, shows reassembly alone.
            let name = capture.to_string_lossy();
            let is_tunnel = name.contains("tunnel-") && !name.contains("-truncated") && query.community_id.is_some();
            let is_same = one == other || is_tunnel && one.iter().all(|packet| other.contains(packet));
            assert!(is_same, "{}: {query:?}: {} and {}", capture.display(), one.len(), other.len());
            tried += 1;
            found_in_all += one.len();
            of_streams += usize::from(query.community_id.is_some() && !one.is_empty());
        }
    }
    println!("{tried} queries found {found_in_all} packets");
    assert!(tried > 2000 && found_in_all > 10_000 && of_streams > 100, "{tried} {found_in_all} {of_streams}");
}

/// Frames that a packet broker or a mirror cut, also inside of a tunnel, are found by the connection inside, and are of its stream.
#[test]
fn frames_that_were_cut_are_found_by_their_inner_connection() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let captures = ["link-sliced/capture.pcap", "tunnel-erspan-truncated/capture.pcap"].map(|name| corpus.join(name));
    let folder = tempfile::tempdir().expect("a folder");
    let in_gre = folder.path().join("gre.pcap");
    fs::write(&in_gre, cut_in_gre()).expect("written");
    for capture in captures.into_iter().chain([in_gre]) {
        let packets = read(&capture);
        let outcome = Capture::file(&capture).mode(Mode::Track).run_with(Frames::default()).expect("a run");
        let streams = &outcome.handler().0;
        assert!(!streams.is_empty());
        let own = tempfile::tempdir().expect("a directory");
        record(&capture, &[own.path()], &Settings::default(), RecordSettings::default());
        let made = tempfile::tempdir().expect("a directory");
        rebuilt(own.path(), made.path());
        for (key, numbers) in streams {
            let expected: Vec<Seen> = numbers.iter().map(|&number| packets[number as usize - 1].clone()).collect();
            let (hosts, ports) = (vec![key.client.address], vec![key.client.port]);
            let by_ends = Query { hosts, ports, ..Query::default() };
            let by_stream = Query { community_id: Some(community_id(key, 0)), ..Query::default() };
            for query in [by_ends, by_stream] {
                for archive in [own.path(), made.path()] {
                    let found = recall(&[archive], &query);
                    let (path, count) = (capture.display(), found.len());
                    assert!(found == expected, "{path}: {query:?}: {count} of {}", expected.len());
                }
            }
        }
    }
}

/// Numbers of the packets of each stream.
#[derive(Default)]
struct Frames(HashMap<FlowKey, Vec<u64>>);

impl Handler for Frames {
    type Data = ();
    const PACKETS: bool = true;

    fn packet(&mut self, stream: &mut Stream<'_, ()>, packet: StreamPacket<'_>) {
        self.0.entry(stream.key()).or_default().push(packet.number);
    }
}

/// A connection in GRE, whose longer frames were cut to 128 bytes, which is their length in the capture.
fn cut_in_gre() -> Vec<u8> {
    let ip = |proto: u8, ends: [u8; 8], content: &[u8]| {
        let length = (20 + content.len() as u16).to_be_bytes();
        [&[0x45, 0, length[0], length[1], 0, 0, 0, 0, 64, proto, 0, 0], &ends[..], content].concat()
    };
    let mut file = [&0xa1b2_c3d4_u32.to_le_bytes()[..], &[2, 0, 4, 0], &[0; 8], &[0, 0, 4, 0], &[1, 0, 0, 0]].concat();
    for number in 0..40_u32 {
        let payload = vec![b'x'; if number % 2 == 0 { 0 } else { 1000 }];
        let (from, to) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        let [(source, sport), (destination, dport)] =
            if payload.is_empty() { [(from, 40_000_u16), (to, 80)] } else { [(to, 80), (from, 40_000_u16)] };
        let mut segment = [sport.to_be_bytes(), dport.to_be_bytes()].concat();
        segment.extend([(1 + number / 2 * 1000).to_be_bytes(), (1 + number / 2 * 1000).to_be_bytes()].concat());
        segment.extend([0x50, 16, 0xff, 0xff, 0, 0, 0, 0]);
        segment.extend(payload);
        let inner = ip(6, [source, destination].concat().try_into().expect("8 bytes"), &segment);
        let outer = ip(47, [192, 0, 2, 1, 192, 0, 2, 2], &[&[0, 0, 8, 0], &inner[..]].concat());
        let mut frame = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0], &outer[..]].concat();
        frame.truncate(128);
        let length = (frame.len() as u32).to_le_bytes();
        file.extend([&number.to_le_bytes()[..], &[0; 4], &length, &length, &frame].concat());
    }
    file
}
