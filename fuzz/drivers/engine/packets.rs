//! Packets as the engine's fuzz input describes them, built so that they reach deep.

pub use tidewire_core::wire::tcp_flag::{ACK, FIN, PSH, RST, SYN, URG};

/// Who sends to whom.
#[derive(Clone, Copy)]
pub struct Path {
    pub is_ipv6: bool,
    /// Last byte of the addresses.
    pub source: u8,
    pub destination: u8,
    pub source_port: u16,
    pub destination_port: u16,
    pub ttl: u8,
}

impl Path {
    fn address(self, host: u8) -> Vec<u8> {
        if self.is_ipv6 { [&[0xfd; 15][..], &[host]].concat() } else { vec![10, 0, 0, host] }
    }

    /// An IP packet, or with `fragment` (identification, offset in bytes, more to come) a fragment of one.
    pub fn ip(self, proto: u8, fragment: Option<(u16, u16, bool)>, payload: &[u8]) -> Vec<u8> {
        let ends = [self.address(self.source), self.address(self.destination)].concat();
        if self.is_ipv6 {
            let mut extension = Vec::new();
            if let Some((id, offset, more)) = fragment {
                extension.extend([proto, 0]);
                extension.extend((offset & !7 | u16::from(more)).to_be_bytes());
                extension.extend(u32::from(id).to_be_bytes());
            }
            let length = (extension.len() + payload.len()) as u16;
            let next = if fragment.is_some() { 44 } else { proto };
            let mut bytes = vec![0x60, 0, 0, 0, (length >> 8) as u8, length as u8, next, self.ttl];
            bytes.extend(ends);
            return [bytes, extension, payload.to_vec()].concat();
        }
        let total = (20 + payload.len()) as u16;
        let (id, place) = match fragment {
            Some((id, offset, more)) => (id, (offset / 8) | (u16::from(more) << 13)),
            None => (0, 0x4000),
        };
        let mut bytes = vec![0x45, 0, (total >> 8) as u8, total as u8];
        bytes.extend(id.to_be_bytes());
        bytes.extend(place.to_be_bytes());
        bytes.extend([self.ttl, proto, 0, 0]);
        bytes.extend(ends);
        let sum = !sum(&[&bytes]);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        bytes.extend(payload);
        bytes
    }

    /// Puts the checksum of a transport packet in its place.
    fn seal(self, proto: u8, at: usize, bytes: &mut [u8]) {
        let ends = [self.address(self.source), self.address(self.destination)].concat();
        let length = (bytes.len() as u16).to_be_bytes();
        let sum = !sum(&[&ends, &[0, proto], &length, bytes]);
        bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }

    pub fn udp(self, payload: &[u8], is_sealed: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [self.source_port, self.destination_port, (8 + payload.len()) as u16, 0] {
            bytes.extend(word.to_be_bytes());
        }
        bytes.extend(payload);
        if is_sealed {
            self.seal(17, 6, &mut bytes);
        }
        bytes
    }
}

/// The internet checksum, not inverted. Every part but the last has an even length.
fn sum(parts: &[&[u8]]) -> u16 {
    let pairs = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u32 = pairs.map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// A TCP segment.
pub struct Segment {
    pub path: Path,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub timestamp: Option<u32>,
    pub scale: Option<u8>,
    pub urgent: u16,
    pub payload: Vec<u8>,
    pub is_sealed: bool,
}

impl Segment {
    pub fn bytes(&self) -> Vec<u8> {
        let mut options = Vec::new();
        if let Some(value) = self.timestamp {
            options.extend([1, 1, 8, 10]);
            options.extend(value.to_be_bytes());
            options.extend([0; 4]);
        }
        if let Some(scale) = self.scale {
            options.extend([1, 3, 3, scale]);
        }
        let mut bytes = Vec::new();
        bytes.extend(self.path.source_port.to_be_bytes());
        bytes.extend(self.path.destination_port.to_be_bytes());
        bytes.extend(self.seq.to_be_bytes());
        bytes.extend(self.ack.to_be_bytes());
        bytes.extend([((20 + options.len()) / 4 * 16) as u8, self.flags]);
        bytes.extend(self.window.to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(self.urgent.to_be_bytes());
        bytes.extend(&options);
        bytes.extend(&self.payload);
        if self.is_sealed {
            self.path.seal(6, 16, &mut bytes);
        }
        bytes
    }
}

/// A byte of a stream by its sequence number: a repetition has the same bytes.
pub fn stream_byte(seq: u32) -> u8 {
    (seq.wrapping_mul(2_654_435_761) >> 13) as u8
}

/// An IP packet behind a link layer: raw, Ethernet, Linux cooked, Ethernet with a VLAN tag. The link type's number with it.
pub fn framed(link: u8, packet: &[u8]) -> (u16, Vec<u8>) {
    let kind: [u8; 2] = if packet.first().is_some_and(|first| first >> 4 == 6) { [0x86, 0xdd] } else { [8, 0] };
    match link % 4 {
        0 => (101, packet.to_vec()),
        1 => (1, [&[2; 12][..], &kind, packet].concat()),
        2 => (113, [&[0, 0, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 0, 0][..], &kind, packet].concat()),
        _ => (1, [&[2; 12][..], &[0x81, 0, 0, 7], &kind, packet].concat()),
    }
}
