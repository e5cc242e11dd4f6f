//! A script's segments as frames, and fields of the host's frames.

use std::net::IpAddr;

use md5::{Digest as _, Md5};

use tidewire_types::ip_protocol::TCP;

use super::script::{Opt, Segment, Sum, Wrap, byte};
use crate::craft::{ETHERNET_BYTES, Ip, SYN, Tcp, fold, packet, pseudo_sum, sum, tcp_segment};

/// The key of TCP MD5 signatures (RFC 2385).
pub const KEY: &[u8] = b"tidewire";

/// The host's MAC address.
pub const HOST_MAC: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// A script's connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The client.
    pub client: (IpAddr, u16),
    /// The host.
    pub host: (IpAddr, u16),
    /// The client's initial sequence number.
    pub isn: u32,
    /// The next sequence number of the host, once it has answered.
    pub host_next: Option<u32>,
    /// The host's last timestamp value.
    pub host_stamp: u32,
    /// The last IP identification.
    pub id: u32,
}

fn options(options: &[Opt], echo: u32, is_padded: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for option in options {
        match option {
            Opt::Nop => bytes.push(1),
            Opt::End => bytes.push(0),
            Opt::Mss(mss) => {
                bytes.extend([2, 4]);
                bytes.extend(mss.to_be_bytes());
            }
            Opt::Scale(shift) => bytes.extend([3, 3, *shift]),
            Opt::SackOk => bytes.extend([4, 2]),
            Opt::Sign(_) => {
                bytes.extend([19, 18]);
                bytes.extend([0; 16]);
            }
            Opt::Stamp(value, given) => {
                bytes.extend([8, 10]);
                bytes.extend(value.to_be_bytes());
                bytes.extend(given.unwrap_or(echo).to_be_bytes());
            }
            Opt::Raw(kind, length, body) => {
                bytes.extend([*kind, *length]);
                bytes.extend(body);
            }
        }
    }
    bytes.truncate(40);
    if is_padded {
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    bytes
}

impl Connection {
    fn transport(&self, ip: &Ip, segment: &Segment) -> Vec<u8> {
        let tcp = Tcp {
            source_port: self.client.1,
            destination_port: self.host.1,
            seq: self.isn.wrapping_add(1).wrapping_add(segment.at as u32),
            ack: match segment.flags & crate::craft::ACK {
                0 => 0,
                _ => self.host_next.unwrap_or(0).wrapping_add(segment.ack as u32),
            },
            flags: segment.flags,
            window: segment.window,
            urgent: segment.urgent,
            options: options(&segment.options, self.host_stamp, true),
            bad_checksum: false,
        };
        // A SYN's payload begins behind it.
        let first = segment.at + i64::from(segment.flags & SYN != 0);
        let payload: Vec<u8> = (0..i64::from(segment.length)).map(|at| byte(segment.version, first + at)).collect();
        let mut bytes = tcp_segment(ip, &tcp, &payload);
        if let Some(at) = segment.options.iter().position(|option| matches!(option, Opt::Sign(_))) {
            let before = options(&segment.options[..at], 0, false).len();
            sign(ip, &mut bytes, 20 + before, segment.options[at] == Opt::Sign(true));
        }
        if let Some(words) = segment.words {
            bytes[12] = words << 4;
            checksum(ip, &mut bytes);
        }
        match segment.sum {
            Sum::Right => {}
            Sum::Wrong => bytes[16] ^= 0x55,
            Sum::Zero => bytes[16..18].fill(0),
        }
        bytes
    }

    /// The frames that a segment arrives in.
    pub fn frames(&mut self, segment: &Segment) -> Vec<Vec<u8>> {
        let mut ip = Ip::new(self.client.0, self.host.0);
        self.id = self.id % 0xffff + 1;
        ip.id = self.id;
        let transport = self.transport(&ip, segment);
        for wrap in &segment.wraps {
            match wrap {
                Wrap::Ttl(ttl) => ip.ttl = *ttl,
                Wrap::Options(bytes) => ip.options.clone_from(bytes),
                Wrap::BadSum => ip.bad_checksum = true,
                _ => {}
            }
        }
        let tos = segment.wraps.iter().find_map(|wrap| if let Wrap::Tos(tos) = wrap { Some(*tos) } else { None });
        let pieces = segment.wraps.iter().find_map(|wrap| match wrap {
            Wrap::Fragments(pieces) => Some(pieces.as_slice()),
            _ => None,
        });
        let (proto, payload) = extended(&ip, segment, transport);
        match pieces {
            None => vec![framed(&ip, proto, &payload, None, tos.unwrap_or(0), segment)],
            Some(pieces) => {
                let end = payload.len();
                let each = pieces.iter().map(|&(from, to, tos)| {
                    let (from, to) = ((usize::from(from) & !7).min(end), usize::from(to).min(end));
                    let part = &payload[from..to.max(from)];
                    framed(&ip, proto, part, Some((from as u32, to < end)), tos, segment)
                });
                each.collect()
            }
        }
    }
}

/// The payload of the IP header with the script's extension headers before it (IPv6 only), and its number.
fn extended(ip: &Ip, segment: &Segment, transport: Vec<u8>) -> (u8, Vec<u8>) {
    let (mut next, mut payload) = (TCP, transport);
    if ip.source.is_ipv4() {
        return (next, payload);
    }
    for wrap in segment.wraps.iter().rev() {
        if let Wrap::Extension(number, bytes) = wrap {
            let mut header = bytes.clone();
            if let Some(first) = header.first_mut() {
                *first = next;
            }
            header.extend(&payload);
            (next, payload) = (*number, header);
        }
    }
    (next, payload)
}

fn framed(ip: &Ip, proto: u8, payload: &[u8], piece: Option<(u32, bool)>, tos: u8, segment: &Segment) -> Vec<u8> {
    let mut mac = HOST_MAC;
    let mut link = Vec::new();
    let ethertype: u16 = if ip.source.is_ipv4() { 0x0800 } else { 0x86dd };
    let (mut is_snap, mut trailer, mut cut) = (false, 0, 0);
    for wrap in &segment.wraps {
        match wrap {
            Wrap::Mac(other) => mac = *other,
            Wrap::Vlan(tag) => {
                link.extend([0x81, 0x00]);
                link.extend(tag.to_be_bytes());
            }
            Wrap::Snap => is_snap = true,
            Wrap::Trailer(bytes) => trailer = usize::from(*bytes),
            Wrap::Cut(bytes) => cut = usize::from(*bytes),
            _ => {}
        }
    }
    let mut inside = Vec::new();
    let piece = piece.map(|(offset, more)| crate::craft::Piece { offset, more });
    packet(ip, proto, payload, piece, &mut inside);
    set_class(&mut inside, tos, ip.bad_checksum);
    let mut frame = Vec::with_capacity(ETHERNET_BYTES + inside.len() + 16);
    frame.extend(mac);
    frame.extend([2, 0, 0, 0, 0, 1]);
    frame.extend(link);
    if is_snap {
        frame.extend(((inside.len() + 8) as u16).to_be_bytes());
        frame.extend([0xaa, 0xaa, 3, 0, 0, 0]);
    }
    frame.extend(ethertype.to_be_bytes());
    frame.extend(inside);
    frame.resize(frame.len() + trailer, 0xee);
    frame.truncate(frame.len().saturating_sub(cut).max(ETHERNET_BYTES));
    frame
}

/// Writes type of service or traffic class into an IP packet.
fn set_class(packet: &mut [u8], class: u8, bad_checksum: bool) {
    if class == 0 {
        return;
    }
    if packet[0] >> 4 == 6 {
        packet[0] |= class >> 4;
        packet[1] |= class << 4;
        return;
    }
    packet[1] = class;
    let header = usize::from(packet[0] & 15) * 4;
    packet[10..12].fill(0);
    let right = fold(sum(&packet[..header], 0)) ^ if bad_checksum { 0x5555 } else { 0 };
    packet[10..12].copy_from_slice(&right.to_be_bytes());
}

/// Writes the signature into the option that begins at `at`, if it has room, and the checksum (RFC 2385).
fn sign(ip: &Ip, bytes: &mut [u8], at: usize, is_right: bool) {
    let header = usize::from(bytes[12] >> 4) * 4;
    if at + 18 > header {
        return;
    }
    let length = bytes.len() as u16;
    let pseudo: Vec<u8> = match (ip.source, ip.destination) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            [&from.octets()[..], &to.octets(), &[0, TCP], &length.to_be_bytes()].concat()
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            [&from.octets()[..], &to.octets(), &u32::from(length).to_be_bytes(), &[0, 0, 0, TCP]].concat()
        }
        _ => return,
    };
    let mut fixed = bytes[..20].to_vec();
    fixed[16..18].fill(0);
    let mut digest: [u8; 16] = Md5::digest([&pseudo[..], &fixed, &bytes[header..], KEY].concat()).into();
    digest[0] ^= u8::from(!is_right);
    bytes[at + 2..at + 18].copy_from_slice(&digest);
    checksum(ip, bytes);
}

/// Writes the correct checksum into a segment.
fn checksum(ip: &Ip, bytes: &mut [u8]) {
    bytes[16..18].fill(0);
    let right = fold(sum(bytes, pseudo_sum(ip, TCP, bytes.len())));
    bytes[16..18].copy_from_slice(&right.to_be_bytes());
}

/// Fields of a frame of the host.
#[derive(Clone, Copy, Debug)]
pub struct Heard {
    /// Its destination.
    pub client: (IpAddr, u16),
    /// The next sequence number after it.
    pub next: u32,
    /// Its timestamp's value.
    pub stamp: Option<u32>,
    /// Flags.
    pub flags: u8,
}

/// Reads a TCP frame of the host and writes the correct checksum into it: the host offloads that to the interface, which
/// does not compute it here. `None`: the frame is not TCP.
pub fn hear(frame: &mut [u8]) -> Option<Heard> {
    let kind = u16::from_be_bytes([*frame.get(12)?, *frame.get(13)?]);
    let (ip, at, end) = match kind {
        0x0800 if *frame.get(23)? == TCP => {
            let address =
                |at: usize| -> Option<IpAddr> { Some(<[u8; 4]>::try_from(frame.get(at..at + 4)?).ok()?.into()) };
            let total = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
            let header = usize::from(frame[ETHERNET_BYTES] & 15) * 4;
            (Ip::new(address(26)?, address(30)?), ETHERNET_BYTES + header, ETHERNET_BYTES + total)
        }
        0x86dd if *frame.get(20)? == TCP => {
            let address =
                |at: usize| -> Option<IpAddr> { Some(<[u8; 16]>::try_from(frame.get(at..at + 16)?).ok()?.into()) };
            let payload = usize::from(u16::from_be_bytes([frame[18], frame[19]]));
            (Ip::new(address(22)?, address(38)?), ETHERNET_BYTES + 40, ETHERNET_BYTES + 40 + payload)
        }
        _ => return None,
    };
    let segment = frame.get_mut(at..end).filter(|segment| segment.len() >= 20)?;
    checksum(&ip, segment);
    let word = |at: usize| u32::from_be_bytes([segment[at], segment[at + 1], segment[at + 2], segment[at + 3]]);
    let header = usize::from(segment[12] >> 4) * 4;
    let flags = segment[13];
    let payload = segment.len().saturating_sub(header) as u32;
    let numbers = payload + u32::from(flags & SYN != 0) + u32::from(flags & crate::craft::FIN != 0);
    Some(Heard {
        client: (ip.destination, word(0) as u16),
        next: word(4).wrapping_add(numbers),
        stamp: stamp(segment.get(20..header).unwrap_or_default()),
        flags,
    })
}

fn stamp(mut options: &[u8]) -> Option<u32> {
    loop {
        match *options {
            [8, 10, a, b, c, d, ..] => return Some(u32::from_be_bytes([a, b, c, d])),
            [1, ref rest @ ..] => options = rest,
            [0, ..] | [] | [_] => return None,
            [_, length, ..] => options = options.get(usize::from(length.max(2))..)?,
        }
    }
}

/// A frame with an IPv4 or IPv6 header of usual form in a line.
#[must_use]
pub fn describe(frame: &[u8]) -> String {
    let at = if frame.get(12) == Some(&8) { 34 } else { 54 };
    let Some(header) = frame.get(at..at + 20) else { return format!("{} bytes", frame.len()) };
    let word = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let flags: String =
        super::script::FLAGS.iter().filter(|flag| header[13] & flag.0 != 0).map(|flag| flag.1).collect();
    let from = if frame[11] == 1 { '>' } else { '<' };
    let start = at + usize::from(header[12] >> 4) * 4;
    let payload = frame.get(start..).unwrap_or_default();
    let window = word(12) & 0xffff;
    format!(
        "{from} {flags} seq {} ack {} win {window} {:02x?} {} bytes '{}'",
        word(4),
        word(8),
        frame.get(at + 20..start).unwrap_or_default(),
        payload.len(),
        String::from_utf8_lossy(&payload[..payload.len().min(24)])
    )
}
