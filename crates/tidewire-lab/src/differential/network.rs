//! Anomalies of IP and link layers.

use super::{
    generator::{Agreed, Generator},
    script::{Segment, Step, Wrap},
};
use crate::craft::{ACK, FIN, PSH};

fn bytes(make: &mut Generator, count: usize) -> Vec<u8> {
    (0..count).map(|_| make.below(256) as u8).collect()
}

/// One segment in an anomalous packet, or in fragments. It has another version of the bytes, which shows whether the host
/// accepted it.
pub fn steps(make: &mut Generator, agreed: &mut Agreed) -> Vec<Step> {
    let length = 8 + make.below(24) as u16;
    let mut segment: Segment = make.plain(agreed, ACK | PSH, length);
    segment.version = 1 + make.below(3) as u8;
    if make.once_in(8) {
        segment.flags |= FIN;
    }
    for _ in 0..1 + make.below(2) {
        let wrap = wrap(make);
        segment.wraps.push(wrap);
    }
    vec![Step::Send(segment)]
}

/// An anomalous wrapper of a segment.
pub fn wrap(make: &mut Generator) -> Wrap {
    match make.below(12) {
        0 | 1 => ipv4_options(make),
        2..=4 => extension(make),
        5..=7 => fragments(make),
        8 => Wrap::Mac(make.pick(&[
            [2, 0, 0, 0, 0, 3],
            [0xff; 6],
            [1, 0, 0x5e, 0, 0, 1],
            [0x33, 0x33, 0, 0, 0, 1],
            [0; 6],
        ])),
        9 => make.pick(&[Wrap::Snap, Wrap::Vlan(0), Wrap::Vlan(5), Wrap::Vlan(0xe000)]),
        10 => make.pick(&[Wrap::Trailer(4), Wrap::Trailer(40), Wrap::Cut(1), Wrap::Cut(9), Wrap::BadSum]),
        _ => make.pick(&[Wrap::Ttl(0), Wrap::Ttl(1), Wrap::Tos(1), Wrap::Tos(3), Wrap::Tos(0xff)]),
    }
}

fn ipv4_options(make: &mut Generator) -> Wrap {
    let pointer = make.pick(&[0, 1, 3, 4, 5, 7, 8, 9, 12, 255]);
    let mut options = match make.below(9) {
        0 => vec![7, 11, pointer, 0, 0, 0, 0, 0, 0, 0, 0],
        1 => vec![68, 12, pointer, make.below(256) as u8, 0, 0, 0, 0, 0, 0, 0, 0],
        2 => vec![134, make.pick(&[6, 8, 10, 4]), 0, 0, 0, 1, 1, 4, 0, 0],
        3 => vec![148, make.pick(&[3, 4, 5]), 0, 0],
        4 => vec![make.pick(&[131, 137]), 7, pointer, 10, 77, 0, 2],
        5 => vec![130, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        6 => vec![1, 1, 0, 9],
        7 => {
            let kind = make.below(256) as u8;
            vec![kind, make.pick(&[0, 1, 2, 4, 40]), 0, 0]
        }
        _ => bytes(make, 8),
    };
    options.truncate(40);
    options.resize(options.len().next_multiple_of(4), 0);
    Wrap::Options(options)
}

/// An extension header; its first byte is set when it is written.
fn extension(make: &mut Generator) -> Wrap {
    let number = make.pick(&[0, 0, 60, 60, 60, 43, 43, 44, 51, 135, 139, 140, 50, 59, 253]);
    let bytes = match number {
        0 | 60 => destination(make),
        43 => routing(make),
        44 => vec![0, make.below(2) as u8, 0, make.pick(&[0, 0, 6, 1]), 0, 0, 0, 7],
        51 => {
            let mut bytes = vec![0, 4];
            bytes.resize(24, 0);
            bytes
        }
        _ => {
            let mut bytes = vec![0, make.pick(&[0, 1, 2])];
            let length = 8 + usize::from(bytes[1]) * 8;
            bytes.resize(length, 0);
            bytes
        }
    };
    Wrap::Extension(number, bytes)
}

/// Options of hop-by-hop and destination headers.
fn destination(make: &mut Generator) -> Vec<u8> {
    let mut bytes = vec![0, 0];
    for _ in 0..1 + make.below(3) {
        match make.below(8) {
            0 => bytes.extend(vec![0; 1 + make.below(9) as usize]),
            1 => {
                let count = make.below(9) as usize;
                bytes.extend([1, count as u8]);
                bytes.extend(vec![make.pick(&[0, 0, 1]); count]);
            }
            2 => bytes.extend([5, 2, 0, make.below(3) as u8]),
            3 => bytes.extend([0xc2, 4, 0, 1, 0, 0]),
            4 => {
                bytes.extend([0xc9, 16]);
                bytes.extend(vec![0xfd; 16]);
            }
            5 => bytes.extend([make.pick(&[0x3e, 0x7e, 0xbe, 0xfe]), 0]),
            6 => bytes.extend([make.below(256) as u8, make.below(8) as u8]),
            _ => bytes.extend([1, 0]),
        }
    }
    let is_padded = !make.once_in(6);
    let missing = bytes.len().next_multiple_of(8) - bytes.len();
    match (missing, is_padded) {
        (0, _) => {}
        (1, true) => bytes.push(0),
        (_, true) => {
            bytes.extend([1, missing as u8 - 2]);
            bytes.resize(bytes.len() + missing - 2, 0);
        }
        (_, false) => bytes.resize(bytes.len() + missing, 0),
    }
    bytes[1] = (bytes.len() / 8 - 1) as u8;
    if make.once_in(12) {
        bytes[1] = bytes[1].wrapping_add(make.pick(&[1, 2, 255]));
    }
    bytes
}

fn routing(make: &mut Generator) -> Vec<u8> {
    let kind = make.pick(&[0, 2, 3, 4, 99, 253]);
    let left = make.pick(&[0, 0, 1, 2]);
    let words = make.pick(&[0, 2, 2]);
    let mut bytes = vec![0, words, kind, left];
    bytes.resize(8 + usize::from(words) * 8, 0);
    bytes
}

/// Fragments in some order, mostly without overlaps.
fn fragments(make: &mut Generator) -> Wrap {
    const END: u16 = 400;
    let mut ends: Vec<u16> = (0..1 + make.below(3)).map(|_| 8 * (1 + make.below(5) as u16)).collect();
    ends.push(END);
    ends.sort_unstable();
    ends.dedup();
    let mut pieces = Vec::new();
    let mut from = 0;
    for end in ends {
        let tos = if make.once_in(6) { make.pick(&[1, 2, 3, 0xff]) } else { 0 };
        let start = if make.once_in(10) { u16::max(from, 8) - 8 } else { from };
        pieces.push((start, end, tos));
        if make.once_in(12) {
            pieces.push((start, end, tos));
        }
        from = end;
    }
    if make.once_in(3) {
        let at = make.below(pieces.len() as u64) as usize;
        pieces.swap(0, at);
    }
    Wrap::Fragments(pieces)
}
