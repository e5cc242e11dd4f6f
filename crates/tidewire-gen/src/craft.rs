//! Crafted packets: Ethernet frames with IPv4 and IPv6, TCP, UDP and fragments; every field can be set to a wrong value.

use std::net::{IpAddr, SocketAddr};

pub use tidewire_wire::tcp_flag::{ACK, FIN, PSH, RST, SYN, URG};

/// Bytes of an Ethernet header.
pub const ETHERNET_BYTES: usize = 14;

/// Fields of the IP header.
#[derive(Clone, Debug)]
pub struct Ip {
    /// Sender.
    pub source: IpAddr,
    /// Receiver.
    pub destination: IpAddr,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// Identification (IPv4; with IPv6 only in a fragment header).
    pub id: u32,
    /// IPv4 options, a multiple of four bytes.
    pub options: Vec<u8>,
    /// Whether the IPv4 header checksum is wrong.
    pub bad_checksum: bool,
}

impl Ip {
    /// An ordinary header: time to live 64, no options.
    #[must_use]
    pub fn new(source: IpAddr, destination: IpAddr) -> Self {
        Self { source, destination, ttl: 64, id: 1, options: Vec::new(), bad_checksum: false }
    }
}

/// Fields of the TCP header.
#[derive(Clone, Debug, Default)]
pub struct Tcp {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// Flags.
    pub flags: u8,
    /// Window field of the header, not scaled.
    pub window: u16,
    /// Urgent pointer.
    pub urgent: u16,
    /// Options, a multiple of four bytes.
    pub options: Vec<u8>,
    /// Whether the checksum is wrong.
    pub bad_checksum: bool,
}

/// The ones' complement sum of RFC 1071, not yet folded.
#[must_use]
pub fn sum(bytes: &[u8], start: u64) -> u64 {
    let mut words = bytes.chunks_exact(2);
    let mut total = start;
    for word in &mut words {
        total += u64::from(u16::from_be_bytes([word[0], word[1]]));
    }
    if let [last] = words.remainder() {
        total += u64::from(*last) << 8;
    }
    total
}

/// The checksum for a header, from the sum of its data.
#[must_use]
pub fn fold(mut total: u64) -> u16 {
    while total >> 16 != 0 {
        total = (total & 0xffff) + (total >> 16);
    }
    !(total as u16)
}

fn octets(address: IpAddr, into: &mut Vec<u8>) {
    match address {
        IpAddr::V4(address) => into.extend(address.octets()),
        IpAddr::V6(address) => into.extend(address.octets()),
    }
}

/// The sum over the pseudo header that TCP and UDP checksums begin with.
#[must_use]
pub fn pseudo_sum(ip: &Ip, proto: u8, bytes: usize) -> u64 {
    let mut addresses = Vec::with_capacity(32);
    octets(ip.source, &mut addresses);
    octets(ip.destination, &mut addresses);
    sum(&addresses, u64::from(proto) + bytes as u64)
}

/// A TCP segment with its checksum.
#[must_use]
pub fn tcp_segment(ip: &Ip, tcp: &Tcp, payload: &[u8]) -> Vec<u8> {
    let header = 20 + tcp.options.len();
    let mut segment = Vec::with_capacity(header + payload.len());
    segment.extend(tcp.source_port.to_be_bytes());
    segment.extend(tcp.destination_port.to_be_bytes());
    segment.extend(tcp.seq.to_be_bytes());
    segment.extend(tcp.ack.to_be_bytes());
    segment.push(((header / 4) as u8) << 4);
    segment.push(tcp.flags);
    segment.extend(tcp.window.to_be_bytes());
    segment.extend([0, 0]);
    segment.extend(tcp.urgent.to_be_bytes());
    segment.extend(&tcp.options);
    segment.extend(payload);
    let mut checksum = fold(sum(&segment, pseudo_sum(ip, 6, segment.len())));
    if tcp.bad_checksum {
        checksum ^= 0x5555;
    }
    segment[16..18].copy_from_slice(&checksum.to_be_bytes());
    segment
}

/// A UDP datagram with its checksum.
#[must_use]
pub fn udp_datagram(ip: &Ip, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let bytes = 8 + payload.len();
    let mut datagram = Vec::with_capacity(bytes);
    datagram.extend(ports.0.to_be_bytes());
    datagram.extend(ports.1.to_be_bytes());
    datagram.extend((bytes as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    let checksum = match fold(sum(&datagram, pseudo_sum(ip, 17, bytes))) {
        0 => 0xffff,
        other => other,
    };
    datagram[6..8].copy_from_slice(&checksum.to_be_bytes());
    datagram
}

/// A fragment's position in its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Offset in bytes; a multiple of eight.
    pub offset: u32,
    /// Whether more fragments follow.
    pub more: bool,
}

/// An Ethernet frame around an IP packet with this payload; `piece`: as a fragment.
#[must_use]
pub fn frame(ip: &Ip, proto: u8, payload: &[u8], piece: Option<Piece>) -> Vec<u8> {
    let mut frame = Vec::with_capacity(ETHERNET_BYTES + 48 + payload.len());
    frame.extend([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame.extend(if ip.source.is_ipv4() { [0x08, 0x00] } else { [0x86, 0xdd] });
    packet(ip, proto, payload, piece, &mut frame);
    frame
}

/// Appends an IP packet.
pub fn packet(ip: &Ip, proto: u8, payload: &[u8], piece: Option<Piece>, into: &mut Vec<u8>) {
    if ip.source.is_ipv4() {
        packet_v4(ip, proto, payload, piece, into)
    } else {
        packet_v6(ip, proto, payload, piece, into)
    }
}

fn packet_v4(ip: &Ip, proto: u8, payload: &[u8], piece: Option<Piece>, into: &mut Vec<u8>) {
    let at = into.len();
    let header = 20 + ip.options.len();
    let fragment =
        piece.map_or(0x4000, |piece| ((piece.offset / 8) as u16 & 0x1fff) | if piece.more { 0x2000 } else { 0 });
    into.push(0x40 | (header / 4) as u8);
    into.push(0);
    into.extend(((header + payload.len()) as u16).to_be_bytes());
    into.extend((ip.id as u16).to_be_bytes());
    into.extend(fragment.to_be_bytes());
    into.extend([ip.ttl, proto, 0, 0]);
    octets(ip.source, into);
    octets(ip.destination, into);
    into.extend(&ip.options);
    let mut checksum = fold(sum(&into[at..], 0));
    if ip.bad_checksum {
        checksum ^= 0x5555;
    }
    into[at + 10..at + 12].copy_from_slice(&checksum.to_be_bytes());
    into.extend(payload);
}

fn packet_v6(ip: &Ip, proto: u8, payload: &[u8], piece: Option<Piece>, into: &mut Vec<u8>) {
    let extension = if piece.is_some() { 8 } else { 0 };
    into.extend([0x60, 0, 0, 0]);
    into.extend(((extension + payload.len()) as u16).to_be_bytes());
    into.extend([if piece.is_some() { 44 } else { proto }, ip.ttl]);
    octets(ip.source, into);
    octets(ip.destination, into);
    if let Some(piece) = piece {
        let field = (piece.offset as u16 & 0xfff8) | u16::from(piece.more);
        into.extend([proto, 0]);
        into.extend(field.to_be_bytes());
        into.extend(ip.id.to_be_bytes());
    }
    into.extend(payload);
}

/// One side of a TCP connection, with its sequence number.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its address and port.
    pub at: SocketAddr,
    /// The next sequence number it sends.
    pub seq: u32,
}

/// A whole TCP frame from `from` to `to`, acknowledging all that `to` has sent; advances the sequence number of `from`.
#[must_use]
pub fn tcp_frame(from: &mut Peer, to: &Peer, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut ip = Ip::new(from.at.ip(), to.at.ip());
    ip.id = from.seq >> 8;
    let tcp = Tcp {
        source_port: from.at.port(),
        destination_port: to.at.port(),
        seq: from.seq,
        ack: if flags & ACK == 0 { 0 } else { to.seq },
        flags,
        window: 0xfaf0,
        ..Tcp::default()
    };
    let count = payload.len() as u32 + u32::from(flags & SYN != 0) + u32::from(flags & FIN != 0);
    from.seq = from.seq.wrapping_add(count);
    let segment = tcp_segment(&ip, &tcp, payload);
    frame(&ip, 6, &segment, None)
}
