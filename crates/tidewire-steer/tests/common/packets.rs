//! Frames of every shape that the walk knows, from few addresses and ports, so that filters meet them; some damaged.

use super::Random;

pub const ADDRESSES4: [[u8; 4]; 6] =
    [[10, 0, 0, 1], [10, 0, 0, 2], [10, 1, 2, 3], [192, 168, 1, 9], [255, 255, 255, 255], [8, 8, 8, 8]];
pub const PORTS: [u16; 8] = [53, 80, 443, 4789, 2152, 6081, 50_000, 1024];
pub const MACS: [[u8; 6]; 4] =
    [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2], [0x4c, 0x60, 0xde, 0x86, 0x55, 0x46], [0xff; 6]];

pub fn address6(random: &mut Random) -> [u8; 16] {
    let mut address = [0; 16];
    address[..4].copy_from_slice(&random.pick(&[[0x20, 1, 0xd, 0xb8], [0xfe, 0x80, 0, 0]]));
    address[15] = random.below(4) as u8;
    address
}

/// A frame, and what is known of it beside its bytes.
#[derive(Clone, Debug, Default)]
pub struct Made {
    pub frame: Vec<u8>,
    pub rss_hash: Option<u32>,
    pub rx_queue: Option<u32>,
}

/// A random Ethernet frame whose lengths are right.
pub fn sound(random: &mut Random) -> Vec<u8> {
    let mut frame = ethernet(random, 0);
    if random.once_in(8) {
        frame.extend(std::iter::repeat_n(0x55, random.below(80) as usize));
    }
    frame
}

/// A random Ethernet frame of 14 bytes at least.
pub fn frame(random: &mut Random) -> Vec<u8> {
    let mut frame = ethernet(random, 0);
    match random.below(12) {
        // Cut anywhere.
        0 => frame.truncate(14 + random.below(frame.len() as u64) as usize),
        1 => {
            for _ in 0..=random.below(4) {
                let at = random.below(frame.len() as u64) as usize;
                frame[at] = random.next() as u8;
            }
        }
        2 => frame.extend(std::iter::repeat_n(0x55, random.below(80) as usize)),
        _ => {}
    }
    frame.resize(frame.len().max(14), 0);
    frame
}

fn ethernet(random: &mut Random, depth: u32) -> Vec<u8> {
    let mut frame = Vec::new();
    frame.extend(random.pick(&MACS));
    frame.extend(random.pick(&MACS));
    for _ in 0..random.pick(&[0, 0, 0, 0, 1, 1, 2, 3, 5]) {
        frame.extend(random.pick(&[[0x81, 0], [0x88, 0xa8], [0x91, 0]]));
        frame.extend((random.pick(&[0_u16, 1, 2, 3, 42, 4095]) | (random.below(16) << 12) as u16).to_be_bytes());
    }
    let (ether_type, payload) = network(random, depth);
    match random.below(24) {
        0 => {
            frame.extend([0x88, 0x64, 0x11, 0, 0, 1]);
            frame.extend((payload.len() as u16 + 2).to_be_bytes());
            frame.push(0);
            frame.push(if ether_type == 0x0800 { 0x21 } else { 0x57 });
        }
        1 => {
            frame.extend([0x88, 0x47]);
            for _ in 0..random.below(6) {
                frame.extend([0, 1, 0x10, 64]);
            }
            frame.extend([0, 2, 0x11, 64]);
        }
        2 => {
            frame.extend(random.pick(&[[0x08, 0x06], [0x88, 0xcc], [0x00, 0x30]]));
        }
        _ => frame.extend(ether_type.to_be_bytes()),
    }
    frame.extend(payload);
    frame
}

/// EtherType and packet.
fn network(random: &mut Random, depth: u32) -> (u16, Vec<u8>) {
    if random.once_in(3) { (0x86dd, ipv6(random, depth)) } else { (0x0800, ipv4(random, depth)) }
}

fn place(random: &mut Random) -> u16 {
    match random.below(10) {
        0 => 0x2000,
        1 => 0x2010,
        2 => 0x0020,
        3 => 0x4000,
        _ => 0,
    }
}

fn ipv4(random: &mut Random, depth: u32) -> Vec<u8> {
    let (proto, payload) = upper(random, 4, depth);
    let options = if random.once_in(6) { random.below(4) as usize * 4 } else { 0 };
    let mut packet = vec![0x45 + (options / 4) as u8, random.pick(&[0, 3, 0xb8])];
    packet.extend((20 + options as u16).wrapping_add(payload.len() as u16).to_be_bytes());
    packet.extend((random.below(4) as u16).to_be_bytes());
    packet.extend(place(random).to_be_bytes());
    packet.extend([random.pick(&[1, 64, 128]), proto, 0, 0]);
    packet.extend(random.pick(&ADDRESSES4));
    packet.extend(random.pick(&ADDRESSES4));
    packet.extend(std::iter::repeat_n(1, options));
    packet.extend(payload);
    packet
}

fn ipv6(random: &mut Random, depth: u32) -> Vec<u8> {
    let (proto, mut payload) = upper(random, 6, depth);
    let mut next = proto;
    if random.once_in(3) {
        for _ in 0..random.pick(&[1, 1, 2, 3, 7, 8, 9, 12]) {
            let kind = random.pick(&[0_u8, 43, 60, 60, 44, 51, 135]);
            let mut header = match kind {
                44 => {
                    let place = random.pick(&[0_u16, 1, 8, 9, 0x100]).to_be_bytes();
                    vec![next, 0, place[0], place[1], 0, 0, 0, random.below(4) as u8]
                }
                51 => vec![next, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1],
                _ => {
                    let units = random.below(2) as u8;
                    let mut header = vec![0; 8 + usize::from(units) * 8];
                    (header[0], header[1]) = (next, units);
                    header
                }
            };
            header.extend(payload);
            payload = header;
            next = kind;
        }
    }
    let mut packet = vec![0x60 | random.below(2) as u8, random.next() as u8, 0, 0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([next, random.pick(&[1, 64, 255])]);
    packet.extend(address6(random));
    packet.extend(address6(random));
    packet.extend(payload);
    packet
}

/// Protocol and what it carries.
fn upper(random: &mut Random, version: u8, depth: u32) -> (u8, Vec<u8>) {
    let kind = if depth < 4 { random.below(14) } else { random.below(7) };
    match kind {
        0..=2 => {
            let mut segment = ports(random);
            segment.extend([0, 0, 0, 1, 0, 0, 0, 2, 0x50 + random.pick(&[0, 0x30]), 0x18, 1, 0, 0, 0, 0, 0]);
            segment.extend([7; 12]);
            (6, segment)
        }
        3 | 4 => (17, udp(random, None, &[9; 20])),
        5 => (
            if version == 4 { 1 } else { 58 },
            vec![random.pick(&[8, 0, 128]), random.below(3) as u8, 0, 0, 0, 1, 0, 1],
        ),
        6 => (random.pick(&[2, 50, 89, 132, 136, 59, 4, 47]), vec![0, 80, 0, 53, 0, 8, 0, 0, 1, 2, 3, 4]),
        7 => (4, ipv4(random, depth + 1)),
        8 => (41, ipv6(random, depth + 1)),
        9 | 10 => (47, gre(random, depth)),
        11 => {
            let inner = ethernet(random, depth + 1);
            let header = [random.pick(&[8, 8, 8, 0]), 0, 0, 0, 0, 0, 7, 0];
            (17, udp(random, Some(4789), &[&header, &inner[..]].concat()))
        }
        12 => {
            let (kind, inner) =
                if random.once_in(2) { (0x6558, ethernet(random, depth + 1)) } else { network(random, depth + 1) };
            let words = random.below(3) as u8;
            let mut header = vec![words, 0];
            header.extend(u16::to_be_bytes(kind));
            header.extend([0, 0, 9, 0]);
            header.extend(vec![0; usize::from(words) * 4]);
            header.extend(inner);
            (17, udp(random, Some(6081), &header))
        }
        _ => (17, gtpu(random, depth)),
    }
}

fn ports(random: &mut Random) -> Vec<u8> {
    [random.pick(&PORTS).to_be_bytes(), random.pick(&PORTS).to_be_bytes()].concat()
}

fn udp(random: &mut Random, to: Option<u16>, payload: &[u8]) -> Vec<u8> {
    let mut datagram = ports(random);
    if let Some(to) = to {
        datagram[2..4].copy_from_slice(&to.to_be_bytes());
    }
    datagram.extend((8 + payload.len() as u16).to_be_bytes());
    datagram.extend([0, 0]);
    datagram.extend(payload);
    datagram
}

fn gre(random: &mut Random, depth: u32) -> Vec<u8> {
    let flags = random.pick(&[0_u16, 0x8000, 0x2000, 0x1000, 0xb000, 0x3000, 0x0001]);
    let (kind, inner) = match random.below(4) {
        0 => (0x6558, ethernet(random, depth + 1)),
        1 => {
            let mut header = if flags & 0x1000 != 0 { vec![0x10, 0, 0, 1, 0, 0, 0, 0] } else { vec![] };
            header.extend(ethernet(random, depth + 1));
            (0x88be, header)
        }
        2 => {
            let sub = random.below(2) as u8;
            let mut header = vec![0x20, 0, 0, 1, 0, 0, 0, 0, 0, 0, random.pick(&[0, 8, 4]), sub];
            header.extend(vec![0; usize::from(sub) * 8]);
            header.extend(if header[10] == 8 { ipv4(random, depth + 1) } else { ethernet(random, depth + 1) });
            (0x22eb, header)
        }
        _ => network(random, depth + 1),
    };
    let optional = [0x8000, 0x2000, 0x1000].iter().filter(|flag| flags & **flag != 0).count();
    let mut packet = flags.to_be_bytes().to_vec();
    packet.extend(u16::to_be_bytes(kind));
    packet.extend(vec![0; optional * 4]);
    packet.extend(inner);
    packet
}

fn gtpu(random: &mut Random, depth: u32) -> Vec<u8> {
    let flags = random.pick(&[0x30, 0x30, 0x32, 0x34, 0x36, 0x50]);
    let inner = network(random, depth + 1).1;
    let mut optional = Vec::new();
    if flags & 7 != 0 {
        let extensions = if flags & 4 != 0 { random.below(4) } else { 0 };
        optional.extend([0, 0, 0, u8::from(extensions > 0) * 0x85]);
        for left in (0..extensions).rev() {
            optional.extend([1, 0, 0, u8::from(left > 0) * 0x85]);
        }
    }
    let mut header = vec![flags, random.pick(&[255, 255, 255, 1])];
    header.extend(((optional.len() + inner.len()) as u16).to_be_bytes());
    header.extend([0, 0, 0, 9]);
    header.extend(optional);
    header.extend(inner);
    udp(random, Some(2152), &header)
}
