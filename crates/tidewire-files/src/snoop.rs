//! Solaris' snoop file, version 2: a 16-byte header, then records of a 24-byte header, the bytes, and padding. Every number
//! is in network byte order.
//!
//! Source: RFC 1761; later data link numbers: Solaris' sys/dlpi.h.

use crate::{
    limits::captured_bytes_max,
    pcap::too_long,
    record_cursor::{Count, RawRecord, Walk, u32_at},
};
use tidewire_wire::Frame;
use tidewire_wire::LinkType;

/// Length of the file header.
pub(crate) const FILE_HEADER_BYTES: usize = 16;
/// The pattern that a file begins with.
pub(crate) const MAGIC: &[u8; 8] = b"snoop\0\0\0";
/// The only version that RFC 1761 has.
const VERSION: u32 = 2;

/// Original, included and record length, drops so far, seconds, microseconds.
const RECORD_HEADER_BYTES: usize = 24;
/// Padding after a packet: up to a multiple of 4 or 8 as snoop writes it. More is taken for damage.
const PADDING_BYTES_MAX: u32 = 64;

/// Properties of the records, from the snoop file's header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Snoop {
    link: LinkType,
    captured_bytes_max: u32,
}

impl Snoop {
    /// Reads the file header; the error says what is not supported about it.
    pub(crate) fn parse(header: &[u8]) -> Result<Self, String> {
        let word = |at| u32_at(header, at, true).unwrap_or_default();
        let version = word(8);
        if version != VERSION {
            return Err(format!(
                "is a snoop file of version {version}; version 2 (RFC 1761) is read; convert it with: editcap -F pcapng FILE OUT"
            ));
        }
        let link = link_type(word(12));
        Ok(Self { link, captured_bytes_max: captured_bytes_max(link) })
    }

    /// Notes the whole records in `bytes`. `origin` is as in `Pcap::walk`.
    pub(crate) fn walk(&self, bytes: &[u8], origin: u64, count: &mut Count, frames: &mut Vec<Frame>) -> Walk {
        let mut at = 0;
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let Some(header) = rest.first_chunk::<RECORD_HEADER_BYTES>() else { return Walk::Taken(at) };
            let word = |at| u32_at(header, at, true).unwrap_or_default();
            let [wire_bytes, captured_bytes, record_bytes, seconds, micros] = [0, 4, 8, 16, 20].map(word);
            if captured_bytes > self.captured_bytes_max {
                return Walk::Damaged(at, too_long(captured_bytes, self.captured_bytes_max));
            }
            let least = RECORD_HEADER_BYTES as u32 + captured_bytes;
            if !(least..=least + PADDING_BYTES_MAX).contains(&record_bytes) {
                let what = format!("a record claims {record_bytes} bytes in all, and {captured_bytes} captured ones");
                return Walk::Damaged(at, what);
            }
            let from = at + RECORD_HEADER_BYTES;
            let end = at + record_bytes as usize;
            if end > bytes.len() {
                return Walk::Taken(at);
            }
            let timestamp_ns = u64::from(seconds) * 1_000_000_000 + u64::from(micros) * 1000;
            let origin = if origin == 0 { 0 } else { origin + from as u64 };
            let link = self.link;
            let place = RawRecord { at: from, captured_bytes, wire_bytes, link, interface: 0, timestamp_ns, origin };
            frames.push(count.frame(place));
            at = end;
        }
    }

    /// The missing part where the file ends with `tail`, the beginning of a record.
    pub(crate) fn cut(self, tail: &[u8]) -> String {
        let Some(stated) = u32_at(tail, 4, true).filter(|_| tail.len() >= RECORD_HEADER_BYTES) else {
            return format!("the file ends after {} of a packet's {RECORD_HEADER_BYTES}-byte header", tail.len());
        };
        let there = tail.len() - RECORD_HEADER_BYTES;
        format!("the file ends after {there} of a packet's {stated} captured bytes and their padding")
    }
}

/// A data link type (RFC 1761, "Datalink Type") as pcap files number it; those that nothing walks are of no known type.
fn link_type(number: u32) -> LinkType {
    match number {
        // IEEE 802.3, and Ethernet.
        0 | 4 => LinkType::ETHERNET,
        2 => LinkType::IEEE802_5,
        8 => LinkType::FDDI,
        _ => LinkType(u16::MAX),
    }
}
