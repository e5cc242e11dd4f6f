//! The defragmenter against a naive model, published vectors and its bounds.

mod bounds;
mod model;
mod vectors;

use super::*;
use crate::{
    Timestamp,
    wire::{Kind, LinkType},
};

/// A fragment as tests write it.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub offset: u32,
    pub more: bool,
    pub data: Vec<u8>,
}

/// A raw IP packet that is a fragment, and its decoded form.
pub(super) fn packet(is_ipv6: bool, source: u32, id: u32, proto: u8, piece: &Piece) -> (Vec<u8>, Decoded) {
    let length = piece.data.len() as u16;
    let mut bytes;
    let mut decoded = Decoded::EMPTY;
    (decoded.kind, decoded.ttl, decoded.proto) = (Kind::Fragment, 64, proto);
    if is_ipv6 {
        bytes = vec![0x60, 0, 0, 0, 0, 0, 44, 64];
        bytes[4..6].copy_from_slice(&(length + 8).to_be_bytes());
        bytes.extend(std::net::Ipv6Addr::from_bits(0xfd00 << 112 | u128::from(source)).octets());
        bytes.extend(std::net::Ipv6Addr::from_bits(0xfd00 << 112 | 2).octets());
        bytes.extend([proto, 0]);
        bytes.extend((piece.offset as u16 | u16::from(piece.more)).to_be_bytes());
        bytes.extend(id.to_be_bytes());
        (decoded.ip_version, decoded.fragment.next_header_at) = (6, 6);
    } else {
        bytes = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, proto, 0, 0];
        bytes[2..4].copy_from_slice(&(length + 20).to_be_bytes());
        bytes[4..6].copy_from_slice(&(id as u16).to_be_bytes());
        bytes[6..8].copy_from_slice(&((piece.offset / 8) as u16 | u16::from(piece.more) << 13).to_be_bytes());
        bytes.extend(source.to_be_bytes());
        bytes.extend([10, 0, 0, 2]);
        decoded.ip_version = 4;
    }
    let fragment = &mut decoded.fragment;
    (fragment.id, fragment.proto, fragment.more) = (id, proto, piece.more);
    (fragment.offset_bytes, fragment.data_bytes) = (piece.offset, length.into());
    (fragment.data_at, fragment.unfragmentable_bytes) = (bytes.len() as u32, if is_ipv6 { 40 } else { 20 });
    bytes.extend(&piece.data);
    decoded.ip_bytes = bytes.len() as u32;
    (bytes, decoded)
}

pub(super) fn frame(bytes: &[u8], number: u64, clock_ns: u64) -> Frame {
    Frame::new(LinkType::RAW, Timestamp::from_nanos(clock_ns)).with_number(number).with_place(0, bytes.len() as u32)
}

/// The outcome of a fragment, without borrows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Result {
    Held,
    Rebuilt { payload: Vec<u8>, fragments: u32 },
    Rejected(Rejection),
}

/// A defragmenter that counts and checks its results.
pub(super) struct Bench {
    pub defragmenter: Defragmenter,
    pub config: Config,
    pub clock_ns: u64,
    pub number: u64,
    pub ended: Vec<Ended<'static>>,
    pub settled: u64,
}

impl Bench {
    pub fn new(config: Config) -> Self {
        let defragmenter = Defragmenter::new(&config);
        Self { defragmenter, config, clock_ns: 1_000, number: 0, ended: Vec::new(), settled: 0 }
    }

    pub fn insert(&mut self, policy: DefragPolicy, bytes: &[u8], decoded: &Decoded) -> Result {
        self.number += 1;
        let (frame, ended) = (frame(bytes, self.number, self.clock_ns), &mut self.ended);
        let before = ended.len();
        let result = match self.defragmenter.insert(policy, &frame, bytes, decoded, &mut |end| ended.push(owned(end))) {
            Outcome::Held => Result::Held,
            Outcome::Rejected(rejection) => Result::Rejected(rejection),
            Outcome::Rebuilt(rebuilt) => {
                check_packet(&rebuilt);
                assert_eq!(rebuilt.numbers.len() as u32, rebuilt.fragments);
                assert_eq!(rebuilt.numbers.last(), Some(&self.number));
                Result::Rebuilt { payload: rebuilt.payload().to_vec(), fragments: rebuilt.fragments }
            }
        };
        self.settled += ended[before..].iter().map(|end| u64::from(end.unsettled)).sum::<u64>();
        self.settled += match &result {
            Result::Held => 0,
            Result::Rejected(_) => 1,
            Result::Rebuilt { fragments, .. } => u64::from(*fragments),
        };
        assert!(self.defragmenter.charged_bytes() <= self.config.fragment_memory_bytes);
        assert!(self.defragmenter.datagrams() <= self.config.datagrams_max);
        result
    }

    pub fn piece(&mut self, policy: DefragPolicy, is_ipv6: bool, id: u32, piece: &Piece) -> Result {
        let (bytes, decoded) = packet(is_ipv6, 0x0a00_0001, id, 253, piece);
        self.insert(policy, &bytes, &decoded)
    }

    /// Ends the input; every fragment must have a fate then.
    pub fn finish(mut self) -> Vec<Ended<'static>> {
        let (ended, settled) = (&mut self.ended, &mut self.settled);
        self.defragmenter.finish(&mut |end| {
            *settled += u64::from(end.unsettled);
            ended.push(owned(end));
        });
        assert_eq!(self.settled, self.number);
        assert_eq!((self.defragmenter.datagrams(), self.defragmenter.charged_bytes()), (0, 0));
        self.ended
    }
}

/// Without its numbers, of which each fragment that counts has one.
fn owned(end: &Ended<'_>) -> Ended<'static> {
    assert_eq!((end.numbers.len() as u32, end.numbers.last()), (end.fragments, Some(&end.packet)));
    Ended { numbers: &[], ..*end }
}

/// Checks that the rebuilt packet is one whole IP packet.
fn check_packet(rebuilt: &Rebuilt<'_>) {
    let packet = rebuilt.packet;
    if packet[0] >> 4 == 4 {
        assert_eq!(usize::from(u16::from_be_bytes([packet[2], packet[3]])), packet.len());
        assert_eq!(packet[6..8], [0, 0]);
        let sum: u32 = packet[..20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    } else {
        assert_eq!(usize::from(u16::from_be_bytes([packet[4], packet[5]])), packet.len() - 40);
        assert_eq!((packet[6], rebuilt.ttl), (rebuilt.proto, 64));
    }
}
