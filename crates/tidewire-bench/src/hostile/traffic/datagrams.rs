//! Datagrams of DHCP, QUIC and IPv6, and in tunnels.

use std::net::IpAddr;

use tidewire_lab::craft::{ETHERNET_BYTES, Ip, frame, udp_datagram};
use tidewire_wire::ip_protocol::{DESTINATION_OPTIONS, UDP};

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

/// Padding (RFC 8200 section 4.2).
const PADDING: [u8; 6] = [1, 4, 0, 0, 0, 0];

/// Options that hosts do not know and skip, of no bytes.
const UNKNOWN: [u8; 6] = [0x1e, 0, 0x1e, 0, 0x1e, 0];

/// Options for which hosts drop a packet, of no bytes.
const DISCARDED: [u8; 6] = [0x9e, 0, 0x9e, 0, 0x9e, 0];

/// Datagrams over IPv6 behind so many headers of destination options (RFC 8200 section 4.6), of 1,400 bytes in all.
fn behind(made: &mut Made, packets: usize, headers: usize, options: [u8; 6]) -> usize {
    let address = |last: u16| IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, last]);
    let ip = Ip::new(address(1), address(2));
    let payload = vec![0x5a; 1392 - 8 * headers];
    for _ in 0..packets {
        let datagram = udp_datagram(&ip, (1024, 9999), &payload);
        let chain = (1..=headers).flat_map(|at| {
            let next = if at == headers { UDP } else { DESTINATION_OPTIONS };
            [next, 0].into_iter().chain(options)
        });
        let content: Vec<u8> = chain.chain(datagram).collect();
        made.write(&frame(&ip, if headers == 0 { UDP } else { DESTINATION_OPTIONS }, &content, None));
    }
    packets
}

/// 160 headers.
pub(in super::super) fn headers(made: &mut Made, packets: usize) -> usize {
    behind(made, packets, 160, PADDING)
}

/// The same with three options each.
pub(in super::super) fn options(made: &mut Made, packets: usize) -> usize {
    behind(made, packets, 160, UNKNOWN)
}

/// The same with options that hosts drop a packet for.
pub(in super::super) fn discarded_options(made: &mut Made, packets: usize) -> usize {
    behind(made, packets, 160, DISCARDED)
}

/// No header.
pub(in super::super) fn plain(made: &mut Made, packets: usize) -> usize {
    behind(made, packets, 0, PADDING)
}

/// Bytes of a frame with a packet in tunnels, and without them.
const TUNNEL_FRAME_BYTES: usize = 1400;

/// Tunnels around a packet: the most that are followed.
const TUNNELS: u8 = 8;

/// A header that carries a packet.
#[derive(Clone, Copy)]
enum Carrier {
    /// IP (RFC 2003).
    Ip,
    /// VXLAN (RFC 7348): a frame in UDP.
    Vxlan,
}

/// Around a frame that carries a datagram: further headers, each with addresses of its own. `variant`: of the outermost address.
fn in_tunnels(carrier: Carrier, tunnels: u8, variant: u16, inside: u32) -> Vec<u8> {
    let header_bytes = match carrier {
        Carrier::Ip => 20,
        Carrier::Vxlan => 50,
    };
    let ip = Ip::new(IpAddr::from([198, 51, 100, 53]), IpAddr::from((0xc612_0001 + inside).to_be_bytes()));
    let payload = vec![0x5a; TUNNEL_FRAME_BYTES - 42 - header_bytes * usize::from(tunnels)];
    let mut packet = frame(&ip, UDP, &udp_datagram(&ip, (1024, 9999), &payload), None);
    for tunnel in 1..=tunnels {
        let [high, low] = if tunnel == tunnels { variant.to_be_bytes() } else { [0, 0] };
        let outer = Ip::new(IpAddr::from([10, tunnel, high, low]), IpAddr::from([10, 100, 0, tunnel]));
        packet = match carrier {
            Carrier::Ip => frame(&outer, 4, &packet[ETHERNET_BYTES..], None),
            Carrier::Vxlan => {
                let content = [&[8, 0, 0, 0, 0, 0, tunnel, 0][..], &packet].concat();
                frame(&outer, 17, &udp_datagram(&outer, (4789, 4789), &content), None)
            }
        };
    }
    packet
}

/// So many frames, the same or another one each time.
fn frames(made: &mut Made, packets: usize, frame: impl Fn(usize) -> Vec<u8>) -> usize {
    (0..packets).for_each(|number| made.write(&frame(number)));
    packets
}

/// Datagrams of one flow in no tunnel.
pub(in super::super) fn outside(made: &mut Made, packets: usize) -> usize {
    frames(made, packets, |_| in_tunnels(Carrier::Ip, 0, 0, 0))
}

/// Datagrams of a flow each in no tunnel.
pub(in super::super) fn outside_each(made: &mut Made, packets: usize) -> usize {
    frames(made, packets, |number| in_tunnels(Carrier::Ip, 0, 0, number as u32))
}

pub(in super::super) fn ip_in_ip(made: &mut Made, packets: usize) -> usize {
    frames(made, packets, |_| in_tunnels(Carrier::Ip, TUNNELS, 0, 0))
}

pub(in super::super) fn vxlan(made: &mut Made, packets: usize) -> usize {
    frames(made, packets, |_| in_tunnels(Carrier::Vxlan, TUNNELS, 0, 0))
}

/// The outermost tunnel is another one each time, of 20.
pub(in super::super) fn changing(made: &mut Made, packets: usize) -> usize {
    frames(made, packets, |number| in_tunnels(Carrier::Ip, TUNNELS, (number % 20) as u16, 0))
}

/// A tunnel and a flow of its own for each packet.
pub(in super::super) fn tunnel_each(made: &mut Made, packets: usize) -> usize {
    frames(made, packets, |number| in_tunnels(Carrier::Ip, TUNNELS, number as u16, number as u32))
}
