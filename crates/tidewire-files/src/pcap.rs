//! The classic pcap file: a 24-byte header, then records of a 16-byte header (24 in Kuznetzov's form) and the bytes.
//!
//! Source: draft-ietf-opsawg-pcap, and libpcap's sf-pcap.c for the older forms.

use crate::{
    limits::captured_bytes_max,
    record_cursor::{Count, RawRecord, Walk, u16_at, u32_at},
    signature::{FILE_HEADER_BYTES, LINK_MASK, MAGIC_MODIFIED, MAGIC_NANO, MAGICS_IXIA, begins_another, is_magic},
};
use tidewire_wire::Frame;
use tidewire_wire::LinkType;

pub(crate) use crate::signature::is_pcap as recognised;

const RECORD_HEADER_BYTES: usize = 16;
/// Kuznetzov's form adds the interface, the protocol and the packet type.
const RECORD_HEADER_BYTES_MODIFIED: usize = 24;

/// Ixia's word after the file header: bytes of all records.
const IXIA_HEADER_BYTES: usize = 4;

/// Which of a record's two lengths comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    /// Captured, then on the wire.
    AsWritten,
    /// The other way round: versions before 2.3, and DG/UX's 543.
    Swapped,
    /// Version 2.3 was written both ways: the smaller is the captured length.
    Either,
}

/// Properties of the records, from the pcap file's header.
#[derive(Clone, Debug)]
pub(crate) struct Pcap {
    /// Bytes of the file before its first record.
    pub header_bytes: usize,
    big_endian: bool,
    record_header_bytes: usize,
    unit_ns: u64,
    lengths: Lengths,
    link: LinkType,
    /// The place of its interface among those of the input: files that are concatenated have one each.
    pub interface: u16,
    captured_bytes_max: u32,
}

/// Bytes of a file's header.
pub(crate) fn file_header_bytes(head: &[u8]) -> usize {
    let is_ixia = |&order: &bool| u32_at(head, 0, order).is_some_and(|word| MAGICS_IXIA.contains(&word));
    FILE_HEADER_BYTES + if [false, true].iter().any(is_ixia) { IXIA_HEADER_BYTES } else { 0 }
}

impl Pcap {
    /// Reads the file header; the error says what is not supported about it.
    pub(crate) fn parse(header: &[u8]) -> Result<Self, String> {
        let big_endian = u32_at(header, 0, true).is_some_and(is_magic);
        let word = |at| u32_at(header, at, big_endian).unwrap_or_default();
        let half = |at| u16_at(header, at, big_endian).unwrap_or_default();
        let (major, minor) = (half(4), half(6));
        let lengths = match (major, minor) {
            (2, 0..=2) | (543, 0) => Lengths::Swapped,
            (2, 3) => Lengths::Either,
            (2, _) => Lengths::AsWritten,
            _ => {
                return Err(format!(
                    "is a pcap file of version {major}.{minor}, which nothing known writes; versions 2.0 to 2.4 are read"
                ));
            }
        };
        let (unit_ns, record_header_bytes) = match word(0) {
            MAGIC_NANO => (1, RECORD_HEADER_BYTES),
            MAGIC_MODIFIED => (1000, RECORD_HEADER_BYTES_MODIFIED),
            _ => (1000, RECORD_HEADER_BYTES),
        };
        // Bits 28 to 31 are the length of a frame check sequence at each frame's end, bit 26 says that they count:
        // decoders go by the lengths in the headers, so that four bytes more at the end are only padding.
        let link = word(20) & LINK_MASK;
        // A number beyond the registry's 16 bits is no type that is known; none of the reserved ones is either.
        let link = LinkType(u16::try_from(link).unwrap_or(u16::MAX));
        let captured_bytes_max = captured_bytes_max(link);
        let header_bytes = file_header_bytes(header);
        Ok(Self {
            header_bytes,
            big_endian,
            record_header_bytes,
            unit_ns,
            lengths,
            link,
            interface: 0,
            captured_bytes_max,
        })
    }

    /// Notes the whole records in `bytes`. `origin` is the offset of `bytes` in the file plus one, 0 where the file
    /// cannot be read again.
    pub(crate) fn walk(&self, bytes: &[u8], origin: u64, count: &mut Count, frames: &mut Vec<Frame>) -> Walk {
        let plain = self.record_header_bytes == RECORD_HEADER_BYTES && self.lengths == Lengths::AsWritten;
        match (plain, self.big_endian) {
            (true, false) => self.run::<true, false>(bytes, origin, count, frames),
            (true, true) => self.run::<true, true>(bytes, origin, count, frames),
            (false, false) => self.run::<false, false>(bytes, origin, count, frames),
            (false, true) => self.run::<false, true>(bytes, origin, count, frames),
        }
    }

    /// The loop of every packet; compiled apart for the forms that matter, so that it has nothing to look up.
    fn run<const PLAIN: bool, const BIG: bool>(
        &self,
        bytes: &[u8],
        origin: u64,
        count: &mut Count,
        frames: &mut Vec<Frame>,
    ) -> Walk {
        let header_bytes = if PLAIN { RECORD_HEADER_BYTES } else { self.record_header_bytes };
        let (unit_ns, link, captured_bytes_max) = (self.unit_ns, self.link, self.captured_bytes_max);
        let interface = self.interface;
        let (mut step, mut at) = (count.step(), 0);
        let walk = loop {
            let Some(header) = bytes.get(at..).and_then(|rest| rest.first_chunk::<RECORD_HEADER_BYTES>()) else {
                break Walk::Taken(at);
            };
            let [seconds, fraction, mut captured_bytes, mut wire_bytes] = words::<BIG>(header);
            if !PLAIN && self.lengths.swap(captured_bytes, wire_bytes) {
                (captured_bytes, wire_bytes) = (wire_bytes, captured_bytes);
            }
            // No packet has no bytes at all, so what states that is the header of another file.
            if captured_bytes.wrapping_sub(1) >= captured_bytes_max
                && let Some(walk) = self.unusual(bytes.get(at..).unwrap_or_default(), at, captured_bytes, wire_bytes)
            {
                break walk;
            }
            let from = at + header_bytes;
            let end = from + captured_bytes as usize;
            if end > bytes.len() {
                break Walk::Taken(at);
            }
            let timestamp_ns = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * unit_ns;
            let origin = if origin == 0 { 0 } else { origin + from as u64 };
            let place = RawRecord { at: from, captured_bytes, wire_bytes, link, interface, timestamp_ns, origin };
            frames.push(count.frame_at(&mut step, place));
            at = end;
        };
        count.keep(step);
        walk
    }

    /// Classifies a record with no captured bytes, or too many; `None`: a record.
    #[cold]
    fn unusual(&self, rest: &[u8], at: usize, captured_bytes: u32, wire_bytes: u32) -> Option<Walk> {
        if captured_bytes == 0 && wire_bytes == 0 && recognised(rest) && rest.len() < FILE_HEADER_BYTES {
            return Some(Walk::Taken(at));
        }
        if begins_another(rest) {
            return Some(Walk::Another(at));
        }
        let is_damaged = captured_bytes > self.captured_bytes_max;
        is_damaged.then(|| Walk::Damaged(at, too_long(captured_bytes, self.captured_bytes_max)))
    }

    /// The missing part where the file ends with `tail`, the beginning of a record.
    pub(crate) fn cut(&self, tail: &[u8]) -> String {
        if tail.len() < self.record_header_bytes {
            return format!(
                "the file ends after {} of a packet's {}-byte header",
                tail.len(),
                self.record_header_bytes
            );
        }
        let word = |at| u32_at(tail, at, self.big_endian).unwrap_or_default();
        let (first, second) = (word(8), word(12));
        let stated = if self.lengths.swap(first, second) { second } else { first };
        format!("the file ends after {} of a packet's {stated} captured bytes", tail.len() - self.record_header_bytes)
    }
}

impl Lengths {
    fn swap(self, first: u32, second: u32) -> bool {
        match self {
            Self::AsWritten => false,
            Self::Swapped => true,
            Self::Either => first > second,
        }
    }
}

/// Message about a record that states more than any record can have.
pub(crate) fn too_long(captured_bytes: u32, bound: u32) -> String {
    format!("a packet claims {captured_bytes} captured bytes; the limit is {bound}")
}

#[inline(always)]
fn words<const BIG: bool>(header: &[u8; RECORD_HEADER_BYTES]) -> [u32; 4] {
    // Written out: `map` over an array is not always inlined, and costs as much as the rest of the loop then.
    let &[a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = header;
    let word = |raw| if BIG { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) };
    [word([a, b, c, d]), word([e, f, g, h]), word([i, j, k, l]), word([m, n, o, p])]
}
