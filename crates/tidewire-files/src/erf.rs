//! Endace's ERF (Extensible Record Format), as DAG cards write it: no file header, records of a 16-byte header, extension headers
//! of 8 bytes each, a subheader that depends on the type, and the bytes. Timestamps are little-endian, the rest is big-endian.
//!
//! Source: Endace, "ERF types reference guide"; what the lengths mean: records as tshark reads them.

use crate::{
    limits::captured_bytes_max,
    record_cursor::{Count, RawRecord, Walk, u16_at},
};
use tidewire_wire::Frame;
use tidewire_wire::LinkType;

/// Timestamp, type, flags, record length, loss counter or color, wire length.
const RECORD_HEADER_BYTES: usize = 16;
/// Set in a type and in the first byte of an extension header: another extension header follows.
const MORE: u8 = 0x80;
const EXTENSION_BYTES: usize = 8;
/// Extension headers of one record. Cards write one or two.
const EXTENSIONS_MAX: usize = 16;

/// Padding, and information on the card and the link: no packets.
const TYPE_PAD: u8 = 48;
const TYPE_META: u8 = 27;

/// Records by which a file is recognised.
const RECORDS_RECOGNISED: usize = 2;
/// Seconds that records of one file may be apart, beyond which it is not ERF.
const APART_SECONDS_MAX: u64 = 7 * 86_400;

/// Content behind the headers, by type.
struct RecordKind {
    subheader_bytes: usize,
    link: LinkType,
}

impl RecordKind {
    fn of(kind: u8) -> Self {
        let (subheader_bytes, link) = match kind {
            // Ethernet, plain, with a color, with a hash: two bytes of offset and padding.
            2 | 11 | 16 | 20 => (2, LinkType::ETHERNET),
            // PPP or Cisco HDLC.
            1 | 10 | 15 | 19 => (0, LinkType::PPP_HDLC),
            22 | 23 => (0, LinkType::RAW),
            _ => (0, LinkType(u16::MAX)),
        };
        Self { subheader_bytes, link }
    }
}

/// A record's header.
struct Header {
    timestamp_ns: u64,
    seconds: u64,
    kind: u8,
    flags: u8,
    record_bytes: usize,
    wire_bytes: u16,
}

impl Header {
    fn of(bytes: &[u8]) -> Option<Self> {
        let header = bytes.first_chunk::<RECORD_HEADER_BYTES>()?;
        let [a, b, c, d, e, f, g, h, kind, flags, ..] = *header;
        let stamp = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let (seconds, fraction) = (stamp >> 32, stamp & u64::from(u32::MAX));
        // Rounded to the nearest nanosecond.
        let timestamp_ns = seconds * 1_000_000_000 + ((fraction * 1_000_000_000 + (1 << 31)) >> 32);
        let word = |at| u16_at(header, at, true).unwrap_or_default();
        Some(Self { timestamp_ns, seconds, kind, flags, record_bytes: word(10).into(), wire_bytes: word(14) })
    }

    /// Whether it can be a record of this format.
    fn is_possible(&self) -> bool {
        let kind = self.kind & !MORE;
        let least = RECORD_HEADER_BYTES + if self.kind & MORE == 0 { 0 } else { EXTENSION_BYTES };
        matches!(kind, 1..=25 | TYPE_META | TYPE_PAD) && self.record_bytes >= least
    }
}

/// Whether a file begins with records of this format; `None`: more of it is needed. There is no magic number: the lengths of
/// the first records have to lead from one to the next, with types that exist and times that are near each other.
pub(crate) fn recognised(head: &[u8], is_all: bool) -> Option<bool> {
    let (mut at, mut before_seconds) = (0, None);
    for _ in 0..RECORDS_RECOGNISED {
        let rest = head.get(at..).unwrap_or_default();
        if rest.is_empty() && is_all && at > 0 {
            return Some(true);
        }
        let Some(header) = Header::of(rest) else { return is_all.then_some(false) };
        // Records of the card itself may have no time.
        let is_near = before_seconds.is_none_or(|before: u64| header.seconds.abs_diff(before) <= APART_SECONDS_MAX);
        if !header.is_possible() || !is_near {
            return Some(false);
        }
        before_seconds = Some(header.seconds).filter(|&seconds| seconds != 0).or(before_seconds);
        at += header.record_bytes;
    }
    Some(true)
}

/// The format has no state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Erf;

impl Erf {
    /// Notes the whole records in `bytes`. `origin` is as in `Pcap::walk`.
    pub(crate) fn walk(self, bytes: &[u8], origin: u64, count: &mut Count, frames: &mut Vec<Frame>) -> Walk {
        let mut at = 0;
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(header) = Header::of(rest) else { return Walk::Taken(at) };
            if !header.is_possible() {
                let Header { kind, record_bytes, .. } = header;
                let what = format!("a record of type {} claims {record_bytes} bytes in all", kind & !MORE);
                return Walk::Damaged(at, what);
            }
            let Some(record) = rest.get(..header.record_bytes) else { return Walk::Taken(at) };
            if !matches!(header.kind & !MORE, TYPE_PAD | TYPE_META) {
                let Some((from, captured_bytes, link)) = packet(&header, record) else {
                    return Walk::Damaged(at, "a record is shorter than its headers".to_owned());
                };
                debug_assert!(captured_bytes <= captured_bytes_max(link), "16 bits");
                let from = at + from;
                let place = RawRecord {
                    at: from,
                    captured_bytes,
                    wire_bytes: header.wire_bytes.into(),
                    link,
                    interface: u16::from(header.flags & 3),
                    timestamp_ns: header.timestamp_ns,
                    origin: if origin == 0 { 0 } else { origin + from as u64 },
                };
                frames.push(count.frame(place));
            }
            at += header.record_bytes;
        }
    }

    /// The missing part where the file ends with `tail`, the beginning of a record.
    pub(crate) fn cut(self, tail: &[u8]) -> String {
        match Header::of(tail) {
            None => format!("the file ends after {} of a record's {RECORD_HEADER_BYTES}-byte header", tail.len()),
            Some(header) => format!("the file ends after {} of a record's {} bytes", tail.len(), header.record_bytes),
        }
    }
}

/// Where a record's packet begins, its captured bytes, and its link type.
fn packet(header: &Header, record: &[u8]) -> Option<(usize, u32, LinkType)> {
    let (mut from, mut more) = (RECORD_HEADER_BYTES, header.kind & MORE != 0);
    for _ in 0..EXTENSIONS_MAX {
        if !more {
            break;
        }
        more = record.get(from)? & MORE != 0;
        from += EXTENSION_BYTES;
    }
    let kind = RecordKind::of(header.kind & !MORE);
    from += kind.subheader_bytes;
    let there = record.get(from..)?.len();
    // Records are padded to multiples of 8 bytes.
    Some((from, there.min(header.wire_bytes.into()) as u32, kind.link))
}
