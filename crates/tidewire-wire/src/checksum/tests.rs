use super::*;
use crate::{LinkType, Settings, decode};

/// The sum as RFC 1071 writes it down.
fn naive(bytes: &[u8]) -> u16 {
    let mut total = 0u32;
    for pair in bytes.chunks(2) {
        total += u32::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)]));
        total = (total & 0xffff) + (total >> 16);
    }
    !(total as u16)
}

#[test]
fn the_rfc_1071_example() {
    assert_eq!(internet(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
}

#[test]
fn every_length_and_saturated_bytes_agree_with_the_naive_sum() {
    let mut state = 1u32;
    let random: Vec<u8> = (0..700)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .collect();
    let full = vec![0xff; 70_000];
    for length in 0..random.len() {
        assert_eq!(internet(&random[..length]), naive(&random[..length]), "{length} random bytes");
        assert_eq!(internet(&full[..length]), naive(&full[..length]), "{length} bytes of 0xff");
    }
    assert_eq!(internet(&full), naive(&full));
}

#[test]
fn the_rfc_3720_examples_of_crc32c() {
    assert_eq!(crc32c(&[&[0; 32]]), 0x8a91_36aa);
    assert_eq!(crc32c(&[&[0xff; 32]]), 0x62a8_ab43);
    let rising: Vec<u8> = (0..32).collect();
    assert_eq!(crc32c(&[&rising[..5], &rising[5..]]), 0x46dd_794e);
    assert_eq!(crc32c(&[b"123456789"]), 0xe306_9283);
}

/// A raw IPv4 packet with a header checksum.
fn ipv4_packet(proto: u8, payload: &[u8]) -> Vec<u8> {
    let total = (20 + payload.len() as u16).to_be_bytes();
    let mut packet = vec![0x45, 0, total[0], total[1], 0, 1, 0, 0, 64, proto, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let checksum = internet(&packet).to_be_bytes();
    packet[10..12].copy_from_slice(&checksum);
    packet.extend(payload);
    packet
}

/// Stores the right checksum at `checksum_at` of the segment at `at`, over these pseudo-header bytes.
fn seal(packet: &mut [u8], at: usize, checksum_at: usize, pseudo: &[u8]) {
    let whole: Vec<u8> = [pseudo, &packet[at..]].concat();
    let checksum = naive(&whole).to_be_bytes();
    packet[at + checksum_at..at + checksum_at + 2].copy_from_slice(&checksum);
}

fn verdict(packet: &[u8]) -> Checksum {
    let decoded = decode(LinkType::RAW, packet, packet.len() as u32, &Settings::default());
    transport_checksum(packet, &decoded)
}

/// A TCP segment with an odd payload, its checksum zero.
fn tcp_segment() -> Vec<u8> {
    let mut segment = vec![0x30, 0x39, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x18, 1, 0, 0, 0, 0, 0];
    segment.extend(b"hello");
    segment
}

const PSEUDO4: [u8; 8] = [10, 0, 0, 1, 10, 0, 0, 2];

#[test]
fn tcp_good_bad_and_offloaded() {
    let mut packet = ipv4_packet(6, &tcp_segment());
    let pseudo = [&PSEUDO4[..], &[0, 6, 0, 25]].concat();
    seal(&mut packet, 20, 16, &pseudo);
    assert_eq!(verdict(&packet), Checksum::Good);
    packet[44] ^= 1;
    assert_eq!(verdict(&packet), Checksum::Bad);
    packet[36..38].copy_from_slice(&(!naive(&pseudo)).to_be_bytes());
    assert_eq!(verdict(&packet), Checksum::Offloaded);
    let without_length = [&PSEUDO4[..], &[0, 6]].concat();
    packet[36..38].copy_from_slice(&(!naive(&without_length)).to_be_bytes());
    assert_eq!(verdict(&packet), Checksum::Offloaded);
}

#[test]
fn snapped_is_not_bad() {
    let packet = ipv4_packet(6, &tcp_segment());
    let decoded = decode(LinkType::RAW, &packet[..42], packet.len() as u32, &Settings::default());
    assert_eq!(decoded.kind, Kind::Tcp);
    assert_eq!(transport_checksum(&packet[..42], &decoded), Checksum::Unverifiable);
}

#[test]
fn udp_without_a_checksum() {
    let packet = ipv4_packet(17, &[0, 53, 0, 53, 0, 10, 0, 0, 1, 2]);
    assert_eq!(verdict(&packet), Checksum::Absent);
    let mut packet = packet;
    seal(&mut packet, 20, 6, &[&PSEUDO4[..], &[0, 17, 0, 10]].concat());
    assert_eq!(verdict(&packet), Checksum::Good);
}

#[test]
fn udp_lite_covers_what_it_says() {
    let mut packet = ipv4_packet(136, &[0, 53, 0, 53, 0, 8, 0, 0, 1, 2]);
    let header_only = [&PSEUDO4[..], &[0, 136, 0, 10], &packet[20..28]].concat();
    let checksum = naive(&header_only).to_be_bytes();
    packet[26..28].copy_from_slice(&checksum);
    assert_eq!(verdict(&packet), Checksum::Good);
    packet[28] = 77;
    assert_eq!(verdict(&packet), Checksum::Good, "beyond the coverage");
    packet[20] = 77;
    assert_eq!(verdict(&packet), Checksum::Bad);
}

#[test]
fn icmp_and_the_ipv4_header() {
    let mut packet = ipv4_packet(1, &[8, 0, 0, 0, 0, 1, 0, 1, 9]);
    seal(&mut packet, 20, 2, &[]);
    assert_eq!(verdict(&packet), Checksum::Good);
    let decoded = decode(LinkType::RAW, &packet, packet.len() as u32, &Settings::default());
    assert_eq!(ipv4_header_checksum(&packet, &decoded), Checksum::Good);
    packet[8] = 1;
    assert_eq!(ipv4_header_checksum(&packet, &decoded), Checksum::Bad);
    packet[10..12].fill(0);
    assert_eq!(ipv4_header_checksum(&packet, &decoded), Checksum::Offloaded);
}

#[test]
fn sctp_takes_its_own() {
    let mut packet = ipv4_packet(132, &[0, 1, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 1, 2, 3, 4]);
    assert_eq!(verdict(&packet), Checksum::Offloaded);
    let checksum = crc32c(&[&packet[20..]]).to_le_bytes();
    packet[28..32].copy_from_slice(&checksum);
    assert_eq!(verdict(&packet), Checksum::Good);
    packet[35] = 0;
    assert_eq!(verdict(&packet), Checksum::Bad);
}

/// An IPv6 packet to `::2` with these headers before a UDP datagram of 10 bytes.
fn ipv6_packet(next_header: u8, extensions: &[u8]) -> Vec<u8> {
    let length = (extensions.len() as u16 + 10).to_be_bytes();
    let mut packet = vec![0x60, 0, 0, 0, length[0], length[1], next_header, 64];
    packet.extend([[0; 15], [0; 15]].map(|zeros| [&zeros[..], &[2]].concat()).concat());
    packet[23] = 1;
    packet.extend(extensions);
    packet.extend([0, 53, 0, 53, 0, 10, 0, 0, 1, 2]);
    packet
}

/// The pseudo-header of that datagram, from and to addresses that end in these bytes.
fn pseudo6(source: u8, destination: u8) -> Vec<u8> {
    let mut pseudo = vec![0; 40];
    (pseudo[15], pseudo[31], pseudo[35], pseudo[39]) = (source, destination, 10, 17);
    pseudo
}

#[test]
fn udp_over_ipv6_must_have_one() {
    let mut packet = ipv6_packet(17, &[]);
    assert_eq!(verdict(&packet), Checksum::Bad);
    seal(&mut packet, 40, 6, &pseudo6(1, 2));
    assert_eq!(verdict(&packet), Checksum::Good);
}

#[test]
fn a_routing_header_names_the_final_destination() {
    let mut routing = vec![17, 2, 0, 1, 0, 0, 0, 0];
    routing.extend([&[0; 15][..], &[9]].concat());
    for (kind, segments_left, destination) in [(0, 1, 9), (2, 1, 9), (4, 1, 9), (0, 0, 2), (253, 0, 2)] {
        (routing[2], routing[3]) = (kind, segments_left);
        let mut packet = ipv6_packet(43, &routing);
        seal(&mut packet, 64, 6, &pseudo6(1, destination));
        assert_eq!(verdict(&packet), Checksum::Good, "type {kind}, {segments_left} left");
    }
    routing[2..4].copy_from_slice(&[253, 1]);
    let mut packet = ipv6_packet(43, &routing);
    seal(&mut packet, 64, 6, &pseudo6(1, 2));
    assert_eq!(verdict(&packet), Checksum::Unverifiable, "type unknown");
}

#[test]
fn a_home_address_stands_for_the_source() {
    let mut options = vec![17, 2, 1, 2, 0, 0, 0xc9, 16];
    options.extend([&[0; 15][..], &[8]].concat());
    options.truncate(24);
    let mut packet = ipv6_packet(60, &options);
    seal(&mut packet, 64, 6, &pseudo6(8, 2));
    assert_eq!(verdict(&packet), Checksum::Good);
}
