//! Microsoft Network Monitor's files, versions 1 and 2: a 128-byte header, the frames, and tables. Numbers are little-endian.
//!
//! Frames are read one after the other up to the frame table, whose order is followed by no program that writes them otherwise
//! than for records without packets. Source: the format's description in Network Monitor 3.4's help; tshark's reading of it.

use crate::{
    limits::captured_bytes_max,
    pcap::too_long,
    record_cursor::{Count, RawRecord, Walk, u16_at, u32_at},
};
use tidewire_types::calendar;
use tidewire_wire::Frame;
use tidewire_wire::LinkType;

/// Length of the file header.
pub(crate) const FILE_HEADER_BYTES: usize = 128;
/// Signatures of versions 1 and 2.
pub(crate) const MAGICS: [&[u8; 4]; 2] = [b"RTSS", b"GMBU"];

/// Seconds from 1601, where Windows' time begins, to 1970.
const WINDOWS_EPOCH_SECONDS: i128 = 11_644_473_600;

/// Media types of records that are no packets: what the capturing program noted.
const PAYLOAD_HEADER: u16 = 0xfffc;
const NETWORK_INFO: u16 = 0xfffd;
const DNS_CACHE: u16 = 0xfffe;

/// Bytes of the radio information before an 802.11 frame, at least: version and length.
const RADIO_BYTES_MIN: u32 = 3;

/// Properties of the records, from the file's header.
#[derive(Clone, Debug)]
pub(crate) struct Netmon {
    record_header_bytes: usize,
    trailer_bytes: usize,
    media: u16,
    start_ns: i128,
    /// Bytes of records left, up to the frame table.
    left: u64,
}

impl Netmon {
    /// Reads the file header; the error says what is not supported about it.
    pub(crate) fn parse(header: &[u8]) -> Result<Self, String> {
        let half = |at| u16_at(header, at, false).unwrap_or_default();
        let [minor, major] = half(4).to_le_bytes();
        let (record_header_bytes, trailer_bytes) = match (major, minor) {
            (1, _) => (8, 0),
            (2, 0) => (16, 0),
            (2, 1) => (16, 2),
            (2, 2) => (16, 6),
            (2, _) => (16, 15),
            _ => {
                return Err(format!(
                    "is a capture of Microsoft Network Monitor in version {major}.{minor}; versions 1 and 2 are read"
                ));
            }
        };
        let frame_table_at = u64::from(u32_at(header, 24, false).unwrap_or_default());
        // A file that was never completed has no table.
        let end = if frame_table_at == 0 { u64::MAX } else { frame_table_at };
        let Some(left) = end.checked_sub(FILE_HEADER_BYTES as u64) else {
            return Err(format!(
                "is a capture of Microsoft Network Monitor with its frame table at byte {frame_table_at}, inside its header"
            ));
        };
        Ok(Self {
            record_header_bytes,
            trailer_bytes,
            media: half(6),
            start_ns: start_ns([8, 10, 14, 16, 18, 20, 22].map(half)),
            left,
        })
    }

    /// Notes the whole records in `bytes`. `origin` is as in `Pcap::walk`.
    pub(crate) fn walk(&mut self, bytes: &[u8], origin: u64, count: &mut Count, frames: &mut Vec<Frame>) -> Walk {
        let mut at = 0;
        loop {
            if self.left == 0 {
                // Tables follow.
                return Walk::Taken(bytes.len());
            }
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(record) = self.record(rest) else { return Walk::Taken(at) };
            if record.captured_bytes > captured_bytes_max(LinkType::ETHERNET) {
                let bound = captured_bytes_max(LinkType::ETHERNET);
                return Walk::Damaged(at, too_long(record.captured_bytes, bound));
            }
            let from = self.record_header_bytes;
            let trailer_at = from + record.captured_bytes as usize;
            let end = trailer_at + self.trailer_bytes;
            let Some(left) = self.left.checked_sub(end as u64) else {
                return Walk::Damaged(at, "a packet reaches into the frame table".to_owned());
            };
            let Some(trailer) = rest.get(trailer_at..end) else { return Walk::Taken(at) };
            self.left = left;
            if let Some(place) = self.place(&record, rest.get(from..trailer_at).unwrap_or_default(), trailer) {
                let from = at + from + place.at;
                let origin = if origin == 0 { 0 } else { origin + from as u64 };
                let Some(timestamp_ns) = self.time_ns(&record, trailer) else {
                    return Walk::Damaged(at, count.no_time());
                };
                frames.push(count.frame(RawRecord { at: from, origin, timestamp_ns, ..place }));
            }
            at += end;
        }
    }

    /// The missing part where the file ends with `tail`, the beginning of a record.
    pub(crate) fn cut(&self, tail: &[u8]) -> String {
        match self.record(tail) {
            None => {
                format!("the file ends after {} of a packet's {}-byte header", tail.len(), self.record_header_bytes)
            }
            Some(record) => format!(
                "the file ends after {} of a packet's {} captured bytes",
                tail.len() - self.record_header_bytes,
                record.captured_bytes
            ),
        }
    }

    /// The header of the record at the beginning of `bytes`.
    fn record(&self, bytes: &[u8]) -> Option<Record> {
        bytes.get(..self.record_header_bytes)?;
        let word = |at| u32_at(bytes, at, false).unwrap_or_default();
        let half = |at| u32::from(u16_at(bytes, at, false).unwrap_or_default());
        Some(match self.record_header_bytes {
            8 => {
                Record { since_start_ns: i128::from(word(0)) * 1_000_000, wire_bytes: half(4), captured_bytes: half(6) }
            }
            _ => {
                let micros = u64::from(word(0)) | u64::from(word(4)) << 32;
                // Times before the start are written so that ten times the number is negative.
                let tenths = micros.wrapping_mul(10) as i64;
                Record { since_start_ns: i128::from(tenths) * 100, wire_bytes: word(8), captured_bytes: word(12) }
            }
        })
    }

    /// When a record's packet was captured, nanoseconds since the epoch; `None`: 64 bits do not hold it.
    fn time_ns(&self, record: &Record, trailer: &[u8]) -> Option<u64> {
        let stamp = trailer.get(6..14).and_then(|stamp| stamp.first_chunk::<8>());
        let time_ns = match stamp {
            Some(stamp) => (i128::from(u64::from_le_bytes(*stamp)) - WINDOWS_EPOCH_SECONDS * 10_000_000) * 100,
            None => self.start_ns + record.since_start_ns,
        };
        u64::try_from(time_ns).ok()
    }

    /// Where a record's packet is, from the end of its header on, without its time; `None`: it holds no packet.
    fn place(&self, record: &Record, bytes: &[u8], trailer: &[u8]) -> Option<RawRecord> {
        let media = u16_at(trailer, 0, false).unwrap_or(self.media);
        if matches!(media, PAYLOAD_HEADER | NETWORK_INFO | DNS_CACHE) && !trailer.is_empty() {
            return None;
        }
        let mut place = RawRecord {
            at: 0,
            captured_bytes: record.captured_bytes,
            wire_bytes: record.wire_bytes,
            link: link_type(media),
            interface: 0,
            timestamp_ns: 0,
            origin: 0,
        };
        if place.link == LinkType::IEEE802_11 && media == 6 {
            // The frame follows radio information, which begins with its version and length.
            let radio_bytes = u32::from(u16_at(bytes, 1, false).unwrap_or_default());
            if !(RADIO_BYTES_MIN..=record.captured_bytes).contains(&radio_bytes) {
                place.link = LinkType(u16::MAX);
                return Some(place);
            }
            place.at = radio_bytes as usize;
            place.captured_bytes -= radio_bytes;
            place.wire_bytes = place.wire_bytes.saturating_sub(radio_bytes);
        }
        Some(place)
    }
}

/// A record's header.
struct Record {
    since_start_ns: i128,
    wire_bytes: u32,
    captured_bytes: u32,
}

/// A media type as pcap files number it; those that nothing walks are of no known type.
fn link_type(media: u16) -> LinkType {
    match media {
        // 0: virtual private networks, with Ethernet headers.
        0 | 1 => LinkType::ETHERNET,
        2 => LinkType::IEEE802_5,
        3 => LinkType::FDDI,
        6 => LinkType::IEEE802_11,
        7..=9 => LinkType::RAW,
        0xe080 => LinkType::IEEE802_11,
        0xe081..=0xe08a => LinkType(u16::MAX),
        0xe000..=0xefff => LinkType(media & 0x0fff),
        _ => LinkType(u16::MAX),
    }
}

/// The time of the capture's start, of which the file does not say the time zone: taken as UTC.
fn start_ns([year, month, day, hour, minute, second, millisecond]: [u16; 7]) -> i128 {
    let seconds = calendar::seconds(year.into(), [month, day, hour, minute, second].map(i64::from));
    i128::from(seconds) * 1_000_000_000 + i128::from(millisecond) * 1_000_000
}
