//! Properties of any bytes, and of every protocol alike.

use proptest::prelude::*;

use crate::testing::{decoded, ethernet, examples, ipv4, ipv6, join, snap, snapped, tcp, udp};
use crate::{
    Decoded, Doubts, Headers, Kind, LinkType, Malformation, Settings, TunnelKind, decode, decode_carriers, dispatch,
    transport_checksum,
};

/// Decodes both ways; asserts that nothing depends on the way, and what always holds.
fn checked(link: LinkType, frame: &[u8], wire_bytes: u32, settings: &Settings) -> Decoded {
    let decoded = decode(link, frame, wire_bytes, settings);
    assert_eq!(decoded.broken_promise(frame), None, "{decoded:?}");
    let mut general = Decoded::EMPTY;
    dispatch::decode(link, frame, wire_bytes, settings, &mut general);
    assert_eq!(decoded, general, "the straight line and the general walk");
    let mut from = 0;
    for subframe in crate::subframes(frame, &decoded) {
        assert!(from < subframe.end && subframe.at < subframe.end && subframe.at >= from, "{subframe:?}");
        let inner = crate::decode_subframe(frame, &subframe, settings);
        assert_eq!(inner.broken_promise(frame), None, "{inner:?}");
        from = subframe.at + 1;
    }
    let _ = transport_checksum(frame, &decoded);
    let _ = crate::ipv4_header_checksum(frame, &decoded);
    let _ = crate::addresses(frame, &decoded);
    let _ = crate::ports(frame, &decoded);
    let _ = crate::icmp_type_and_code(frame, &decoded);
    assert_eq!(Headers::new(link, frame, &decoded).broken_promise(), None, "{decoded:?}");
    decoded
}

#[test]
fn every_example_is_walked_to_its_end() {
    for (name, link, frame) in examples() {
        let decoded = checked(link, &frame, frame.len() as u32, &Settings::default());
        let expected = match name {
            "arp" => Kind::Arp,
            "80211-aggregate" => Kind::Aggregate,
            "ipv4-udp" | "ipv6-jumbo" => Kind::Udp,
            "ipv4-icmp" => Kind::Icmp,
            "ipv6-icmp" => Kind::Icmp6,
            "ipv4-sctp" => Kind::Sctp,
            "ipv4-udplite" => Kind::UdpLite,
            "ipv4-esp" => Kind::Esp,
            "ipv4-fragment" | "ipv6-fragment" => Kind::Fragment,
            "ipv6-mobility" | "ipv6-none" => Kind::OtherIp,
            _ => Kind::Tcp,
        };
        assert_eq!(decoded.kind, expected, "{name}: {decoded:?}");
        if decoded.kind == Kind::Tcp {
            assert_eq!(crate::ports(&frame, &decoded), (12345, 80), "{name}");
        }
    }
}

#[test]
fn every_example_cut_anywhere_keeps_every_promise() {
    for (name, link, frame) in examples().into_iter().filter(|example| example.2.len() < 1000) {
        let whole = decoded(link, &frame);
        for captured in 0..frame.len() {
            let cut = snapped(link, &frame, captured);
            let same_flow = (cut.kind, cut.ip_at) == (whole.kind, whole.ip_at);
            assert!(
                !same_flow || cut.payload_bytes == whole.payload_bytes,
                "{name} cut to {captured}: stated lengths stay"
            );
            // And a frame that really is that short.
            checked(link, &frame[..captured], captured as u32, &Settings::default());
        }
    }
}

#[test]
fn padding_and_trailers_are_not_payload() {
    for (name, link, frame) in examples() {
        let whole = decoded(link, &frame);
        let padded = decoded(link, &join(&[&frame, &[0; 20]]));
        // PPI, 802.11's check sequence and EtherTypes' lengths aside, the IP length rules.
        assert_eq!(padded.kind, whole.kind, "{name}");
        if whole.ip_version != 0 {
            assert_eq!((padded.ip_bytes, padded.payload_bytes), (whole.ip_bytes, whole.payload_bytes), "{name}");
        }
    }
}

#[test]
fn depth_limits_what_is_looked_through() {
    let segment = ipv4(6, &tcp(b"x"));
    let twice = ipv4(4, &ipv4(4, &segment));
    for (depth, ip_at, kind) in [(0, 0, Kind::OtherIp), (1, 20, Kind::OtherIp), (2, 40, Kind::Tcp), (3, 40, Kind::Tcp)]
    {
        let settings = Settings { tunnel_depth: depth, ..Settings::default() };
        let decoded = checked(LinkType::RAW, &twice, twice.len() as u32, &settings);
        assert_eq!((decoded.ip_at, decoded.kind, decoded.outer_ip_at), (ip_at, kind, 0));
        assert_eq!(decoded.tunnel.kind, if depth == 0 { TunnelKind::None } else { TunnelKind::IpInIp });
    }
}

#[test]
fn carriers_are_what_less_depth_finds() {
    let mut frames = examples();
    for (name, link, frame) in examples().into_iter().filter(|example| example.1 == LinkType::RAW) {
        let vxlan = join(&[&[8, 0, 0, 0, 0, 0, 1, 0], &ethernet(0x0800, &frame)]);
        frames.push((name, link, ipv4(4, &frame)));
        frames.push((name, link, ipv4(17, &udp(4789, &vxlan))));
    }
    let segment = ipv4(6, &tcp(b"x"));
    frames.extend((0..12).scan(segment, |inner, _| {
        *inner = ipv4(4, inner);
        Some(("nested", LinkType::RAW, inner.clone()))
    }));
    let mut most = 0;
    for (name, link, frame) in frames {
        let (settings, bytes) = (Settings::default(), frame.len() as u32);
        let mut carriers = Vec::new();
        let found = decode_carriers(link, &frame, bytes, &settings, &mut |carrier| carriers.push(*carrier));
        assert_eq!(found, decode(link, &frame, bytes, &settings), "{name}");
        most = most.max(carriers.len());
        for (depth, carrier) in carriers.into_iter().enumerate() {
            let mut shallow = decode(link, &frame, bytes, &settings.clone().with_tunnel_depth(depth as u8));
            // Known at the end of a walk.
            shallow.doubts = carrier.doubts;
            assert_eq!(carrier, shallow, "{name} at depth {depth}");
        }
    }
    assert_eq!(most, 8, "a walk reports each tunnel once");
}

#[test]
fn a_malformed_inside_leaves_a_datagram_in_its_own_flow() {
    let mut segment = ipv4(6, &tcp(b"x"));
    segment[32] = 0x40;
    for (frame, kind) in [
        (ipv4(17, &udp(4789, &join(&[&[8, 0, 0, 0, 0, 0, 1, 0], &ethernet(0x0800, &segment)]))), Kind::Udp),
        (ipv4(17, &udp(4789, &join(&[&[8, 0, 0, 0, 0, 0, 1, 0], &ethernet(0x0806, &[0; 28])]))), Kind::Udp),
        (ipv4(47, &join(&[&[0, 0, 0x65, 0x58], &ethernet(0x0806, &[0; 28])])), Kind::OtherIp),
        (ipv4(47, &join(&[&[0, 0, 0x65, 0x58], &ethernet(0x0800, &segment)[..9]])), Kind::OtherIp),
    ] {
        let decoded = decoded(LinkType::RAW, &frame);
        assert_eq!((decoded.kind, decoded.ip_at, decoded.tunnel.kind), (kind, 0, TunnelKind::None));
    }
}

#[test]
fn a_malformed_packet_in_a_tunnel_is_no_flow_of_the_tunnel() {
    let mut segment = ipv4(6, &tcp(b"x"));
    segment[32] = 0x40;
    let long = [&segment[..3], &[200], &segment[4..]].concat();
    for (packet, why) in [(segment, Malformation::TcpOffsetShort), (long, Malformation::Ipv4TotalLong)] {
        for frame in [
            ipv4(4, &packet),
            ipv4(47, &join(&[&[0, 0, 8, 0], &packet])),
            ipv4(47, &join(&[&[0, 0, 0x65, 0x58], &ethernet(0x0800, &packet)])),
            ipv4(97, &join(&[&[0x30, 0], &ethernet(0x0800, &packet)])),
            ipv6(143, &ethernet(0x0800, &packet)),
        ] {
            let decoded = decoded(LinkType::RAW, &frame);
            assert_eq!((decoded.kind, decoded.malformed), (Kind::Malformed, Some(why)));
        }
    }
}

/// A datagram of every tunnel in UDP with every kind of inside: an empty datagram, and these bytes behind it.
fn datagrams(tail: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let (inner, inner6) = (ipv4(17, &udp(9, b"")), ipv6(17, &udp(9, b"")));
    let frame = ethernet(0x0800, &inner);
    let data = join(&[&[8, 1], &[0; 22], &snap(0x0800, &inner)]);
    let subframe = |bytes: u16| join(&[&[0x88, 1], &[0; 22], &[0x80, 0], &[2; 12], &bytes.to_be_bytes()]);
    let aggregate = |bytes: usize| join(&[&subframe(bytes as u16), &snap(0x0800, &inner)]);
    let length = |bytes: usize| (bytes as u16).to_be_bytes();
    let [gtp, gtp_all] = [inner.len(), inner.len() + tail.len()].map(length);
    let [l2tp, l2tp_all] = [12 + inner.len(), 12 + inner.len() + tail.len()].map(length);
    let l2tp2 = |stated: [u8; 2]| join(&[&[0x40, 2], &stated, &[0, 49, 0, 50, 0xff, 3, 0, 0x21], &inner]);
    let gtpu = |stated: [u8; 2]| join(&[&[0x30, 255], &stated, &[0, 0, 0, 44], &inner]);
    let session = [0, 3, 0, 0, 0, 0, 0, 51];
    let capwap = |low: u8| [0, 0x10, 0x42 | low, 0, 0, 0, 0, 0];
    let gpe = |next: u8| [12, 0, 0, next, 0, 0, 46, 0];
    let labels = [0, 1, 0, 64, 0, 2, 1, 64];
    let longer = ipv4(17, &join(&[&udp(9, b""), tail]));
    let datagrams: Vec<(&str, u16, Vec<u8>)> = vec![
        ("vxlan", 4789, join(&[&[8, 0, 0, 0, 0, 0, 42, 0], &frame])),
        ("vxlan tagged", 4789, join(&[&[8, 0, 0, 0, 0, 0, 42, 0], &ethernet(0x8100, &join(&[&[0, 5, 8, 0], &inner]))])),
        ("vxlan 802.3", 4789, join(&[&[8, 0, 0, 0, 0, 0, 42, 0], &ethernet(36, &snap(0x0800, &inner))])),
        ("vxlan pppoe", 4789, {
            let session = join(&[&[0x11, 0, 0, 1, 0, 30, 0, 0x21], &inner]);
            join(&[&[8, 0, 0, 0, 0, 0, 42, 0], &ethernet(0x8864, &session)])
        }),
        ("geneve", 6081, join(&[&[0, 0, 0x65, 0x58, 0, 0, 43, 0], &frame])),
        ("geneve ip", 6081, join(&[&[0, 0, 0x08, 0, 0, 0, 43, 0], &inner])),
        ("vxlan-gpe ipv4", 4790, join(&[&gpe(1), &inner])),
        ("vxlan-gpe ipv6", 4790, join(&[&gpe(2), &inner6])),
        ("vxlan-gpe ethernet", 4790, join(&[&gpe(3), &frame])),
        ("vxlan-gpe nsh", 4790, join(&[&gpe(4), &[15, 0xc2, 2, 1, 0, 0, 7, 255], &inner])),
        ("vxlan-gpe nsh ethernet", 4790, join(&[&gpe(4), &[15, 0xc2, 2, 3, 0, 0, 7, 255], &frame])),
        ("vxlan-gpe mpls", 4790, join(&[&gpe(5), &labels, &inner])),
        ("gre", 4754, join(&[&[0, 0, 8, 0], &inner])),
        ("gre ipv6", 4754, join(&[&[0, 0, 0x86, 0xdd], &inner6])),
        ("gre ethernet", 4754, join(&[&[0, 0, 0x65, 0x58], &frame])),
        ("mpls", 6635, join(&[&labels, &inner])),
        ("mpls ethernet", 6635, join(&[&labels, &[0; 4], &frame])),
        ("tzsp", 37008, join(&[&[1, 0, 0, 1, 1], &frame])),
        ("tzsp 802.11", 37008, join(&[&[1, 0, 0, 18, 1], &data])),
        ("lisp", 4341, join(&[&[0xc0, 1, 2, 3, 0, 0, 0, 1], &inner])),
        ("lisp ipv4", 4341, join(&[&[0x04, 0, 0, 1, 0, 0, 0, 0], &inner])),
        ("lisp ethernet", 4341, join(&[&[0x04, 0, 0, 3, 0, 0, 0, 0], &frame])),
        ("lisp nsh", 4341, join(&[&[0x04, 0, 0, 4, 0, 0, 0, 0], &[15, 0xc2, 2, 1, 0, 0, 7, 255], &inner])),
        ("gtp-u", 2152, gtpu(gtp)),
        ("gtp-u, all", 2152, gtpu(gtp_all)),
        ("l2tp2", 1701, join(&[&[0, 2, 0, 49, 0, 50, 0x21], &inner])),
        ("l2tp2 with a length", 1701, l2tp2(l2tp)),
        ("l2tp2, all", 1701, l2tp2(l2tp_all)),
        ("l2tp3 ethernet", 1701, join(&[&session, &frame])),
        ("l2tp3 ppp", 1701, join(&[&session, &[0xff, 3, 0, 0x21], &inner])),
        ("l2tp3 ip", 1701, join(&[&session, &inner])),
        ("capwap ethernet", 5247, join(&[&capwap(0), &frame])),
        ("capwap 802.11", 5247, join(&[&capwap(1), &data])),
        ("capwap aggregate", 5247, join(&[&capwap(1), &aggregate(36)])),
        ("capwap aggregate, all", 5247, join(&[&capwap(1), &aggregate(36 + tail.len())])),
        ("ayiya", 5072, join(&[&[0x04, 0x02, 0x11, 4, 1, 2, 3, 4], &[9], &inner])),
        ("teredo", 3544, inner6.clone()),
    ];
    let mut datagrams: Vec<(&str, Vec<u8>)> =
        datagrams.into_iter().map(|(name, port, payload)| (name, udp(port, &join(&[&payload, tail])))).collect();
    datagrams.push(("a shorter datagram in the packet", udp(4790, &join(&[&gpe(1), &longer]))));
    let mut from = udp(53, &join(&[&[0, 2, 0, 49, 0, 50, 0x21], &inner, tail]));
    from[..2].copy_from_slice(&1701_u16.to_be_bytes());
    datagrams.push(("l2tp2 by its source port", from));
    datagrams
}

#[test]
fn bytes_behind_a_tunnel_s_packet_keep_the_datagram_in_its_own_flow() {
    for (name, datagram) in datagrams(&[]) {
        for packet in [ipv4(17, &datagram), ipv6(17, &datagram)] {
            let found = decoded(LinkType::RAW, &packet);
            assert_ne!((found.ip_at, found.tunnel.kind), (0, TunnelKind::None), "{name}: nothing behind it");
            assert_eq!((found.kind, found.payload_bytes), (Kind::Udp, 0), "{name}");
        }
    }
    for bytes in [1, 60, 1200] {
        for (name, datagram) in datagrams(&vec![0x5a; bytes]) {
            let is_short = bytes == 1 && SHORT_ETHERNET.contains(&name);
            let frame = ipv4(17, &datagram);
            // Snapped or not: what is stated decides.
            for captured in [frame.len(), frame.len().min(140)] {
                let found = snapped(LinkType::RAW, &frame, captured);
                assert_eq!(found.tunnel.kind == TunnelKind::None, !is_short, "{name}, {bytes} bytes behind it");
                let expected = if is_short { 0 } else { datagram.len() as u32 - 8 };
                assert_eq!((found.kind, found.payload_bytes), (Kind::Udp, expected), "{name}, {bytes}");
            }
        }
    }
}

/// Those of [`datagrams`] whose Ethernet frame has less than the shortest size.
const SHORT_ETHERNET: [&str; 13] = [
    "tzsp",
    "vxlan",
    "vxlan tagged",
    "vxlan 802.3",
    "vxlan pppoe",
    "geneve",
    "vxlan-gpe ethernet",
    "vxlan-gpe nsh ethernet",
    "gre ethernet",
    "mpls ethernet",
    "lisp ethernet",
    "l2tp3 ethernet",
    "capwap ethernet",
];

#[test]
fn checksums_of_what_carries_a_tunnel_are_verified() {
    let inner = ethernet(0x0800, &ipv4(6, &tcp(b"x")));
    let mut datagram = udp(4789, &join(&[&[8, 0, 0, 0, 0, 0, 1, 0], &inner]));
    datagram[6..8].fill(0);
    let packet = ipv4(17, &datagram);
    let doubts =
        |packet: &[u8], settings: &Settings| decode(LinkType::RAW, packet, packet.len() as u32, settings).doubts;
    let default = Settings::default();
    // The helper leaves the header's checksum open.
    let mut right = packet.clone();
    right[10..12].fill(0);
    let sum = crate::checksum::internet(&right[..20]);
    right[10..12].copy_from_slice(&sum.to_be_bytes());
    assert_eq!(doubts(&right, &default), Doubts::NONE);
    let mut wrong = right.clone();
    wrong[11] ^= 1;
    assert_eq!(doubts(&wrong, &default), Doubts::OUTER_CHECKSUM);
    assert_eq!(doubts(&wrong, &Settings { verify_outer: false, ..default.clone() }), Doubts::NONE);
    let mut wrong = right;
    wrong[26..28].copy_from_slice(&[0x12, 0x34]);
    assert_eq!(doubts(&wrong, &default), Doubts::OUTER_CHECKSUM, "UDP's");
}

#[test]
fn a_short_frame_in_a_tunnel_may_be_padded() {
    let frame = ethernet(0x0800, &ipv4(6, &tcp(b"x")));
    for (bytes, tunnel) in [(60, TunnelKind::Vxlan), (64, TunnelKind::Vxlan), (65, TunnelKind::None)] {
        let padded = join(&[&frame, &vec![0; bytes - frame.len()]]);
        let datagram = udp(4789, &join(&[&[8, 0, 0, 0, 0, 0, 1, 0], &padded]));
        assert_eq!(decoded(LinkType::RAW, &ipv4(17, &datagram)).tunnel.kind, tunnel, "{bytes} bytes");
        // The same through one more tunnel: what one lets pass is no measure for the next.
        let nested = ipv4(17, &udp(4789, &join(&[&[8, 0, 0, 0, 0, 0, 9, 0], &ethernet(0x0800, &ipv4(17, &datagram))])));
        let found = decoded(LinkType::RAW, &nested);
        let id = if tunnel == TunnelKind::None { 9 } else { 1 };
        assert_eq!((found.tunnel.kind, found.tunnel.id), (TunnelKind::Vxlan, id), "{bytes} bytes, nested");
    }
}

#[test]
fn headers_without_end_are_given_up() {
    let mut frame = ethernet(0x8100, &[]);
    frame.extend([0, 1, 0x81, 0].repeat(1000));
    let result = decoded(LinkType::ETHERNET, &frame);
    assert_eq!(result.malformed, Some(Malformation::LinkDepth));
    assert_eq!(result.vlans, tidewire_types::Vlans::new([1, 1]));
    let mut frame = ethernet(0x8847, &[]);
    frame.extend([0; 400]);
    assert_eq!(decoded(LinkType::ETHERNET, &frame).malformed, Some(Malformation::MplsDepth));
    let settings = Settings { tunnel_depth: 255, ..Settings::default() };
    let mut frame = ipv4(6, &tcp(b"x"));
    for _ in 0..200 {
        frame = ipv4(4, &frame);
    }
    let result = checked(LinkType::RAW, &frame, frame.len() as u32, &settings);
    assert_eq!(result.kind, Kind::OtherIp);
}

#[test]
fn an_unsupported_link_type_is_said() {
    assert_eq!(decoded(LinkType(147), &[0; 60]).kind, Kind::UnsupportedLink);
    for &link in LinkType::SUPPORTED {
        assert_ne!(decoded(link, &[0; 100]).kind, Kind::UnsupportedLink, "{link:?}");
    }
}

#[test]
fn the_committed_seeds_and_findings() {
    let seeds = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/decode");
    let Ok(entries) = std::fs::read_dir(seeds) else {
        eprintln!("skipped: no fuzz/seeds beside this crate (a packaged copy)");
        return;
    };
    let mut count = 0;
    for entry in entries {
        let input = std::fs::read(entry.unwrap().path()).unwrap();
        if let Some((link, frame, wire_bytes, settings)) = crate::fuzz_input(&input) {
            checked(link, frame, wire_bytes, &settings);
            count += 1;
        }
    }
    assert!(count > 40, "{count} seeds");
}

/// Rewrites the fuzzer's seeds from the examples: `cargo test -p tidewire-wire write_the_seeds -- --ignored`.
#[test]
#[ignore = "writes into the source tree"]
fn write_the_seeds() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/decode");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, link, frame) in examples().into_iter().filter(|example| example.2.len() < 1000) {
        let index = LinkType::SUPPORTED.iter().position(|&known| known == link).unwrap();
        std::fs::write(folder.join(name), join(&[&[index as u8, 0], &frame])).unwrap();
    }
}

/// An example with bytes changed, cut, and followed by others.
fn mutated() -> impl Strategy<Value = (LinkType, Vec<u8>)> {
    let examples: Vec<_> = examples().into_iter().filter(|example| example.2.len() < 1000).collect();
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    (prop::sample::select(examples), changes, any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 0..20))
        .prop_map(|((_, link, mut frame), changes, cut, tail)| {
            for (at, byte) in changes {
                let at = at.index(frame.len());
                frame[at] = byte;
            }
            frame.truncate(frame.len() - cut.index(frame.len() * 2).saturating_sub(frame.len()));
            frame.extend(tail);
            (link, frame)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_of_any_link_type(link in 0_u16..300, frame in prop::collection::vec(any::<u8>(), 0..200), more in 0_u32..40) {
        checked(LinkType(link), &frame, frame.len() as u32 + more, &Settings::default());
    }

    #[test]
    fn any_bytes_after_an_ethernet_type(
        ether_type in prop::sample::select(vec![0x0800_u16, 0x86dd, 0x8100, 0x8847, 0x8864, 60]),
        first in any::<u8>(),
        payload in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let first = if ether_type == 0x0800 { 0x40 | first & 0x0f } else { 0x60 | first & 0x0f };
        let frame = ethernet(ether_type, &join(&[&[first], &payload]));
        checked(LinkType::ETHERNET, &frame, frame.len() as u32, &Settings::default());
    }

    #[test]
    fn changed_examples(example in mutated(), more in 0_u32..40, depth in 0_u8..4, link in any::<prop::sample::Index>(), swap in any::<bool>()) {
        let (own, frame) = example;
        let link = if swap { *link.get(LinkType::SUPPORTED) } else { own };
        let settings = Settings { tunnel_depth: depth, ..Settings::default() };
        checked(link, &frame, frame.len() as u32 + more, &settings);
    }
}
