//! Frames for tests, built from the inside out.

use crate::{Decoded, LinkType, Settings, decode};

/// Decodes a whole frame with default settings, and asserts what always holds.
pub(crate) fn decoded(link: LinkType, frame: &[u8]) -> Decoded {
    snapped(link, frame, frame.len())
}

/// The same of a frame whose first `captured` bytes were captured.
pub(crate) fn snapped(link: LinkType, frame: &[u8], captured: usize) -> Decoded {
    let decoded = decode(link, &frame[..captured], frame.len() as u32, &Settings::default());
    assert_eq!(decoded.broken_promise(&frame[..captured]), None, "{decoded:?}");
    decoded
}

pub(crate) fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// An Ethernet frame of this type.
pub(crate) fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    join(&[&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2], &ether_type.to_be_bytes(), payload])
}

/// An IPv4 packet from 10.0.0.1 to 10.0.0.2.
pub(crate) fn ipv4(proto: u8, payload: &[u8]) -> Vec<u8> {
    ipv4_fragment(proto, 0, payload)
}

/// The same with these fragment flags and offset.
pub(crate) fn ipv4_fragment(proto: u8, place: u16, payload: &[u8]) -> Vec<u8> {
    let total = (20 + payload.len() as u16).to_be_bytes();
    let place = place.to_be_bytes();
    let mut header =
        [0x45, 0, total[0], total[1], 0x12, 0x34, place[0], place[1], 64, proto, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let words = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let checksum = !((sum >> 16) + (sum & 0xffff)) as u16;
    [header[10], header[11]] = checksum.to_be_bytes();
    join(&[&header, payload])
}

/// An IPv6 packet from 2001:db8::1 to 2001:db8::2.
pub(crate) fn ipv6(next_header: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u16).to_be_bytes();
    let address = |last| join(&[&[0x20, 0x01, 0x0d, 0xb8], &[0; 11], &[last]]);
    join(&[&[0x60, 0, 0, 0], &length, &[next_header, 64], &address(1), &address(2), payload])
}

/// A TCP segment from port 12345 to 80.
pub(crate) fn tcp(payload: &[u8]) -> Vec<u8> {
    join(&[&[0x30, 0x39, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x18, 1, 0, 0, 0, 0, 0], payload])
}

/// A UDP datagram from port 50000.
pub(crate) fn udp(destination: u16, payload: &[u8]) -> Vec<u8> {
    let length = (8 + payload.len() as u16).to_be_bytes();
    join(&[&50_000_u16.to_be_bytes(), &destination.to_be_bytes(), &length, &[0, 0], payload])
}

/// An SNAP header of this type, and the packet.
pub(crate) fn snap(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    join(&[&[0xaa, 0xaa, 3, 0, 0, 0], &ether_type.to_be_bytes(), payload])
}

/// One small frame of every kind that is walked, by name. The fuzzer's seeds are these.
pub(crate) fn examples() -> Vec<(&'static str, LinkType, Vec<u8>)> {
    let segment = ipv4(6, &tcp(b"hello"));
    let segment6 = ipv6(6, &tcp(b"hello"));
    let inner = ethernet(0x0800, &segment);
    let mut examples = links(&segment, &segment6);
    let on_ethernet = |name, ether_type, payload: &[u8]| (name, LinkType::ETHERNET, ethernet(ether_type, payload));
    examples.extend([
        on_ethernet("ipv4-tcp", 0x0800, &segment),
        on_ethernet("ipv6-tcp", 0x86dd, &segment6),
        on_ethernet("ipv4-udp", 0x0800, &ipv4(17, &udp(53, b"query"))),
        on_ethernet("ipv4-icmp", 0x0800, &ipv4(1, &[8, 0, 0, 0, 0, 1, 0, 1])),
        on_ethernet("ipv6-icmp", 0x86dd, &ipv6(58, &[128, 0, 0, 0, 0, 1, 0, 1])),
        on_ethernet("ipv4-sctp", 0x0800, &ipv4(132, &[0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 3, 0, 4])),
        on_ethernet("ipv4-udplite", 0x0800, &ipv4(136, &[0, 1, 0, 2, 0, 8, 0, 0, 9])),
        on_ethernet("ipv4-esp", 0x0800, &ipv4(50, &[0, 0, 0, 1, 0, 0, 0, 1, 9, 9])),
        on_ethernet("ipv4-ah", 0x0800, &ipv4(51, &join(&[&[6, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1], &tcp(b"x")]))),
        on_ethernet("ipv4-fragment", 0x0800, &ipv4_fragment(17, 0x2000, &udp(53, &[7; 8]))),
        on_ethernet("arp", 0x0806, &[0, 1, 8, 0, 6, 4, 0, 1]),
        on_ethernet("vlan", 0x8100, &join(&[&[0x20, 5, 8, 0], &segment])),
        on_ethernet("qinq", 0x88a8, &join(&[&[0, 5, 0x81, 0, 0, 6, 0x86, 0xdd], &segment6])),
        on_ethernet("mpls", 0x8847, &join(&[&[0, 1, 0, 64, 0, 2, 1, 64], &segment])),
        on_ethernet("mpls-pseudowire", 0x8847, &join(&[&[0, 1, 1, 64, 0, 0, 0, 0], &inner])),
        on_ethernet("pppoe", 0x8864, &join(&[&[0x11, 0, 0, 1, 0, 47, 0, 0x21], &segment])),
        on_ethernet("llc-snap", 8 + 45, &snap(0x0800, &segment)),
        on_ethernet("cisco-metadata", 0x8909, &join(&[&[1, 1, 0, 1, 0, 16, 8, 0], &segment])),
        on_ethernet("nsh", 0x894f, &join(&[&[15, 0xc2, 2, 1, 0, 0, 7, 255], &segment])),
        on_ethernet("macsec", 0x88e5, &join(&[&[0x20, 0, 0, 0, 0, 1], &[2; 8], &[8, 0], &segment, &[9; 16]])),
        on_ethernet("hsr", 0x892f, &join(&[&[0, 1, 2, 3, 8, 0], &segment])),
        on_ethernet("pbb", 0x88e7, &join(&[&[0, 1, 2, 3], &inner])),
    ]);
    examples.extend(extensions());
    examples.extend(tunnels(&segment, &segment6, &inner));
    examples
}

/// The link types.
fn links(segment: &[u8], segment6: &[u8]) -> Vec<(&'static str, LinkType, Vec<u8>)> {
    let data = |control: [u8; 2], rest: &[u8]| join(&[&control, &[0; 22], rest, &snap(0x0800, segment)]);
    vec![
        ("raw", LinkType::RAW, segment6.to_vec()),
        ("null", LinkType::NULL, join(&[&[2, 0, 0, 0], segment])),
        ("loop", LinkType::LOOP, join(&[&[0, 0, 0, 24], segment6])),
        ("sll", LinkType::LINUX_SLL, join(&[&[0; 14], &[8, 0], segment])),
        ("sll2", LinkType::LINUX_SLL2, join(&[&[0x86, 0xdd], &[0; 18], segment6])),
        ("ppp", LinkType::PPP, join(&[&[0xff, 3, 0, 0x21], segment])),
        ("ppp-compressed", LinkType::PPP, join(&[&[0x57], segment6])),
        ("ppp-hdlc-cisco", LinkType::PPP_HDLC, join(&[&[0x0f, 0, 8, 0], segment])),
        ("chdlc", LinkType::C_HDLC, join(&[&[0x8f, 0, 0x86, 0xdd], segment6])),
        ("frame-relay", LinkType::FRELAY, join(&[&[0x18, 0x41, 3, 0xcc], segment])),
        ("frame-relay-cisco", LinkType::FRELAY, join(&[&[0x18, 0x41, 8, 0], segment])),
        ("frame-relay-snap", LinkType::FRELAY, join(&[&[0x18, 0x41, 3, 0, 0x80, 0, 0, 0, 0x86, 0xdd], segment6])),
        ("80211", LinkType::IEEE802_11, data([0x08, 1], &[])),
        ("80211-qos", LinkType::IEEE802_11, data([0x88, 2], &[0, 0])),
        ("80211-four-addresses", LinkType::IEEE802_11, data([0x88, 0x83], &[0; 12])),
        ("80211-aggregate", LinkType::IEEE802_11, {
            let subframe = join(&[&[2; 12], &[0, 53], &snap(0x0800, segment), &[0]]);
            join(&[&[0x88, 1], &[0; 22], &[0x80, 0], &subframe, &subframe])
        }),
        ("radiotap", LinkType::IEEE802_11_RADIOTAP, {
            let header = [0, 0, 9, 0, 2, 0, 0, 0, 0x10];
            join(&[&header, &data([0x08, 1], &[]), &[1, 2, 3, 4]])
        }),
        ("prism", LinkType::IEEE802_11_PRISM, join(&[&[0x44, 0, 0, 0, 144], &[0; 139], &data([0x08, 1], &[])])),
        (
            "avs",
            LinkType::IEEE802_11_AVS,
            join(&[&[0x80, 0x21, 0x10, 1, 0, 0, 0, 64], &[0; 56], &data([0x08, 1], &[])]),
        ),
        ("ppi", LinkType::PPI, join(&[&[0, 0, 8, 0, 105, 0, 0, 0], &data([0x08, 1], &[])])),
        ("token-ring", LinkType::IEEE802_5, join(&[&[0x10, 0x40], &[2; 12], &snap(0x0800, segment)])),
        (
            "token-ring-routed",
            LinkType::IEEE802_5,
            join(&[&[0x10, 0x40], &[2; 6], &[0x82, 2, 2, 2, 2, 2, 4, 0x30, 0, 16], &snap(0x86dd, segment6)]),
        ),
        ("clip", LinkType::ATM_CLIP, segment.to_vec()),
        ("ipnet", LinkType::IPNET, join(&[&[1, 2, 0, 0, 0, 0, 0, 45], &[0; 16], segment])),
        ("pktap", LinkType::PKTAP, {
            let header = join(&[&[108, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0], &[0; 96]]);
            join(&[&header, &ethernet(0x0800, segment)])
        }),
        ("dsa-broadcom", LinkType::DSA_TAG_BRCM, join(&[&[2; 12], &[0, 0, 0, 5, 8, 0], segment])),
        ("dsa-broadcom-before", LinkType::DSA_TAG_BRCM_PREPEND, join(&[&[0, 0, 0, 5], &ethernet(0x0800, segment)])),
        ("dsa-marvell", LinkType::DSA_TAG_DSA, join(&[&[2; 12], &[0xe0, 8, 0, 5, 8, 0], segment])),
        ("edsa-marvell", LinkType::DSA_TAG_EDSA, {
            join(&[&[2; 12], &[0xda, 0xda, 0, 0, 0xe0, 8, 0, 5, 8, 0], segment])
        }),
        ("802154", LinkType::IEEE802_15_4_NOFCS, join(&[&[0x41, 0x88, 1, 2, 3, 4, 5, 6, 7, 0x41], segment6])),
        ("802154-fcs", LinkType::IEEE802_15_4_WITHFCS, {
            join(&[&[0x41, 0xdc, 1, 2, 3], &[4; 16], &[0x41], segment6, &[0x61, 0xf9]])
        }),
        ("802154-tap", LinkType::IEEE802_15_4_TAP, {
            join(&[&[0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0x41, 0x88, 1, 2, 3, 4, 5, 6, 7, 0x41], segment6])
        }),
        ("nflog", LinkType::NFLOG, join(&[&[2, 0, 0, 0, 5, 0, 10, 0, 9, 0, 0, 0, 49, 0, 9, 0], segment])),
        ("ipoib", LinkType::IPOIB, join(&[&[0; 40], &[8, 0, 0, 0], segment])),
    ]
}

/// IPv6 extension headers.
fn extensions() -> Vec<(&'static str, LinkType, Vec<u8>)> {
    let raw = |name, next, payload: &[u8]| (name, LinkType::IPV6, ipv6(next, payload));
    let options = |next| [next, 0, 1, 4, 0, 0, 0, 0];
    let fragment = |next, low| [next, 0, 0, low, 0, 0, 0, 7];
    let routing = join(&[&[60, 2, 0, 1, 0, 0, 0, 0], &[9; 16]]);
    let segment = tcp(b"x");
    vec![
        raw("ipv6-hop-by-hop", 0, &join(&[&options(6), &segment])),
        raw("ipv6-all", 0, &join(&[&options(43), &routing, &options(44), &fragment(51, 0), &AH_TCP, &segment])),
        raw("ipv6-fragment", 60, &join(&[&options(44), &fragment(6, 1), &segment])),
        raw("ipv6-mobility", 135, &[59, 0, 5, 0, 0, 0, 0, 0]),
        raw("ipv6-hip", 139, &join(&[&options(6), &segment])),
        raw("ipv6-none", 59, &[]),
        {
            let mut jumbo = ipv6(0, &join(&[&[17, 0, 0xc2, 4, 0, 1, 0, 9], &udp(53, &[1])]));
            (jumbo[4], jumbo[5]) = (0, 0);
            jumbo.resize(40 + 0x1_0009, 0);
            (jumbo[52], jumbo[53]) = (0, 0);
            ("ipv6-jumbo", LinkType::IPV6, jumbo)
        },
    ]
}

/// An authentication header before TCP.
const AH_TCP: [u8; 16] = [6, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 9, 9, 9, 9];

/// Tunnels.
fn tunnels(segment: &[u8], segment6: &[u8], inner: &[u8]) -> Vec<(&'static str, LinkType, Vec<u8>)> {
    let raw = |name, proto, payload: &[u8]| (name, LinkType::RAW, ipv4(proto, payload));
    let gre = |name, header: &[u8], payload: &[u8]| raw(name, 47, &join(&[header, payload]));
    let in_udp = |name, port, header: &[u8], payload: &[u8]| raw(name, 17, &udp(port, &join(&[header, payload])));
    let length = |bytes: usize| (bytes as u16).to_be_bytes();
    let [h, l] = length(segment.len());
    let data = join(&[&[8, 1], &[0; 22], &snap(0x0800, segment)]);
    let [gtp_h, gtp_l] = length(segment.len() + 8);
    vec![
        raw("ip-in-ip", 4, segment),
        raw("6in4", 41, segment6),
        ("4in6", LinkType::RAW, ipv6(4, segment)),
        ("6in6", LinkType::RAW, ipv6(41, segment6)),
        gre("gre", &[0, 0, 8, 0], segment),
        gre("gre-all", &[0xb0, 0, 8, 0, 1, 2, 0, 0, 0, 0, 0, 7, 0, 0, 0, 9], segment),
        gre("gre-routing", &[0x40, 0, 8, 0, 0, 0, 0, 0, 8, 0, 0, 4, 1, 1, 1, 1, 0, 0, 0, 0], segment),
        gre("gre-bridging", &[0x20, 0, 0x65, 0x58, 0, 0, 5, 0], inner),
        gre("pptp", &[0x30, 0x81, 0x88, 0x0b, h, l + 4, 0, 5, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 3, 0, 0x21], segment),
        gre("eoip", &[0x20, 1, 0x64, 0, 0, inner.len() as u8, 7, 0], inner),
        gre("erspan1", &[0, 0, 0x88, 0xbe], inner),
        gre("erspan2", &[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, 0, 33, 0, 0, 0, 0], inner),
        gre("erspan3", &join(&[&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1, 0x20, 1, 0, 34], &[0; 7], &[1], &[0; 8]]), inner),
        in_udp("vxlan", 4789, &[8, 0, 0, 0, 0, 0, 42, 0], inner),
        in_udp("geneve", 6081, &[1, 0, 0x65, 0x58, 0, 0, 43, 0, 1, 2, 3, 0], inner),
        in_udp("gtpu", 2152, &[0x30, 255, h, l, 0, 0, 0, 44], segment),
        in_udp("gtpu-extension", 2152, &[0x34, 255, gtp_h, gtp_l, 0, 0, 0, 45, 0, 0, 0, 0x85, 1, 0, 9, 0], segment),
        in_udp("vxlan-gpe", 4790, &[12, 0, 0, 1, 0, 0, 46, 0], segment),
        in_udp("vxlan-gpe-nsh", 4790, &[12, 0, 0, 4, 0, 0, 46, 0, 15, 0xc2, 2, 3, 0, 0, 7, 255], inner),
        in_udp("gre-in-udp", 4754, &[0x20, 0, 8, 0, 0, 0, 0, 47], segment),
        in_udp("mpls-in-udp", 6635, &[0, 1, 0, 64, 0, 2, 1, 64], segment),
        raw("mpls-in-ip", 137, &join(&[&[0, 1, 1, 64], segment6])),
        in_udp("lisp", 4341, &[0x88, 1, 2, 3, 0, 0, 48, 1], segment6),
        in_udp("ayiya", 5072, &join(&[&[0x44, 0x52, 0x11, 41, 1, 2, 3, 4], &[9; 36]]), segment6),
        in_udp("l2tp2", 1701, &[0x40, 2, 0, 57, 0, 49, 0, 50, 0xff, 3, 0, 0x21], segment),
        in_udp("l2tp3-in-udp", 1701, &[0, 3, 0, 0, 0, 0, 0, 51, 9, 9, 9, 9], inner),
        raw("l2tp3", 115, &join(&[&[0, 0, 0, 52, 0x40, 0, 0, 1], inner])),
        in_udp("capwap", 5247, &[0, 0x10, 0x42, 0, 0, 0, 0, 0], inner),
        in_udp("capwap-80211", 5247, &join(&[&[0, 0x10, 0x43, 0, 0, 0, 0, 0], &data]), &[]),
        gre("gre-aruba", &[0, 0, 0x82, 0], &data),
        in_udp("tzsp", 37008, &[1, 0, 0, 1, 10, 1, 200, 1], inner),
        raw("ethernet-in-ip", 143, inner),
        raw("etherip", 97, &join(&[&[0x30, 0], inner])),
        raw("ipcomp-stored", 108, &join(&[&[4, 0, 0, 2, 1, l, 0, !l, 0xff], segment])),
        in_udp("teredo", 3544, &[], segment6),
        in_udp("teredo-both", 3544, &join(&[&[0, 1, 0, 0], &[0; 9], &[0, 0, 1, 2, 3, 4, 5, 6]]), segment6),
        raw(
            "vxlan-in-gre",
            47,
            &join(&[&[0, 0, 8, 0], &ipv4(17, &udp(8472, &join(&[&[8, 0, 0, 0, 0, 0, 1, 0], inner])))]),
        ),
    ]
}
