//! Packets of a flow from another VLAN or tunnel are anomalies.

use std::collections::BTreeMap;

use crate::common::*;
use tidewire_core::{Config, KeyIds, LinkAddresses, Share, wire::LinkType};

const CHANGE: &str = "encapsulation_change";
/// First sequence numbers of the two sides.
const C: u32 = 1000;
const S: u32 = 5000;

/// What wraps a packet into a frame.
type Wrap = fn(&[u8]) -> Vec<u8>;

const PLAIN: Wrap = |packet| ethernet(&[], packet);
const PRIORITY: Wrap = |packet| ethernet(&[0xe000], packet);
const VLAN_10: Wrap = |packet| ethernet(&[10], packet);
const VLAN_20: Wrap = |packet| ethernet(&[20], packet);
const VLAN_10_20: Wrap = |packet| ethernet(&[10, 20], packet);
const VNI_1: Wrap = |packet| ethernet(&[], &vxlan(1, packet));
const VNI_2: Wrap = |packet| ethernet(&[], &vxlan(2, packet));
const ALL: [Wrap; 6] = [PLAIN, VLAN_10, VLAN_20, VLAN_10_20, VNI_1, VNI_2];

/// The events of all streams, from all workers.
fn log(config: &Config, frames: &[Vec<u8>], workers: u32) -> BTreeMap<u64, StreamLog> {
    let mut streams = BTreeMap::new();
    for index in 0..workers {
        let mut feed = Feed::shared(config, Share::new(index, workers), InvariantChecker::default());
        for frame in frames {
            feed.packet(LinkType::ETHERNET, frame, 0, 0);
        }
        feed.engine.finish();
        streams.append(&mut feed.engine.handler().streams);
    }
    streams
}

/// Equal on the fast and the slow path, with one worker and with three: anomalies with the packets of streams.
fn noted(frames: &[Vec<u8>]) -> Vec<Vec<(String, u64)>> {
    let first = log(&config(), frames, 1);
    for workers in [1, 3] {
        assert_eq!(log(&config(), frames, workers), first, "{workers} workers");
        // A minimum time to live forces the slow path, and every packet has a higher one.
        assert_eq!(log(&config().with_ttl_min(1), frames, workers), first, "{workers} workers, slow path");
    }
    let list = |log: &StreamLog| log.anomalies.iter().cloned().zip(log.anomaly_packets.iter().copied()).collect();
    first.values().map(list).collect()
}

/// The packets of each stream at which its ids changed.
fn changes(frames: &[Vec<u8>]) -> Vec<Vec<u64>> {
    let of = |odd: Vec<(String, u64)>| odd.into_iter().filter(|one| one.0 == CHANGE).map(|one| one.1).collect();
    noted(frames).into_iter().map(of).collect()
}

/// A connection of two questions and answers: frame 6 is the client's second question, frame 7 its answer.
fn conversation() -> Vec<Seg> {
    let mut segments = handshake(C, S);
    segments.push(Seg::new(true, C + 1, S + 1, ACK, b"question"));
    segments.push(Seg::new(false, S + 1, C + 9, ACK, b"answer"));
    segments.push(Seg::new(true, C + 9, S + 7, ACK, b"question"));
    segments.push(Seg::new(false, S + 7, C + 17, ACK, b"answer"));
    segments.push(Seg::new(true, C + 17, S + 13, ACK, b""));
    segments
}

fn frames(segments: &[Seg], wrap: impl Fn(usize, &Seg) -> Wrap) -> Vec<Vec<u8>> {
    segments.iter().enumerate().map(|(at, segment)| wrap(at + 1, segment)(&segment.bytes())).collect()
}

#[test]
fn a_packet_of_another_vlan_or_tunnel_is_told() {
    let segments = conversation();
    for (a, home) in ALL.into_iter().enumerate() {
        for (b, other) in ALL.into_iter().enumerate().filter(|&(b, _)| a != b) {
            // From the first retransmissible packet after the handshake to the last, in either direction.
            for strange in 3..=8_usize {
                let mixed = frames(&segments, |number, _| if number == strange { other } else { home });
                assert_eq!(changes(&mixed), [[strange as u64]; 2], "{b} in {a}, packet {strange}");
            }
            let rest = frames(&segments, |number, _| if number > 5 { other } else { home });
            assert_eq!(changes(&rest), [[6]; 2], "{b} after {a}: once a stream");
        }
    }
}

#[test]
fn a_forged_segment_with_the_next_number_is_told() {
    for from_client in [true, false] {
        let mut segments = conversation();
        let (seq, ack) = if from_client { (C + 17, S + 13) } else { (S + 13, C + 17) };
        segments.push(Seg::new(from_client, seq, ack, ACK, b"forged"));
        for home in [PLAIN, VLAN_10, VNI_1] {
            let mixed = frames(&segments, |number, _| if number == 9 { VNI_2 } else { home });
            assert_eq!(changes(&mixed), [[9]; 2]);
            let streams = log(&config(), &mixed, 1);
            assert_eq!(streams[&1].bytes[0], b"questionquestion", "the forged bytes are in another stream");
        }
    }
}

/// An Ethernet frame with a packet in GTP-U (3GPP TS 29.281 section 5.1).
fn gtp_u(teid: u32, inner: &[u8]) -> Vec<u8> {
    let mut payload = vec![0x30, 0xff];
    payload.extend((inner.len() as u16).to_be_bytes());
    payload.extend(teid.to_be_bytes());
    payload.extend(inner);
    let mut outer = udp(2152, &payload);
    outer[22..24].copy_from_slice(&2152_u16.to_be_bytes());
    ethernet(&[], &outer)
}

/// A handover: the connection goes on under other TEIDs in both directions, with a segment sent again, and ends there.
#[test]
fn a_connection_goes_on_under_other_teids() {
    const ENDS: [[Wrap; 2]; 2] = [
        [|packet| gtp_u(1, packet), |packet| gtp_u(2, packet)],
        [|packet| gtp_u(3, packet), |packet| gtp_u(4, packet)],
    ];
    let mut segments = conversation();
    segments.insert(6, segments[5].clone());
    segments.push(Seg::new(true, C + 17, S + 13, FIN | ACK, b""));
    segments.push(Seg::new(false, S + 13, C + 18, FIN | ACK, b""));
    segments.push(Seg::new(true, C + 18, S + 14, ACK, b""));
    for handover in 4..segments.len() {
        let mixed = frames(&segments, |number, segment| {
            ENDS[usize::from(number > handover)][usize::from(!segment.from_client)]
        });
        assert_eq!(changes(&mixed).len(), 1, "after packet {handover}");
        let streams = log(&config(), &mixed, 1);
        assert_eq!(streams[&1].bytes, [&b"questionquestion"[..], b"answeranswer"]);
    }
}

/// Two subscribers with the same addresses: other numbers, or the same ones again.
#[test]
fn connections_under_other_teids_are_apart() {
    for distance in [0, 500_000] {
        let mut mixed = Vec::new();
        for segment in conversation() {
            mixed.push(gtp_u(1, &segment.bytes()));
        }
        for segment in conversation() {
            let ack = if segment.flags & ACK == 0 { 0 } else { segment.ack + distance };
            mixed.push(gtp_u(2, &Seg { seq: segment.seq + distance, ack, ..segment }.bytes()));
        }
        let streams = log(&config(), &mixed, 1);
        assert_eq!(streams.len(), 2);
        assert!(streams.values().all(|log| log.bytes[0] == b"questionquestion"), "{streams:?}");
    }
    // Joined midway, and no answer.
    let one = |teid, payload| gtp_u(teid, &Seg::new(true, C, S, ACK, payload).bytes());
    assert_eq!(log(&config(), &[one(1, b"one"), one(2, b"other")], 1).len(), 2);
}

/// Networks with the same addresses at the same time, and a mirror whose directions differ beside them.
#[test]
fn networks_with_the_same_addresses_are_apart() {
    let segments = conversation();
    for (a, one) in ALL.into_iter().enumerate() {
        for other in ALL.into_iter().enumerate().filter(|&(b, _)| a != b).map(|(_, other)| other) {
            let mut mixed = Vec::new();
            for segment in &segments {
                let later = Seg { seq: segment.seq + 500_000, ..segment.clone() };
                let ack = if segment.flags & ACK == 0 { 0 } else { segment.ack + 500_000 };
                mixed.push(one(&segment.bytes()));
                mixed.push(other(&Seg { ack, ..later }.bytes()));
            }
            assert_eq!(noted(&mixed), [vec![], vec![]]);
            let streams = log(&config(), &mixed, 1);
            assert!(streams.values().all(|log| log.bytes[0] == b"questionquestion"), "{streams:?}");
        }
    }
}

/// Nobody fills the table with tags: packets of further ids belong to the oldest flow.
#[test]
fn flows_that_differ_only_in_ids_are_bounded() {
    let frames: Vec<_> = (1..=1000_u16).map(|tag| ethernet(&[tag], &udp(7, b"x"))).collect();
    let streams = log(&config(), &frames, 1);
    assert_eq!(streams.len(), 8);
    assert_eq!(streams[&1].bytes[0].len(), 993);
    assert_eq!(streams[&1].anomalies, [CHANGE]);
}

#[test]
fn directions_may_differ() {
    let segments = conversation();
    for client in ALL {
        for server in ALL {
            let apart = frames(&segments, |_, segment| if segment.from_client { client } else { server });
            assert_eq!(noted(&apart), [vec![]]);
            // Joined midway, by the server's packet first.
            assert!(noted(&apart[4..])[0].iter().all(|odd| odd.0 != CHANGE));
            // A connection with the same addresses and ports, the other way round, after a reset.
            let mut again = segments.clone();
            again.push(Seg::new(true, C + 17, S + 13, RST | ACK, b""));
            let first = again.len();
            again.extend(conversation().into_iter().map(|segment| {
                let (seq, ack) = (segment.seq + 500_000, segment.ack + 500_000);
                Seg { seq, ack: if segment.flags & ACK == 0 { 0 } else { ack }, ..segment }
            }));
            let turned = frames(
                &again,
                |number, segment| {
                    if segment.from_client == (number <= first) { client } else { server }
                },
            );
            assert_eq!(noted(&turned), [vec![], vec![]], "each connection has its own ids");
        }
    }
}

/// Which of two link addresses is the receiver's is not known: two are reported, whichever came first. (Which
/// address the answer comes from says nothing: behind a virtual router's it is another one.)
#[test]
fn a_first_frame_to_another_address_is_told_when_one_comes_to_the_right_one() {
    let to_another = |mut frame: Vec<u8>| {
        frame[5] = 9;
        frame
    };
    let good = PLAIN(&udp(1000, b"good"));
    let forged = to_another(PLAIN(&udp(1000, b"EVIL")));
    for frames in [[forged.clone(), good.clone()], [good, forged]] {
        assert_eq!(noted(&frames), [vec![("link_mismatch".to_owned(), 2)]]);
    }
    // A SYN, with the connection's number and with another one.
    for forged in [C, C + 7000] {
        let syn = to_another(PLAIN(&Seg::new(true, forged, 0, SYN, b"").bytes()));
        let frames = [vec![syn], frames(&conversation(), |_, _| PLAIN)].concat();
        let streams = log(&config(), &frames, 1);
        let last = streams.values().last().expect("a stream");
        assert_eq!(last.bytes[0], b"questionquestion", "{last:?}");
        assert!(forged != C || last.anomalies.contains(&"link_mismatch".to_owned()), "{last:?}");
    }
    // The packets behind the SYN travel one path, and the SYN another: the first two packets decide.
    let mut mixed = frames(&conversation(), |_, _| PLAIN);
    let first = to_another(mixed[0].clone());
    mixed.truncate(4);
    mixed[3] = to_another(mixed[3].clone());
    assert_eq!(noted(&[vec![first], mixed].concat())[0][0], ("link_mismatch".to_owned(), 2));
}

#[test]
fn a_priority_tag_is_no_vlan() {
    let mixed = frames(&conversation(), |number, _| if number % 3 == 0 { PRIORITY } else { PLAIN });
    assert_eq!(noted(&mixed), [vec![]]);
}

#[test]
fn a_syn_sent_again_in_another_vlan_is_another_connection() {
    let mut segments = conversation();
    segments.insert(1, segments[0].clone());
    let mixed = frames(&segments, |number, _| if number == 2 { VLAN_20 } else { VLAN_10 });
    // A handshake in another network, which nobody answered.
    assert_eq!(noted(&mixed), [vec![], vec![]]);
}

#[test]
fn a_pending_syn_has_ids_of_its_own() {
    // A SYN in an open connection, answered: the new connection is in VLAN 20, the old one was in VLAN 10.
    let mut segments = conversation();
    let old = segments.len();
    segments.extend(conversation().into_iter().map(|segment| {
        let (seq, ack) = (segment.seq + 500_000, segment.ack + 500_000);
        Seg { seq, ack: if segment.flags & ACK == 0 { 0 } else { ack }, ..segment }
    }));
    let mixed = frames(&segments, |number, _| if number > old { VLAN_20 } else { VLAN_10 });
    let noted = noted(&mixed);
    assert_eq!(noted.len(), 2);
    assert!(noted.iter().flatten().all(|odd| odd.0 != CHANGE), "{noted:?}");
}

#[test]
fn with_ids_in_the_key_it_cannot_occur() {
    let key_ids = KeyIds::default().with_vlan(true).with_tunnel(true);
    let config = config().with_key_ids(key_ids);
    for other in [VLAN_20, VNI_1] {
        let mixed = frames(&conversation(), |number, _| if number == 6 { other } else { VLAN_10 });
        let log = log(&config, &mixed, 1);
        assert_eq!(log.len(), 2);
        assert!(log.values().flat_map(|log| &log.anomalies).all(|name| name != CHANGE));
    }
    // With one of them in the key, the other is still compared.
    let vlan = config.with_key_ids(KeyIds::default().with_vlan(true));
    let mixed = frames(&conversation(), |number, _| if number == 6 { VNI_2 } else { VNI_1 });
    assert!(log(&vlan, &mixed, 1)[&1].anomalies.iter().any(|name| name == CHANGE));
}

/// An IPv4 packet in two fragments.
fn halves(packet: &[u8]) -> [Vec<u8>; 2] {
    let middle = 20 + (packet.len() - 20) / 16 * 8;
    let part = |from: usize, to: usize, more: u16| {
        let mut bytes = [&packet[..20], &packet[from..to]].concat();
        let total = bytes.len() as u16;
        bytes[2..4].copy_from_slice(&total.to_be_bytes());
        bytes[6..8].copy_from_slice(&(((from - 20) / 8) as u16 | more).to_be_bytes());
        bytes
    };
    [part(20, middle, 0x2000), part(middle, packet.len(), 0)]
}

#[test]
fn a_rebuilt_datagram_has_the_ids_of_its_fragments() {
    let segments = conversation();
    type Wrap = fn(&[u8]) -> Vec<u8>;
    let wraps: [Wrap; 2] = [|packet| packet.to_vec(), |packet| vxlan_tagged(7, &[6], packet)];
    for inside in wraps {
        for (tag, expected) in [(5, vec![vec![]]), (9, vec![vec![7]; 2])] {
            let mut mixed = Vec::new();
            for (at, segment) in segments.iter().enumerate() {
                let packet = inside(&segment.bytes());
                if at == 5 {
                    mixed.extend(halves(&packet).map(|half| ethernet(&[tag], &half)));
                } else {
                    mixed.push(ethernet(&[5], &packet));
                }
            }
            assert_eq!(changes(&mixed), expected, "tag {tag}");
        }
    }
}

/// What hosts drop loses against what they take on every link, where there are no link addresses, too, and where they are
/// not compared.
#[test]
fn doubtful_headers_are_doubted_whatever_the_link() {
    let mut segments = conversation();
    let say = |payload: &[u8]| Seg::new(true, C + 17, S + 13, ACK, payload);
    segments.extend([say(b"EVIL"), Seg::new(false, S + 13, C + 17, ACK, b""), say(b"good")]);
    segments.push(Seg::new(false, S + 13, C + 21, ACK, b""));
    let evil = conversation().len();
    let packets = segments.iter().enumerate().map(|(at, segment)| {
        let mut packet = segment.bytes();
        if at == evil {
            // A record route whose pointer lies before its addresses.
            packet.splice(20..20, [7, 3, 3, 0]);
            packet[0] = 0x46;
            packet[3] += 4;
        }
        packet
    });
    let packets: Vec<_> = packets.collect();
    for (link, addresses) in [
        (LinkType::ETHERNET, LinkAddresses::Compare),
        (LinkType::ETHERNET, LinkAddresses::Ignore),
        (LinkType::RAW, LinkAddresses::Compare),
    ] {
        let mut feed = Feed::new(&config().with_link_addresses(addresses), InvariantChecker::default());
        for packet in &packets {
            let frame = if link == LinkType::ETHERNET { ethernet(&[], packet) } else { packet.clone() };
            feed.packet(link, &frame, 0, 0);
        }
        let (checker, _) = feed.finish();
        let log = &checker.streams[&1];
        assert_eq!(String::from_utf8_lossy(&log.bytes[0]), "questionquestiongood", "{link:?} {addresses:?}");
        assert!(log.anomalies.contains(&"doubtful_header".into()), "{log:?}");
    }
}
