//! A query with the index finds what a scan of everything finds.

use std::{
    collections::{HashMap, HashSet},
    net::IpAddr,
    path::Path,
};

use tidewire_archive::{Identities, Query, Settings};
use tidewire_filter::Filter;
use tidewire_testing::filters::{EXPRESSIONS, random_packet};
use tidewire_wire::{Kind, LinkType, Settings as WireSettings, addresses, decode};

use crate::rig::{Numbers, Recorder, Seen, captures, read, recall};

/// Packets of all kinds: the captures of the tests, and random headers.
pub fn mixed(numbers: &mut Numbers) -> Vec<Seen> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus").canonicalize().expect("the corpus");
    let mut packets = Vec::new();
    for path in captures().iter().filter(|path| path.canonicalize().is_ok_and(|path| path.starts_with(&here))) {
        packets.extend(read(path));
    }
    for number in 0..3000 {
        let bytes = random_packet(numbers);
        let link = if number % 5 == 0 { LinkType::RAW } else { LinkType::ETHERNET };
        packets.push(Seen { timestamp_ns: 0, wire_bytes: bytes.len() as u32, link: link.0, bytes });
    }
    // Mixed, in one time.
    for place in (1..packets.len()).rev() {
        packets.swap(place, numbers.below(place as u64 + 1) as usize);
    }
    for (number, packet) in packets.iter_mut().enumerate() {
        packet.timestamp_ns = 1_700_000_000_000_000_000 + number as u64 * 1_000_000;
    }
    packets
}

/// A random expression over what is in the packets.
pub fn expression(numbers: &mut Numbers, packets: &[Seen], depth: u32) -> String {
    if depth > 0 && numbers.below(3) > 0 {
        let (left, right) = (expression(numbers, packets, depth - 1), expression(numbers, packets, depth - 1));
        return match numbers.below(6) {
            0 => format!("({left}) and ({right})"),
            1 => format!("({left}) or ({right})"),
            2 => format!("{left} and {right}"),
            3 => format!("{left} or {right}"),
            4 => format!("not ({left}) and {right}"),
            _ => format!("{left} or not {right}"),
        };
    }
    let packet = &packets[numbers.below(packets.len() as u64) as usize];
    let byte = |at: usize| packet.bytes.get(at).copied().unwrap_or(7);
    let start = if packet.link == LinkType::ETHERNET.0 { 14 } else { 0 };
    let address = |at: usize| format!("{}.{}.{}.{}", byte(at), byte(at + 1), byte(at + 2), byte(at + 3));
    let port = |at: usize| u16::from_be_bytes([byte(at), byte(at + 1)]);
    let (source, destination) = (address(start + 12), address(start + 16));
    let v6: Vec<String> = (0..8).map(|group| format!("{:x}", port(start + 8 + 2 * group))).collect();
    let v6 = v6.join(":");
    match numbers.below(16) {
        0 => format!("host {source}"),
        1 => format!("src host {source} or dst host {destination}"),
        2 => format!("dst {destination}"),
        3 => format!("net {}.{}", byte(start + 12), byte(start + 13)),
        4 => format!("src net {}.0.0.0/8", byte(start + 12)),
        5 => format!("port {}", port(start + 20)),
        6 => format!("tcp dst port {}", port(start + 22)),
        7 => format!("udp portrange {}-{}", port(start + 20), port(start + 20).saturating_add(1000)),
        8 => format!("ip6 host {v6}"),
        9 => "vlan".into(),
        10 => format!("vlan {}", port(14) & 0xfff),
        11 => format!("vlan and host {}", address(30)),
        12 => format!("host {source} and port {}", port(start + 20)),
        13 => format!("ip proto {}", byte(start + 9)),
        14 => format!("src or dst host {destination} and not port {}", port(start + 22)),
        _ => EXPRESSIONS[numbers.below(EXPRESSIONS.len() as u64) as usize].into(),
    }
}

/// The datagram that a packet is a fragment of, and whether it is the first one.
fn fragment(packet: &Seen) -> Option<((IpAddr, IpAddr, u32, u8), bool)> {
    let settings = WireSettings::default().with_tunnel_depth(0);
    let decoded = decode(LinkType(packet.link), &packet.bytes, packet.wire_bytes, &settings);
    let fragment = decoded.fragment;
    let proto = if decoded.ip_version == 4 { fragment.proto } else { 0 };
    let (source, destination) = addresses(&packet.bytes, &decoded);
    (decoded.kind == Kind::Fragment).then_some(((source, destination, fragment.id, proto), fragment.offset_bytes == 0))
}

/// Compares what was found with the packets that an expression accepts and, behind the first fragments among those, the other fragments of
/// their datagrams. Where a datagram has several first fragments, its stream is not certain, and others may not be found.
pub fn assert_found(found: &[Seen], packets: &[Seen], accepted: &[Seen], in_time: impl Fn(&Seen) -> bool, what: &str) {
    let accepted: HashSet<u64> = accepted.iter().map(|packet| packet.timestamp_ns).collect();
    let (mut firsts, mut begun, mut expected, mut doubtful) =
        (HashMap::new(), HashSet::new(), Vec::new(), HashSet::new());
    for (datagram, _) in packets.iter().filter_map(fragment).filter(|(_, is_first)| *is_first) {
        *firsts.entry(datagram).or_insert(0) += 1;
    }
    for packet in packets.iter().filter(|packet| in_time(packet)) {
        let (fragment, is_accepted) = (fragment(packet), accepted.contains(&packet.timestamp_ns));
        match fragment {
            Some((datagram, true)) if is_accepted => drop(begun.insert(datagram)),
            Some((datagram, false)) if !is_accepted && begun.contains(&datagram) => {
                expected.push(packet.clone());
                if firsts[&datagram] > 1 {
                    doubtful.insert(packet.timestamp_ns);
                }
            }
            _ => {}
        }
        if is_accepted {
            expected.push(packet.clone());
        }
    }
    let certain = |packets: &[Seen]| -> Vec<Seen> {
        packets.iter().filter(|packet| !doubtful.contains(&packet.timestamp_ns)).cloned().collect()
    };
    assert!(certain(found) == certain(&expected), "{what}: {} found, {} expected", found.len(), expected.len());
}

fn scanned(packets: &[Seen], query: &Query) -> Vec<Seen> {
    let mut filter = query.filter.as_deref().map(|filter| Filter::new(filter).expect("an expression"));
    let matches = |packet: &&Seen| {
        query.from_ns.is_none_or(|from| packet.timestamp_ns >= from)
            && query.to_ns.is_none_or(|to| packet.timestamp_ns < to)
            && filter.as_mut().is_none_or(|filter| {
                filter.matches(LinkType(packet.link), &packet.bytes, packet.wire_bytes).expect("a known link type")
            })
    };
    packets.iter().filter(matches).cloned().collect()
}

#[test]
fn a_query_finds_what_a_scan_finds() {
    let mut numbers = Numbers(0x5eed_0014);
    let mut packets = mixed(&mut numbers);
    // A link type without a meaning for an expression is an error in both; those links are another test's.
    packets.retain(|packet| matches!(packet.link, 1 | 101 | 113 | 276 | 0));
    let folder = tempfile::tempdir().expect("a folder");
    let mut recorder = Recorder::new(folder.path(), &Settings::default());
    for part in packets.chunks(packets.len().div_ceil(4)) {
        recorder.segment(part, &Identities::default());
    }
    let (mut tried, mut found, mut pruned) = (0, 0, 0);
    while tried < 3000 {
        let depth = numbers.below(3) as u32;
        let filter = expression(&mut numbers, &packets, depth);
        // It has to have a meaning for every link type.
        let links = [LinkType::ETHERNET, LinkType::RAW, LinkType(113), LinkType(276), LinkType(0)];
        if Filter::new(&filter).is_ok_and(|mut compiled| links.iter().any(|&link| compiled.prepare(link).is_err()))
            || Filter::new(&filter).is_err()
        {
            continue;
        }
        let mut query = Query { filter: Some(filter), ..Query::default() };
        if numbers.below(4) == 0 {
            let time = |numbers: &mut Numbers| packets[numbers.below(packets.len() as u64) as usize].timestamp_ns;
            let (from, to) = (time(&mut numbers), time(&mut numbers) + 1);
            (query.from_ns, query.to_ns) = (Some(from.min(to)), Some(from.max(to)));
        }
        tried += 1;
        let result = recall(folder.path(), &query);
        let in_time = |packet: &Seen| {
            query.from_ns.is_none_or(|from| packet.timestamp_ns >= from)
                && query.to_ns.is_none_or(|to| packet.timestamp_ns < to)
        };
        assert_found(&result, &packets, &scanned(&packets, &query), in_time, &format!("{query:?}"));
        found += result.len();
        pruned += usize::from(result.len() * 10 < packets.len());
    }
    println!("{tried} queries over {} packets found {found}; {pruned} found less than a tenth", packets.len());
    assert!(found > 10_000 && pruned > 500);
}
