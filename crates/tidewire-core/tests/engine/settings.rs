//! What makes a flow another one, and who decides about overlaps: VLANs, tunnels, receivers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::common::*;
use tidewire_core::{
    Config, Datagram, DefragPolicy, Handler, KeyIds, Share, Stream, TargetPolicies, TcpPolicy, Vlans,
    wire::{LinkType, TunnelKind},
};

/// The keys of the streams that were opened: VLAN ids, tunnel, client's port.
#[derive(Default)]
struct Keys(Vec<(Vlans, TunnelKind, u32, u16)>);

impl Handler for Keys {
    type Data = ();

    fn open(&mut self, stream: &mut Stream<'_, ()>) {
        let key = stream.key();
        self.0.push((key.vlans, key.tunnel.kind, key.tunnel.id, key.client.port));
    }
}

fn keys(config: &Config, frames: &[Vec<u8>]) -> Vec<(Vlans, TunnelKind, u32, u16)> {
    let mut feed = Feed::new(config, Keys::default());
    for frame in frames {
        feed.packet(LinkType::ETHERNET, frame, 0, 0);
    }
    feed.finish().0.0
}

#[test]
fn vlan_ids_are_part_of_the_key_by_setting() {
    let packet = udp(7, b"x");
    let tags: [&[u16]; 5] = [&[], &[10], &[20], &[10, 20], &[20, 10]];
    let frames: Vec<Vec<u8>> = tags.iter().chain(&tags).map(|tags| ethernet(tags, &packet)).collect();
    let vlan = KeyIds::default().with_vlan(true);
    let with = keys(&config().with_key_ids(vlan), &frames);
    let vlans: Vec<Vlans> = with.iter().map(|key| key.0).collect();
    assert_eq!(vlans, tags.map(|tags| Vlans::new(tags.iter().copied())));
    let without = keys(&config(), &frames[1..]);
    // They separate networks by default, too.
    assert_eq!(without.len(), 5);
    let mut answer = udp(7, b"y");
    answer.get_mut(12..20).expect("addresses").rotate_left(4);
    answer.get_mut(20..24).expect("ports").rotate_left(2);
    let both = [ethernet(&[10], &packet), ethernet(&[20], &answer)];
    let shown = keys(&config(), &both);
    assert_eq!(shown, [(Vlans::new([10]), TunnelKind::None, 0, 7)], "one flow, shown with the ids of its first packet");
    // Priority bits are no part of the id, and a tag with id 0 is no VLAN's.
    let marked = [ethernet(&[10], &packet), ethernet(&[0xe00a], &packet), ethernet(&[0x6000, 10], &packet)];
    assert_eq!(keys(&config().with_key_ids(vlan), &marked).len(), 1);
    let untagged = [ethernet(&[], &packet), ethernet(&[0xe000], &packet)];
    assert_eq!(keys(&config().with_key_ids(vlan), &untagged), [(Vlans::NONE, TunnelKind::None, 0, 7)]);
}

/// A packet in GRE, with a key or without.
fn gre(key: Option<u32>, inner: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 47, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    bytes.extend([if key.is_some() { 0x20 } else { 0 }, 0, 8, 0]);
    bytes.extend(key.iter().flat_map(|key| key.to_be_bytes()));
    bytes.extend(inner);
    let total = bytes.len() as u16;
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    bytes
}

#[test]
fn tunnel_ids_are_part_of_the_key_by_setting() {
    let packet = udp(7, b"x");
    let outers = [
        packet.clone(),
        vxlan(1, &packet),
        vxlan(2, &packet),
        gre(None, &packet),
        gre(Some(1), &packet),
        gre(Some(2), &packet),
    ];
    let frames: Vec<Vec<u8>> = outers.iter().chain(&outers).map(|outer| ethernet(&[], outer)).collect();
    let tunnel = KeyIds::default().with_tunnel(true);
    let with = keys(&config().with_key_ids(tunnel), &frames);
    let tunnels: Vec<(TunnelKind, u32)> = with.iter().map(|key| (key.1, key.2)).collect();
    assert_eq!(
        tunnels,
        [
            (TunnelKind::None, 0),
            (TunnelKind::Vxlan, 1),
            (TunnelKind::Vxlan, 2),
            (TunnelKind::Gre, 0),
            (TunnelKind::Gre, 1),
            (TunnelKind::Gre, 2)
        ]
    );
    let without = keys(&config(), &frames[1..]);
    assert_eq!(without.len(), 6);
    assert_eq!(without[0], (Vlans::NONE, TunnelKind::Vxlan, 1, 7));
}

#[test]
fn directions_with_ids_of_their_own_are_one_flow() {
    // A connection: the client's packets in one network, the server's in another.
    let (c, s) = (1000, 5000);
    let mut segments = handshake(c, s);
    segments.push(Seg::new(true, c + 1, s + 1, ACK, b"question"));
    segments.push(Seg::new(false, s + 1, c + 9, ACK, b"answer"));
    type Wrap<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;
    let ways: [[Wrap<'_>; 2]; 5] = [
        [&|packet| ethernet(&[10], packet), &|packet| ethernet(&[20], packet)],
        [&|packet| ethernet(&[100, 10], packet), &|packet| ethernet(&[200, 10], packet)],
        [&|packet| ethernet(&[], &vxlan(1, packet)), &|packet| ethernet(&[], &vxlan(2, packet))],
        [&|packet| ethernet(&[], &gre(Some(1), packet)), &|packet| ethernet(&[], &gre(Some(2), packet))],
        [&|packet| ethernet(&[], &gre(None, packet)), &|packet| ethernet(&[], packet)],
    ];
    for (at, [client, server]) in ways.iter().enumerate() {
        let of = |segment: &Seg| if segment.from_client { client } else { server }(&segment.bytes());
        let frames: Vec<Vec<u8>> = segments.iter().map(of).collect();
        for workers in [1, 2, 3, 8] {
            let mut streams = Vec::new();
            for index in 0..workers {
                let share = Share::new(index, workers);
                let mut feed = Feed::shared(&config(), share, InvariantChecker::default());
                for frame in &frames {
                    feed.packet(LinkType::ETHERNET, frame, 0, 0);
                }
                feed.engine.finish();
                streams.extend(feed.engine.into_parts().0.streams.into_values());
            }
            let [stream] = &streams[..] else { panic!("way {at}, {workers} workers: {} streams", streams.len()) };
            assert_eq!(stream.bytes, [b"question".to_vec(), b"answer".to_vec()], "way {at}, {workers} workers");
        }
        let strict = config().with_key_ids(KeyIds::default().with_vlan(true).with_tunnel(true));
        assert_eq!(keys(&strict, &frames).len(), 2, "way {at}: the stricter key divides them");
    }
}

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

fn network(a: u8, b: u8, c: u8, d: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}

/// Behind a hole each side says "1111", then "2222" in its place; what each side's receiver made of it.
fn overlapping(config: &Config) -> [String; 2] {
    let (c, s) = (1000, 5000);
    let mut segments = handshake(c, s);
    for (from_client, seq, ack) in [(true, c + 1, s + 1), (false, s + 1, c + 1)] {
        for (at, payload) in [(1, "1111"), (1, "2222"), (0, "0")] {
            segments.push(Seg::new(from_client, seq + at, ack, ACK, payload.as_bytes()));
        }
    }
    segments.push(Seg::new(true, c + 6, s + 6, ACK, b""));
    segments.push(Seg::new(false, s + 6, c + 6, ACK, b""));
    let log = &run(config, &segments).0[&1];
    log.bytes.each_ref().map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

#[test]
fn segments_are_put_together_as_their_receiver_does() {
    let first = config().with_tcp_policy(TcpPolicy::First);
    assert_eq!(overlapping(&first), ["01111", "01111"]);
    let mut targets = TargetPolicies::default();
    targets.add(SERVER, 32, TcpPolicy::Last, DefragPolicy::Linux);
    let config = first.clone().with_targets(targets.clone());
    assert_eq!(overlapping(&config), ["02222", "01111"], "the server's own, and the general one for the client");
    // The longest prefix that holds the receiver decides, in whatever order they were given.
    targets.add(network(10, 0, 0, 0), 8, TcpPolicy::First, DefragPolicy::Linux);
    targets.add(network(10, 0, 0, 99), 31, TcpPolicy::First, DefragPolicy::Linux);
    assert_eq!(overlapping(&first.clone().with_targets(targets)), ["02222", "01111"]);
    let mut targets = TargetPolicies::default();
    targets.add(network(10, 9, 9, 9), 8, TcpPolicy::Last, DefragPolicy::Linux);
    targets.add(network(0, 0, 0, 0), 0, TcpPolicy::First, DefragPolicy::Linux);
    assert_eq!(overlapping(&first.clone().with_targets(targets)), ["02222", "02222"]);
    let mut targets = TargetPolicies::default();
    targets.add(IpAddr::V6(Ipv6Addr::UNSPECIFIED), 0, TcpPolicy::Last, DefragPolicy::Linux);
    assert_eq!(overlapping(&first.with_targets(targets)), ["01111", "01111"], "another family's network");
}

/// The datagrams that were rebuilt.
#[derive(Default)]
struct Rebuilt(Vec<(IpAddr, Option<String>)>);

impl Handler for Rebuilt {
    type Data = ();
    const DATAGRAMS: bool = true;

    fn datagram(&mut self, datagram: &Datagram<'_>) {
        let text = String::from_utf8_lossy(datagram.payload).into_owned();
        self.0.push((datagram.destination, datagram.rejected.is_none().then_some(text)));
    }
}

/// A fragment of protocol 253 from 10.0.0.1.
fn fragment(to: [u8; 4], id: u8, at: u16, more: bool, data: &str) -> Vec<u8> {
    let flags = (at / 8) | if more { 0x2000 } else { 0 };
    let mut bytes = vec![0x45, 0, 0, 20 + data.len() as u8, 0, id, 0, 0, 64, 253, 0, 0, 10, 0, 0, 1];
    bytes[6..8].copy_from_slice(&flags.to_be_bytes());
    bytes.extend(to);
    bytes.extend(data.as_bytes());
    bytes
}

#[test]
fn fragments_are_put_together_as_their_receiver_does() {
    let mut targets = TargetPolicies::default();
    targets.add(network(10, 0, 0, 3), 32, TcpPolicy::Linux, DefragPolicy::Last);
    targets.add(network(10, 0, 0, 4), 32, TcpPolicy::Linux, DefragPolicy::Rfc5722);
    let config = config().with_targets(targets).with_defrag_policy(DefragPolicy::First);
    let mut feed = Feed::new(&config, Rebuilt::default());
    for receiver in [2, 3, 4] {
        let to = [10, 0, 0, receiver];
        feed.ip(&fragment(to, receiver, 8, true, "11111111"), 0);
        feed.ip(&fragment(to, receiver, 8, true, "2222222233333333"), 0);
        feed.ip(&fragment(to, receiver, 24, false, "end"), 0);
        feed.ip(&fragment(to, receiver, 0, true, "00000000"), 0);
    }
    let rebuilt = feed.finish().0.0;
    let of = |receiver: u8| {
        let mut found = rebuilt.iter().filter(|one| one.0 == network(10, 0, 0, receiver));
        (found.next().and_then(|one| one.1.clone()), found.count())
    };
    assert_eq!(of(2), (Some("000000001111111133333333end".into()), 0), "the general policy");
    assert_eq!(of(3), (Some("000000002222222233333333end".into()), 0));
    assert_eq!(of(4).0, None, "dropped whole");
}
