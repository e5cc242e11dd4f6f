//! Blocks of pcapng (draft-ietf-opsawg-pcapng), encoded into memory: little-endian, times in nanoseconds. Who captures
//! encodes; who writes only writes.
//!
//! Only standard blocks: a custom one between packets is a frame to tshark, and shifts the numbers of all that follow.

use tidewire_wire::{ChecksumStatus, LinkType, Timestamp};

use crate::supplement::{NAMES, SECRETS};
pub use crate::supplement::{Supplement, Supplements, Writer};

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
/// Type of an enhanced packet block.
pub const ENHANCED_PACKET: u32 = 6;

/// Bytes of an enhanced packet block beside the packet, its padding and its options: header, five words, trailer.
pub const PACKET_OVERHEAD_BYTES: usize = 32;
/// Where a packet's bytes begin in its block.
pub const PACKET_AT: usize = 28;

/// Bytes of an option's text at most; the rest is cut off at a character.
const TEXT_BYTES_MAX: usize = 4096;

mod option {
    pub const END: u16 = 0;
    pub const COMMENT: u16 = 1;
    // Section header.
    pub const HARDWARE: u16 = 2;
    pub const SYSTEM: u16 = 3;
    pub const APPLICATION: u16 = 4;
    // Interface description.
    pub const NAME: u16 = 2;
    pub const DESCRIPTION: u16 = 3;
    pub const SPEED: u16 = 8;
    pub const TIME_RESOLUTION: u16 = 9;
    pub const FILTER: u16 = 11;
    // Enhanced packet.
    pub const FLAGS: u16 = 2;
    pub const DROP_COUNT: u16 = 4;
    // Interface statistics.
    pub const START_TIME: u16 = 2;
    pub const END_TIME: u16 = 3;
    pub const RECEIVED: u16 = 4;
    pub const DROPPED: u16 = 5;
    pub const FILTER_ACCEPTED: u16 = 6;
    pub const SYSTEM_DROPPED: u16 = 7;
    pub const DELIVERED: u16 = 8;
}

/// An interface as its description block has it. Empty texts, and a speed of 0, are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The link type of its packets.
    pub link: LinkType,
    /// Bytes kept of each packet at most; 0: all.
    pub snap_bytes: u32,
    /// Its name, as `eth0`.
    pub name: String,
    /// Its kind.
    pub description: String,
    /// Bits in a second; 0: unknown.
    pub speed_bits: u64,
    /// The filter expression that the packets passed.
    pub filter: String,
    /// A comment; several are lines of it.
    pub comment: String,
}

impl Interface {
    /// An interface without texts that keeps whole packets.
    #[must_use]
    pub fn new(name: impl Into<String>, link: LinkType) -> Self {
        let [description, filter, comment] = [const { String::new() }; 3];
        Self { link, snap_bytes: 0, name: name.into(), description, speed_bits: 0, filter, comment }
    }
}

/// Which way a packet went, as its interface reports it (`epb_flags`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// Not reported: no option is written.
    #[default]
    Unknown,
    /// Received.
    In,
    /// Sent.
    Out,
}

/// Flags of a packet (`epb_flags`, draft-ietf-opsawg-pcapng, 4.3.1): the direction.
const FLAG_IN: u32 = 1;
const FLAG_OUT: u32 = 2;
/// Flag: the checksum is not computed yet.
pub(crate) const FLAG_CHECKSUM_NOT_READY: u32 = 1 << 9;
/// Flag: the checksum was verified.
pub(crate) const FLAG_CHECKSUM_VALID: u32 = 1 << 10;
/// Greatest length of a frame on Ethernet, in bytes, with two tags. Cards and drivers merge packets to longer ones, whose
/// bytes no longer have the checksum that was verified.
const ETHERNET_BYTES_MAX: u32 = 1522;

/// A packet to encode.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Number of its interface in the segment, from 0.
    pub interface: u32,
    /// Capture time.
    pub timestamp: Timestamp,
    /// The captured bytes.
    pub bytes: &'a [u8],
    /// Bytes on the wire.
    pub wire_bytes: u32,
    /// Which way it went.
    pub way: Way,
    /// The kernel's report about its transport checksum. That it was verified is written only where the bytes do not show
    /// it: of packets that are cut, or longer than a frame.
    pub checksum: ChecksumStatus,
    /// Packets that the interface lost since its packet before (`epb_dropcount`); 0 is left out.
    pub dropped: u64,
    /// A comment; empty: none.
    pub comment: &'a str,
}

impl<'a> Packet<'a> {
    /// A packet without options.
    #[must_use]
    pub fn new(interface: u32, timestamp: Timestamp, bytes: &'a [u8], wire_bytes: u32) -> Self {
        let (way, checksum) = (Way::Unknown, ChecksumStatus::Unknown);
        Self { interface, timestamp, bytes, wire_bytes, way, checksum, dropped: 0, comment: "" }
    }

    /// The packet's flags (`epb_flags`); 0: nothing is known.
    #[must_use]
    #[inline]
    pub fn flags(&self) -> u32 {
        let way = match self.way {
            Way::Unknown => 0,
            Way::In => FLAG_IN,
            Way::Out => FLAG_OUT,
        };
        let is_visible = self.bytes.len() as u64 == u64::from(self.wire_bytes) && self.wire_bytes <= ETHERNET_BYTES_MAX;
        let checksum = match self.checksum {
            ChecksumStatus::NotReady => FLAG_CHECKSUM_NOT_READY,
            ChecksumStatus::Verified if !is_visible => FLAG_CHECKSUM_VALID,
            _ => 0,
        };
        way | checksum
    }

    fn has_options(&self) -> bool {
        self.flags() != 0 || self.dropped != 0 || !self.comment.is_empty()
    }

    /// Bytes of its block.
    #[must_use]
    #[inline]
    pub fn block_bytes(&self) -> usize {
        let plain = PACKET_OVERHEAD_BYTES + self.bytes.len().next_multiple_of(4);
        if self.has_options() { plain + self.option_bytes() } else { plain }
    }

    #[cold]
    fn option_bytes(&self) -> usize {
        let comment = cut(self.comment).len();
        let of = |there: bool, bytes: usize| if there { bytes } else { 0 };
        of(self.flags() != 0, 8) + of(self.dropped != 0, 12) + of(comment != 0, 4 + comment.next_multiple_of(4)) + 4
    }
}

/// Appends a packet, and returns its block's length.
#[inline]
pub fn enhanced_packet(out: &mut Vec<u8>, packet: &Packet<'_>) -> u32 {
    let length = packet.block_bytes() as u32;
    out.reserve(length as usize);
    let timestamp = packet.timestamp.as_nanos();
    let head = [
        ENHANCED_PACKET,
        length,
        packet.interface,
        (timestamp >> 32) as u32,
        timestamp as u32,
        packet.bytes.len() as u32,
        packet.wire_bytes.max(packet.bytes.len() as u32),
    ];
    out.extend_from_slice(head.map(u32::to_le_bytes).as_flattened());
    out.extend_from_slice(packet.bytes);
    if !packet.bytes.len().is_multiple_of(4) {
        pad(out, packet.bytes.len());
    }
    if packet.has_options() {
        packet_options(out, packet);
    }
    out.extend_from_slice(&length.to_le_bytes());
    length
}

/// Appends a packet with options that are encoded already, little-endian, their end included; its own fields for options are left out.
pub fn enhanced_packet_with(out: &mut Vec<u8>, packet: &Packet<'_>, options: &[u8]) {
    let plain = Packet::new(packet.interface, packet.timestamp, packet.bytes, packet.wire_bytes);
    let start = out.len();
    let length = enhanced_packet(out, &plain) + options.len().next_multiple_of(4) as u32;
    out.truncate(out.len() - 4);
    out.extend_from_slice(options);
    pad(out, options.len());
    out.extend_from_slice(&length.to_le_bytes());
    if let Some(place) = out.get_mut(start + 4..start + 8) {
        place.copy_from_slice(&length.to_le_bytes());
    }
}

#[cold]
fn packet_options(out: &mut Vec<u8>, packet: &Packet<'_>) {
    match packet.flags() {
        0 => {}
        flags => put(out, option::FLAGS, &flags.to_le_bytes()),
    }
    if packet.dropped != 0 {
        put(out, option::DROP_COUNT, &packet.dropped.to_le_bytes());
    }
    put_text(out, option::COMMENT, packet.comment);
    put(out, option::END, &[]);
}

/// Appends a section's header: the first block of a file.
pub fn section_header(out: &mut Vec<u8>, writer: &Writer) {
    block(out, SECTION_HEADER, |out| {
        out.extend_from_slice(&BYTE_ORDER_MAGIC.to_le_bytes());
        out.extend_from_slice(&1_u16.to_le_bytes());
        out.extend_from_slice(&0_u16.to_le_bytes());
        // The section's length is not known while it is written.
        out.extend_from_slice(&u64::MAX.to_le_bytes());
        put_text(out, option::COMMENT, &writer.comment);
        put_text(out, option::HARDWARE, &writer.hardware);
        put_text(out, option::SYSTEM, &writer.system);
        put_text(out, option::APPLICATION, &writer.application);
        put(out, option::END, &[]);
    });
}

/// Appends a block of secrets or names; nothing of a section, whose texts are in its header ([`Writer::again`]).
pub fn supplement(out: &mut Vec<u8>, supplement: &Supplement) {
    match supplement {
        Supplement::Section(_) => {}
        Supplement::Secrets(body) => block(out, SECRETS, |out| out.extend_from_slice(body)),
        Supplement::Names(body) => block(out, NAMES, |out| out.extend_from_slice(body)),
    }
}

/// Appends the description of an interface; they are numbered from 0 in their order.
pub fn interface_description(out: &mut Vec<u8>, interface: &Interface) {
    block(out, INTERFACE_DESCRIPTION, |out| {
        out.extend_from_slice(&interface.link.0.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&interface.snap_bytes.to_le_bytes());
        put_text(out, option::COMMENT, &interface.comment);
        put_text(out, option::NAME, &interface.name);
        put_text(out, option::DESCRIPTION, &interface.description);
        if interface.speed_bits != 0 {
            put(out, option::SPEED, &interface.speed_bits.to_le_bytes());
        }
        put(out, option::TIME_RESOLUTION, &[9]);
        if !interface.filter.is_empty() {
            // 0: a filter of libpcap as text.
            let mut value = vec![0];
            value.extend_from_slice(cut(&interface.filter).as_bytes());
            put(out, option::FILTER, &value);
        }
        put(out, option::END, &[]);
    });
}

/// Figures of an interface from the beginning of a recording on. `None`: unknown, and left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Number of the interface in the segment.
    pub interface: u32,
    /// When these figures were read.
    pub timestamp: Timestamp,
    /// When counting began and ended.
    pub start: Option<Timestamp>,
    /// See `start`.
    pub end: Option<Timestamp>,
    /// Packets that the interface received.
    pub received: Option<u64>,
    /// Packets that the interface dropped.
    pub dropped: Option<u64>,
    /// Packets that the filter accepted.
    pub filter_accepted: Option<u64>,
    /// Packets that the operating system dropped.
    pub system_dropped: Option<u64>,
    /// Packets that reached the file.
    pub delivered: Option<u64>,
}

/// Appends an interface's statistics.
pub fn interface_statistics(out: &mut Vec<u8>, statistics: &Statistics) {
    // Times are two words, the upper one first.
    let time = |time: Timestamp| time.as_nanos().rotate_left(32);
    block(out, INTERFACE_STATISTICS, |out| {
        out.extend_from_slice(&statistics.interface.to_le_bytes());
        out.extend_from_slice(&time(statistics.timestamp).to_le_bytes());
        let options = [
            (option::START_TIME, statistics.start.map(time)),
            (option::END_TIME, statistics.end.map(time)),
            (option::RECEIVED, statistics.received),
            (option::DROPPED, statistics.dropped),
            (option::FILTER_ACCEPTED, statistics.filter_accepted),
            (option::SYSTEM_DROPPED, statistics.system_dropped),
            (option::DELIVERED, statistics.delivered),
        ];
        for (code, value) in options {
            if let Some(value) = value {
                put(out, code, &value.to_le_bytes());
            }
        }
        put(out, option::END, &[]);
    });
}

/// A block around what `body` appends.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - start + 4) as u32;
    out.extend_from_slice(&length.to_le_bytes());
    if let Some(place) = out.get_mut(start + 4..start + 8) {
        place.copy_from_slice(&length.to_le_bytes());
    }
}

fn put(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&(value.len() as u16).to_le_bytes());
    out.extend_from_slice(value);
    pad(out, value.len());
}

fn put_text(out: &mut Vec<u8>, code: u16, text: &str) {
    if !text.is_empty() {
        put(out, code, cut(text).as_bytes());
    }
}

/// The text, cut at a character where it is too long.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[inline]
fn pad(out: &mut Vec<u8>, bytes: usize) {
    const ZEROS: [u8; 4] = [0; 4];
    out.extend_from_slice(ZEROS.get(..bytes.next_multiple_of(4) - bytes).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Reader, Source as _};

    #[test]
    fn what_is_encoded_is_read_back() {
        let mut file = Vec::new();
        let writer = Writer { application: "tidewire".into(), ..Writer::default() };
        section_header(&mut file, &writer);
        interface_description(&mut file, &Interface::new("eth0", LinkType::ETHERNET));
        let filtered = Interface {
            snap_bytes: 96,
            filter: "tcp".into(),
            speed_bits: 10_000_000_000,
            ..Interface::new("tun0", LinkType::RAW)
        };
        interface_description(&mut file, &filtered);
        let times = [1_700_000_000_123_456_789, u64::from(u32::MAX) << 32 | 7];
        for length in 0..9_usize {
            let bytes = vec![length as u8; length];
            for (interface, time) in times.into_iter().enumerate() {
                let plain = Packet::new(interface as u32, Timestamp::from_nanos(time), &bytes, length as u32 + 3);
                for packet in [plain, Packet { way: Way::Out, dropped: 7, comment: "cut off", ..plain }] {
                    let before = file.len();
                    let length = enhanced_packet(&mut file, &packet);
                    assert_eq!(file.len() - before, packet.block_bytes());
                    assert_eq!(length as usize, packet.block_bytes());
                }
            }
        }
        interface_statistics(&mut file, &Statistics { received: Some(3), dropped: Some(0), ..Statistics::default() });
        let mut reader = Reader::from_stream("memory", std::io::Cursor::new(file)).unwrap();
        let mut block = Block::new();
        let mut seen = 0;
        while reader.fill(&mut block).unwrap() {
            let batch = block.batch();
            for frame in batch.frames {
                let length = seen / 4;
                assert_eq!(batch.bytes(frame), vec![length as u8; length]);
                assert_eq!(frame.wire_bytes as usize, length + 3);
                assert_eq!(usize::from(frame.interface), seen / 2 % 2);
                assert_eq!(frame.timestamp.as_nanos(), times[seen / 2 % 2]);
                seen += 1;
            }
        }
        assert_eq!(seen, 36);
    }

    #[test]
    fn what_the_kernel_knew_of_checksums_is_read_back() {
        let mut file = Vec::new();
        section_header(&mut file, &Writer::default());
        interface_description(&mut file, &Interface::new("eth0", LinkType::ETHERNET));
        let (short, long) = (vec![7; 61], vec![7; 3000]);
        let cases = [
            (ChecksumStatus::NotReady, &short, 61, ChecksumStatus::NotReady),
            (ChecksumStatus::Verified, &short, 61, ChecksumStatus::Unknown),
            (ChecksumStatus::Verified, &short, 900, ChecksumStatus::Verified),
            (ChecksumStatus::Verified, &long, 3000, ChecksumStatus::Verified),
            (ChecksumStatus::Unknown, &long, 3000, ChecksumStatus::Unknown),
        ];
        for (checksum, bytes, wire_bytes, _) in cases {
            for (way, comment) in [(Way::Unknown, ""), (Way::In, "a comment"), (Way::Out, "")] {
                let packet =
                    Packet { checksum, way, comment, ..Packet::new(0, Timestamp::from_nanos(1), bytes, wire_bytes) };
                let before = file.len();
                assert_eq!(enhanced_packet(&mut file, &packet) as usize, packet.block_bytes());
                assert_eq!(file.len() - before, packet.block_bytes());
            }
        }
        let mut reader = Reader::from_stream("memory", std::io::Cursor::new(file)).unwrap();
        let (mut block, mut found) = (Block::new(), Vec::new());
        while reader.fill(&mut block).unwrap() {
            found.extend(block.batch().frames.iter().map(|frame| frame.checksum));
        }
        assert_eq!(found, cases.iter().flat_map(|case| [case.3; 3]).collect::<Vec<_>>());
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let text = "ä".repeat(TEXT_BYTES_MAX);
        assert_eq!(cut(&text).len(), TEXT_BYTES_MAX);
        assert_eq!(cut(&format!("a{text}")).len(), TEXT_BYTES_MAX - 1);
    }
}
