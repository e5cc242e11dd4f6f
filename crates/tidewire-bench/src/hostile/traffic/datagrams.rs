//! Datagrams of DHCP, QUIC and IPv6.

use std::net::IpAddr;

use tidewire_lab::craft::{Ip, frame, udp_datagram};

use super::Made;

/// A message of DHCP with these options, filled up to the longest one of a frame (RFC 2131 section 2).
fn message(options: &[u8]) -> Vec<u8> {
    let mut message = vec![0; 236];
    message[..4].copy_from_slice(&[1, 1, 6, 0]);
    message.extend(b"\x63\x82\x53\x63\x35\x01\x01");
    message.extend(options);
    message
}

fn datagrams(made: &mut Made, packets: usize, port: u16, message: &[u8]) -> usize {
    for _ in 0..packets {
        made.datagram(port, message);
    }
    packets
}

/// Names of a client, and padding.
pub(in super::super) fn dhcp(made: &mut Made, packets: usize) -> usize {
    let options = [&b"\x0c\x0aworkplace1\x0f\x0bexample.org\x3c\x08MSFT 5.0"[..], &[0; 1000], &[255]].concat();
    datagrams(made, packets, 67, &message(&options))
}

/// A name in pieces of one byte, which needs escapes.
pub(in super::super) fn dhcp_options(made: &mut Made, packets: usize) -> usize {
    let options = [&b"\x0c\x01\xff\x3c\x01\x1b".repeat(180)[..], &[255]].concat();
    datagrams(made, packets, 67, &message(&options))
}

/// A header of QUIC 1 to an identifier of eight bytes (RFC 9000 section 17.2.2), whose packet has so many bytes behind its length.
fn packet(kind: u8, bytes: u16) -> Vec<u8> {
    let token: &[u8] = if kind == 0xc0 { &[0] } else { &[] };
    let header = [&[kind, 0, 0, 0, 1, 8][..], b"\x83\x94\xc8\xf0\x3e\x51\x57\x08\0", token].concat();
    [header, (0x4000 | bytes).to_be_bytes().to_vec(), vec![0x5a; bytes.into()]].concat()
}

/// A first datagram of a client in one packet, which cannot be opened.
pub(in super::super) fn quic(made: &mut Made, packets: usize) -> usize {
    datagrams(made, packets, 443, &packet(0xc0, 1182))
}

/// The same in many small packets, behind others.
pub(in super::super) fn quic_pieces(made: &mut Made, packets: usize) -> usize {
    let small = [packet(0xd0, 20).repeat(10), packet(0xc0, 21).repeat(21)].concat();
    datagrams(made, packets, 443, &small)
}

/// Datagrams over IPv6 behind so many headers of destination options with padding (RFC 8200 section 4.6), of 1,400 bytes in all.
fn behind(made: &mut Made, packets: usize, headers: usize) -> usize {
    const DESTINATION: u8 = 60;
    const UDP: u8 = 17;
    let address = |last: u16| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, last]);
    let ip = Ip::new(address(1), address(2));
    let payload = vec![0x5a; 1392 - 8 * headers];
    for _ in 0..packets {
        let datagram = udp_datagram(&ip, (1024, 9999), &payload);
        let chain = (1..=headers).flat_map(|at| [if at == headers { UDP } else { DESTINATION }, 0, 1, 4, 0, 0, 0, 0]);
        let content: Vec<u8> = chain.chain(datagram).collect();
        made.write(&frame(&ip, if headers == 0 { UDP } else { DESTINATION }, &content, None));
    }
    packets
}

/// 160 headers.
pub(in super::super) fn headers(made: &mut Made, packets: usize) -> usize {
    behind(made, packets, 160)
}

/// No header.
pub(in super::super) fn plain(made: &mut Made, packets: usize) -> usize {
    behind(made, packets, 0)
}
