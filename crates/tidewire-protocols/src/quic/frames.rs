//! Frames of Initial packets (RFC 9000 sections 12.4 and 19), and the bytes that CRYPTO frames carry in any order.

use std::collections::BTreeMap;

use crate::{reader::Reader, work};

/// Most bytes of the handshake that are kept.
const CRYPTO_BYTES_MAX: usize = 16 << 10;

/// Most pieces that wait for others.
const PIECES_MAX: usize = 256;

/// Steps of finding a range among so many.
const LOOK_UP_STEPS: usize = PIECES_MAX.ilog2() as usize;

const PADDING: u8 = 0x00;
const PING: u8 = 0x01;
const ACK: u8 = 0x02;
const ACK_ECN: u8 = 0x03;
const CRYPTO: u8 = 0x06;
const CONNECTION_CLOSE: u8 = 0x1c;

/// Findings in the frames of a packet beside their bytes of the handshake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Frames {
    /// The sender closes the connection.
    pub(super) is_closed: bool,
    /// All of them were read.
    pub(super) is_whole: bool,
}

/// A number of one to eight bytes (RFC 9000 section 16).
pub(super) fn number(reader: &mut Reader<'_>) -> Option<u64> {
    let first = reader.u8()?;
    let rest = reader.take((1 << (first >> 6)) - 1)?;
    Some(rest.iter().fold(u64::from(first & 0x3f), |number, &byte| number << 8 | u64::from(byte)))
}

/// The bytes of the handshake so far.
#[derive(Debug, Default)]
pub(super) struct Crypto {
    bytes: Vec<u8>,
    /// The ranges of them that are there: ends by beginnings of ranges, none of which touches another. A datagram may bring hundreds, in any order.
    ranges: BTreeMap<usize, usize>,
}

impl Crypto {
    pub(super) fn memory_bytes(&self) -> usize {
        // Nodes of the map are half full or more.
        self.bytes.capacity() + self.ranges.len() * 2 * size_of::<(usize, usize)>()
    }

    /// Takes the frames of a packet, up to one that does not belong there.
    pub(super) fn take(&mut self, payload: &[u8]) -> Frames {
        let mut frames = Frames::default();
        let mut reader = Reader::new(payload);
        while let Some(kind) = reader.u8() {
            work::add(1);
            let taken = match kind {
                PADDING | PING => Some(()),
                ACK | ACK_ECN => acknowledgment(&mut reader, kind == ACK_ECN),
                CRYPTO => self.piece(&mut reader),
                CONNECTION_CLOSE => {
                    let close = closing(&mut reader);
                    frames.is_closed |= close.is_some();
                    close
                }
                _ => None,
            };
            if taken.is_none() {
                return frames;
            }
        }
        frames.is_whole = true;
        frames
    }

    /// The body of the first message, if it has this type and is complete.
    pub(super) fn message(&self, kind: u8) -> Option<&[u8]> {
        let (&0, &end) = self.ranges.first_key_value()? else { return None };
        let mut reader = Reader::new(&self.bytes[..end]);
        if reader.u8()? != kind {
            return None;
        }
        Some(reader.block24()?.rest())
    }

    fn piece(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let offset = usize::try_from(number(reader)?).ok()?;
        let length = usize::try_from(number(reader)?).ok()?;
        let data = reader.take(length)?;
        let end = offset.checked_add(length).filter(|&end| end <= CRYPTO_BYTES_MAX)?;
        if data.is_empty() {
            return Some(());
        }
        work::pass(data.len() + end.saturating_sub(self.bytes.len()));
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[offset..end].copy_from_slice(data);
        self.add(offset, end)
    }

    /// Adds a range, joined with those that it touches.
    fn add(&mut self, mut begin: usize, mut end: usize) -> Option<()> {
        loop {
            work::add(LOOK_UP_STEPS);
            match self.ranges.range(..=end).next_back() {
                Some((&low, &high)) if high >= begin => {
                    (begin, end) = (begin.min(low), end.max(high));
                    self.ranges.remove(&low);
                }
                _ => break,
            }
        }
        self.ranges.insert(begin, end);
        (self.ranges.len() <= PIECES_MAX).then_some(())
    }
}

/// Skips error code, frame type and reason of a CONNECTION_CLOSE (RFC 9000 section 19.19).
fn closing(reader: &mut Reader<'_>) -> Option<()> {
    number(reader)?;
    number(reader)?;
    let reason_bytes = number(reader)?;
    reader.take(usize::try_from(reason_bytes).ok()?).map(drop)
}

/// Skips an acknowledgment.
fn acknowledgment(reader: &mut Reader<'_>, has_ecn: bool) -> Option<()> {
    number(reader)?;
    number(reader)?;
    let ranges = number(reader)?;
    number(reader)?;
    // Each takes two bytes at least, so that the packet bounds them.
    for _ in 0..ranges {
        work::add(1);
        number(reader)?;
        number(reader)?;
    }
    for _ in 0..if has_ecn { 3 } else { 0 } {
        number(reader)?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_in_any_order() {
        let message = b"\x01\x00\x00\x05hello";
        let frame = |at: usize, length: usize| [&[CRYPTO, at as u8, length as u8], &message[at..at + length]].concat();
        let pieces = [(5, 4), (0, 2), (1, 3), (4, 2)];
        let mut crypto = Crypto::default();
        for (at, length) in pieces {
            assert_eq!(crypto.message(1), None);
            crypto.take(&[&[PADDING, PING, ACK, 0, 0, 0, 0], &frame(at, length)[..]].concat());
        }
        assert_eq!(crypto.message(1), Some(&b"hello"[..]));
        assert_eq!(crypto.message(2), None);
        assert_eq!(crypto.ranges, BTreeMap::from([(0, 9)]));
    }

    #[test]
    fn numbers_have_one_to_eight_bytes() {
        // RFC 9000 appendix A.1.
        let cases: [(&[u8], u64); 4] = [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ];
        for (bytes, expected) in cases {
            assert_eq!(number(&mut Reader::new(bytes)), Some(expected));
        }
    }
}
