//! What holds for any bytes, and what holds for every protocol alike.

use proptest::prelude::*;

use crate::testing::{decoded, ethernet, examples, ipv4, join, snapped, tcp, udp};
use crate::{Decoded, Kind, LinkType, Malformation, Settings, TunnelKind, decode, transport_checksum, walk};

/// Decodes both ways; asserts that nothing depends on the way, and what always holds.
fn checked(link: LinkType, frame: &[u8], wire_bytes: u32, settings: &Settings) -> Decoded {
    let decoded = decode(link, frame, wire_bytes, settings);
    assert_eq!(decoded.broken_promise(frame), None, "{decoded:?}");
    let mut general = Decoded::EMPTY;
    walk::decode(link, frame, wire_bytes, settings, &mut general);
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
    if let Some(header) = crate::TcpHeader::new(frame, &decoded) {
        let _ = (header.timestamps(), header.window_scale(), header.options().count());
    }
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
fn a_malformed_inside_leaves_the_outer_flow() {
    let mut segment = ipv4(6, &tcp(b"x"));
    segment[32] = 0x40;
    for (frame, kind) in [
        (ipv4(4, &segment), Kind::OtherIp),
        (ipv4(47, &join(&[&[0, 0, 8, 0], &segment])), Kind::OtherIp),
        (ipv4(17, &udp(4789, &join(&[&[8, 0, 0, 0, 0, 0, 1, 0], &ethernet(0x0800, &segment)]))), Kind::Udp),
        (ipv4(17, &udp(4789, &join(&[&[8, 0, 0, 0, 0, 0, 1, 0], &ethernet(0x0806, &[0; 28])]))), Kind::Udp),
    ] {
        let decoded = decoded(LinkType::RAW, &frame);
        assert_eq!((decoded.kind, decoded.ip_at, decoded.tunnel.kind), (kind, 0, TunnelKind::None));
    }
}

#[test]
fn headers_without_end_are_given_up() {
    let mut frame = ethernet(0x8100, &[]);
    frame.extend([0, 1, 0x81, 0].repeat(1000));
    let result = decoded(LinkType::ETHERNET, &frame);
    assert_eq!(result.malformed, Some(Malformation::LinkDepth));
    assert_eq!(result.vlan, [1, 1]);
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
