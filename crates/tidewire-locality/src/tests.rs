use std::time::Duration;

use proptest::prelude::*;
use tidewire_wire::{Batch, Frame, Timestamp};
use tidewire_wire::{Kind, LinkType, Settings as Walk, addresses, decode, ports};

use super::*;

/// Frames one after the other, as in a block.
#[derive(Default)]
struct Pile {
    memory: Vec<u8>,
    frames: Vec<Frame>,
}

impl Pile {
    fn push(&mut self, link: LinkType, bytes: &[u8], wire_bytes: usize) {
        let number = self.frames.len() as u64 + 1;
        self.frames.push(
            Frame::new(link, Timestamp::from_nanos(number))
                .with_number(number)
                .with_place(self.memory.len() as u32, bytes.len() as u32)
                .with_wire_bytes(wire_bytes as u32),
        );
        self.memory.extend_from_slice(bytes);
    }

    fn of(frames: &[Vec<u8>]) -> Self {
        let mut pile = Self::default();
        frames.iter().for_each(|bytes| pile.push(LinkType::ETHERNET, bytes, bytes.len()));
        pile
    }

    fn batch(&self) -> Batch<'_> {
        Batch::new(&self.memory, &self.frames)
    }

    fn order(&self, key: Key) -> Vec<u32> {
        let mut order = vec![7];
        Sorter::new(key).order(&self.batch(), &mut order);
        order
    }
}

fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    [&[2; 12], &ether_type.to_be_bytes()[..], payload].concat()
}

fn ipv4(from: u8, to: u8, proto: u8, id: u16, place: u16, payload: &[u8]) -> Vec<u8> {
    let mut header = [0x45, 0, 0, 0, 0, 0, 0, 0, 64, proto, 0, 0, 10, 0, 0, from, 10, 0, 0, to];
    header[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    header[4..6].copy_from_slice(&id.to_be_bytes());
    header[6..8].copy_from_slice(&place.to_be_bytes());
    ethernet(0x0800, &[&header, payload].concat())
}

fn udp(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len() as u16).to_be_bytes();
    [&source.to_be_bytes(), &destination.to_be_bytes(), &length, &[0, 0][..], payload].concat()
}

fn tcp(source: u16, destination: u16) -> Vec<u8> {
    [&source.to_be_bytes()[..], &destination.to_be_bytes(), &[0; 8], &[0x50, 0x18], &[0; 6], b"payload"].concat()
}

fn datagram(from: u8, to: u8, source: u16, destination: u16) -> Vec<u8> {
    ipv4(from, to, 17, 1, 0, &udp(source, destination, &[0; 18]))
}

#[test]
fn by_destination_port_others_last() {
    let arp = ethernet(0x0806, &[0; 46]);
    let pile = Pile::of(&[
        arp.clone(),
        datagram(1, 2, 9, 443),
        datagram(1, 2, 9, 80),
        ipv4(1, 2, 1, 0, 0, &[8; 40]),
        datagram(1, 3, 9, 443),
        datagram(2, 1, 80, 9),
        arp,
    ]);
    assert_eq!(pile.order(Key::Port), [5, 2, 1, 4, 0, 3, 6]);
}

#[test]
fn a_service_holds_both_directions() {
    let pile = Pile::of(&[
        datagram(1, 2, 40_000, 443),
        datagram(3, 2, 40_001, 53),
        datagram(2, 1, 443, 40_000),
        datagram(2, 3, 53, 40_001),
        ipv4(1, 2, 6, 0, 0, &tcp(40_002, 443)),
    ]);
    assert_eq!(pile.order(Key::Service), [1, 3, 0, 2, 4]);
}

#[test]
fn a_conversation_is_in_one_piece() {
    let mut frames = Vec::new();
    for round in 0..20 {
        for host in 0..40 {
            let there = datagram(host, 200, 40_000 + u16::from(host), 443);
            frames.push(if round % 2 == 0 { there } else { datagram(200, host, 443, 40_000 + u16::from(host)) });
        }
    }
    let order = Pile::of(&frames).order(Key::Flow);
    for flow in order.chunks(20) {
        let rounds: Vec<_> = flow.iter().map(|index| index / 40).collect();
        assert_eq!(rounds, (0..20).collect::<Vec<_>>());
        assert!(flow.iter().all(|index| index % 40 == flow[0] % 40), "{flow:?}");
    }
}

#[test]
fn fragments_go_with_their_datagram() {
    let whole = udp(9, 500, &[1; 32]);
    let fragment = |id, place: u16, data: &[u8]| ipv4(1, 2, 17, id, place, data);
    let pile = Pile::of(&[
        fragment(7, 0x2002, &whole[16..32]),
        datagram(1, 2, 9, 600),
        fragment(7, 0x0004, &whole[32..]),
        fragment(8, 0x0004, &whole[32..]),
        fragment(7, 0x2000, &whole[..16]),
        datagram(1, 2, 9, 500),
    ]);
    for &key in Key::ALL {
        let order = pile.order(key);
        if key == Key::Port {
            assert_eq!(order, [0, 2, 4, 5, 1, 3], "the ports come with the last fragment; id 8 has none");
        }
        assert_eq!(order.last(), Some(&3));
    }
}

#[test]
fn inside_of_tunnels_unless_they_are_in_fragments() {
    let vxlan = |destination| {
        let inner = datagram(1, 2, 9, destination);
        udp(1000, 4789, &[&[8, 0, 0, 0, 0, 0, 1, 0][..], &inner].concat())
    };
    let mut frames: Vec<_> = [70, 60, 50].iter().map(|&port| ipv4(8, 9, 17, port, 0, &vxlan(port))).collect();
    assert_eq!(Pile::of(&frames).order(Key::Port), [2, 1, 0]);
    frames.push(ipv4(8, 9, 17, 1, 0x2000, &vxlan(40)));
    assert_eq!(Pile::of(&frames).order(Key::Port), [0, 1, 2, 3], "all go to 4789");
    frames.push(ipv4(8, 9, 47, 1, 0x2000, &[0; 64]));
    assert_eq!(Pile::of(&frames).order(Key::Service), [0, 1, 2, 3, 4]);
}

/// The key of a frame by the walk alone, for frames that contradict nothing.
fn key_by_walk(key: Key, frame: &[u8]) -> Option<u32> {
    let decoded = decode(LinkType::ETHERNET, frame, frame.len() as u32, &Walk::default());
    let (source, destination) = ports(frame, &decoded);
    match decoded.kind {
        Kind::Tcp | Kind::Udp | Kind::UdpLite | Kind::Sctp if key == Key::Port => Some(destination.into()),
        Kind::Tcp | Kind::Udp | Kind::UdpLite | Kind::Sctp => Some(service_port(source, destination).into()),
        _ => None,
    }
}

fn sound_frame() -> impl Strategy<Value = Vec<u8>> {
    let few = prop::sample::select(vec![53_u16, 80, 443, 3306, 4789, 40_000, 40_001, 65_534]);
    let tags = prop::sample::select(vec![0_usize, 1, 2, 3]);
    (0..4_u8, 0..4_u8, few.clone(), few, any::<u8>(), tags).prop_map(|(from, to, source, destination, kind, tags)| {
        let plain = match kind % 8 {
            0 => ethernet(0x0806, &[0; 28]),
            1 => ipv4(from, to, 1, 0, 0, &[8; 16]),
            2 => datagram(from, to, source, destination),
            3 => {
                let header = [0x60, 0, 0, 0, 0, 27, 6, 64];
                let ends = [[from; 16], [to; 16]].concat();
                ethernet(0x86dd, &[&header[..], &ends, &tcp(source, destination)].concat())
            }
            4 => ipv4(from, to, 132, 0, 0, &[&udp(source, destination, &[])[..4], &[0; 12]].concat()),
            _ => ipv4(from, to, 6, 0, 0, &tcp(source, destination)),
        };
        [&plain[..12], &[0x81, 0, 0, 5].repeat(tags), &plain[12..]].concat()
    })
}

/// Something after something: any frame, cut and changed.
fn any_frame() -> impl Strategy<Value = (usize, Vec<u8>, usize)> {
    let fragment = (0..3_u8, 0..3_u16, 0..3_u16, prop::sample::select(vec![6_u8, 17, 47])).prop_map(
        |(host, id, offset, proto)| {
            let place = offset | if offset < 2 { 0x2000 } else { 0 };
            ipv4(host, 9, proto, id, place, &udp(40_000, 500 + id, &[3; 8]))
        },
    );
    let bytes = prop_oneof![
        4 => sound_frame(),
        2 => fragment,
        1 => prop::collection::vec(any::<u8>(), 0..100),
    ];
    let change = prop::option::weighted(0.3, (any::<prop::sample::Index>(), any::<u8>()));
    let link = prop_oneof![6 => Just(1_usize), 1 => 0..LinkType::SUPPORTED.len() + 1];
    (link, bytes, change, prop::option::weighted(0.2, any::<prop::sample::Index>()), 0..50_usize).prop_map(
        |(link, mut bytes, change, cut, more)| {
            if let Some((at, value)) = change
                && !bytes.is_empty()
            {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            let wire_bytes = bytes.len() + more;
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len() + 1));
            }
            (link, bytes, wire_bytes)
        },
    )
}

/// Which datagram a frame is a fragment of, as the walk sees it.
fn fragment_of(pile: &Pile, index: u32) -> Option<Vec<u8>> {
    let frame = pile.frames[index as usize];
    let bytes = pile.batch().bytes(&frame);
    let decoded = decode(frame.link, bytes, frame.wire_bytes, &Walk::default());
    let ends = addresses(bytes, &decoded);
    (decoded.kind == Kind::Fragment).then(|| format!("{ends:?} {} {}", decoded.fragment.id, decoded.proto).into())
}

/// The flow of a frame as the walk sees it: both ends, sorted unless one direction is meant.
fn flow_of(pile: &Pile, index: u32, directed: bool) -> Option<Vec<u8>> {
    let frame = pile.frames[index as usize];
    let bytes = pile.batch().bytes(&frame);
    let decoded = decode(frame.link, bytes, frame.wire_bytes, &Walk::default());
    let (from, to) = addresses(bytes, &decoded);
    let (source, destination) = ports(bytes, &decoded);
    let mut ends = [(from, source), (to, destination)];
    if !directed {
        ends.sort();
    }
    let has_ports = matches!(decoded.kind, Kind::Tcp | Kind::Udp | Kind::UdpLite | Kind::Sctp);
    has_ports.then(|| format!("{ends:?} {}", decoded.proto).into())
}

/// Indices in the order of delivery, by what they belong to.
fn by_group<'a>(
    order: &'a [u32],
    group: impl Fn(u32) -> Option<Vec<u8>> + 'a,
) -> impl Iterator<Item = (Vec<u8>, u32)> + 'a {
    order.iter().filter_map(move |&index| group(index).map(|name| (name, index)))
}

fn is_in_order(order: &[u32], group: impl Fn(u32) -> Option<Vec<u8>>) -> bool {
    let mut last = std::collections::HashMap::new();
    by_group(order, group).all(|(name, index)| last.insert(name, index).is_none_or(|before| before < index))
}

proptest! {
    #[test]
    fn like_a_stable_sort(frames in prop::collection::vec(sound_frame(), 0..300)) {
        let pile = Pile::of(&frames);
        for key in [Key::Port, Key::Service] {
            let mut wanted: Vec<u32> = (0..frames.len() as u32).collect();
            wanted.sort_by_key(|&index| key_by_walk(key, &frames[index as usize]).unwrap_or(0xffff));
            prop_assert_eq!(pile.order(key), wanted);
        }
    }

    #[test]
    fn each_once_and_flows_and_fragments_in_order(
        frames in prop::collection::vec(any_frame(), 0..120),
        again in prop::collection::vec(any_frame(), 0..40),
    ) {
        for &key in Key::ALL {
            let mut sorter = Sorter::new(key);
            let mut order = Vec::new();
            for frames in [&frames, &again] {
                let mut pile = Pile::default();
                for (link, bytes, wire_bytes) in frames {
                    let link = LinkType::SUPPORTED.get(*link).copied().unwrap_or(LinkType(147));
                    pile.push(link, bytes, *wire_bytes);
                }
                sorter.order(&pile.batch(), &mut order);
                let mut once = order.clone();
                once.sort_unstable();
                prop_assert_eq!(once, (0..frames.len() as u32).collect::<Vec<_>>());
                prop_assert!(is_in_order(&order, |index| flow_of(&pile, index, key == Key::Port)));
                prop_assert!(is_in_order(&order, |index| fragment_of(&pile, index)));
            }
        }
    }
}

#[test]
fn frames_outside_of_the_memory_and_more_than_a_batch() {
    let mut pile = Pile::of(&[datagram(1, 2, 9, 80)]);
    pile.frames[0].at = u32::MAX;
    assert_eq!(pile.order(Key::Flow), [0]);
    let mut pile = Pile::of(&[datagram(1, 2, 9, 80), datagram(1, 2, 9, 70)]);
    let pair = pile.frames.clone();
    pile.frames = pair.iter().copied().cycle().take(BATCH_FRAMES_MAX as usize + 4).collect();
    let order = pile.order(Key::Port);
    assert_eq!(order.len(), pile.frames.len());
    assert!(order[..BATCH_FRAMES_MAX as usize].iter().all(|&index| index < BATCH_FRAMES_MAX));
    assert_eq!(order[BATCH_FRAMES_MAX as usize..], [65_537, 65_539, 65_536, 65_538]);
}

#[test]
fn settings_are_read_and_shown() {
    let settings: Settings = "flow, batch=8000, timeout=50ms, thread, adaptive=yes".parse().unwrap();
    let wanted = Settings::new(Key::Flow)
        .with_batch_frames(8000)
        .with_timeout(Duration::from_millis(50))
        .with_thread(true)
        .with_adaptive(true);
    assert_eq!(settings, wanted);
    assert_eq!(settings.to_string().parse::<Settings>().unwrap(), wanted);
    assert_eq!("port".parse::<Settings>().unwrap(), Settings::new(Key::Port));
    assert_eq!("key=service,timeout=7".parse::<Settings>().unwrap().timeout, Duration::from_millis(7));
}

#[test]
fn mistakes_are_named() {
    for (text, words) in [
        ("", "an empty setting"),
        ("port,", "an empty setting"),
        ("ports", "there is no key \"ports\""),
        ("key=", "there is no key \"\""),
        ("batch", "batch needs a value"),
        ("batch=1", "a batch of 1 packets; give 2 to 65536"),
        ("batch=65537", "a batch of 65537 packets; give 2 to 65536"),
        ("batch=-5", "batch=-5 is not a number"),
        ("batch=99999999999", "batch=99999999999 is not a number of the right size"),
        ("timeout=0", "a timeout of 0 ms; give 1 to 10000"),
        ("timeout=1s", "timeout=1s is not a number"),
        ("thread=perhaps", "thread=perhaps; say yes or no"),
        ("size=4", "there is no setting \"size\""),
        ("port,flow", "key is given twice"),
        ("batch=4,batch=5", "batch is given twice"),
    ] {
        let error = text.parse::<Settings>().unwrap_err().to_string();
        assert!(error.starts_with("locality: ") && error.contains(words), "{text}: {error}");
    }
}
