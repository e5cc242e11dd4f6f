//! A writer of captures in every form, and a reader of everything in a source. For tests only.

use std::io::{Cursor, Read, Write};
use tidewire_files::{Block, Error, Reader, Source};
use tidewire_wire::{CLOCK_STEP, Frame, Timestamp};

/// A packet to be written, or one that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    pub timestamp_ns: u64,
    pub bytes: Vec<u8>,
    pub wire_bytes: u32,
    pub link: u16,
    pub interface: u16,
}

/// The output of a source: frames, packets and errors.
#[derive(Debug, Default)]
pub struct Got {
    pub frames: Vec<Frame>,
    pub packets: Vec<Packet>,
    pub errors: Vec<Error>,
    pub allocated_bytes: usize,
}

impl Got {
    /// The offset of the only error, which is damage.
    pub fn damage_offset(&self) -> u64 {
        match &self.errors[..] {
            [Error::Damaged(damage)] => damage.offset,
            other => panic!("not one damage: {other:?}"),
        }
    }
}

/// Reads `source` to its end.
pub fn drain(mut source: impl Source) -> Got {
    let mut got = Got::default();
    let mut block = Block::new();
    loop {
        match source.fill(&mut block) {
            Ok(true) => {
                let batch = block.batch();
                for frame in batch.frames {
                    assert_eq!(batch.bytes(frame).len(), frame.captured_bytes as usize);
                    got.frames.push(*frame);
                    got.packets.push(Packet {
                        timestamp_ns: frame.timestamp.as_nanos(),
                        bytes: batch.bytes(frame).to_vec(),
                        wire_bytes: frame.wire_bytes,
                        link: frame.link.0,
                        interface: frame.interface,
                    });
                }
            }
            Ok(false) => break,
            Err(error) => got.errors.push(error),
        }
        got.allocated_bytes = got.allocated_bytes.max(block.allocated_bytes());
    }
    // The clock is the greatest time so far, where none is far from it.
    let greatest = got.frames.iter().scan(Timestamp::UNIX_EPOCH, |most: &mut Timestamp, frame| {
        *most = frame.timestamp.max(*most);
        Some((*most, most.saturating_duration_since(frame.timestamp)))
    });
    let greatest: Vec<_> = greatest.collect();
    let steps = greatest.windows(2).map(|pair| pair[1].0.saturating_duration_since(pair[0].0));
    let is_regular = steps.chain(greatest.iter().map(|one| one.1)).all(|step| step <= CLOCK_STEP);
    assert!(got.frames.is_sorted_by_key(|frame| frame.clock), "a clock never goes back");
    for ((number, frame), (greatest, _)) in (1..).zip(&got.frames).zip(greatest) {
        assert_eq!(frame.number, number);
        assert!(!is_regular || frame.clock == greatest);
        assert!(frame.wire_bytes >= frame.captured_bytes);
    }
    got
}

/// Reads a capture in memory; an error on opening is among the errors.
pub fn read(capture: &[u8]) -> Got {
    read_stream(Cursor::new(capture.to_vec()))
}

pub fn read_stream(stream: impl Read + Send + 'static) -> Got {
    match Reader::from_stream("test", stream) {
        Ok(reader) => drain(reader),
        Err(error) => Got { errors: vec![error], ..Got::default() },
    }
}

/// Integers in one byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    pub big_endian: bool,
}

impl Order {
    pub fn u16(self, value: u16) -> [u8; 2] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub fn u32(self, value: u32) -> [u8; 4] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    pub fn u64(self, value: u64) -> [u8; 8] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }
}

/// The forms of pcap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Micro,
    Nano,
    Modified,
    /// Version 2.2: the two lengths the other way round.
    Swapped,
    /// Version 2.3: either way; written the other way round here.
    Either,
}

pub const FORMS: [Form; 5] = [Form::Micro, Form::Nano, Form::Modified, Form::Swapped, Form::Either];

/// A pcap file, and where each record begins.
pub fn pcap(form: Form, order: Order, network: u32, packets: &[Packet]) -> (Vec<u8>, Vec<u64>) {
    let magic = match form {
        Form::Nano => 0xa1b2_3c4d,
        Form::Modified => 0xa1b2_cd34,
        _ => 0xa1b2_c3d4u32,
    };
    let minor = match form {
        Form::Swapped => 2,
        Form::Either => 3,
        _ => 4,
    };
    let mut file = order.u32(magic).to_vec();
    file.extend([order.u16(2), order.u16(minor)].concat());
    file.extend([order.u32(0), order.u32(0), order.u32(65535), order.u32(network)].concat());
    let mut starts = Vec::new();
    for packet in packets {
        starts.push(file.len() as u64);
        let (seconds, rest) = (packet.timestamp_ns / 1_000_000_000, packet.timestamp_ns % 1_000_000_000);
        let fraction = if form == Form::Nano { rest } else { rest / 1000 };
        let mut lengths = [packet.bytes.len() as u32, packet.wire_bytes];
        if matches!(form, Form::Swapped | Form::Either) {
            lengths.reverse();
        }
        file.extend([seconds as u32, fraction as u32, lengths[0], lengths[1]].map(|word| order.u32(word)).concat());
        if form == Form::Modified {
            file.extend([0xee; 8]);
        }
        file.extend(&packet.bytes);
    }
    (file, starts)
}

/// A snoop file with this data link number, and where each record begins.
pub fn snoop(data_link: u32, packets: &[Packet]) -> (Vec<u8>, Vec<u64>) {
    let mut file = b"snoop\0\0\0".to_vec();
    file.extend([2, data_link].map(u32::to_be_bytes).concat());
    let mut starts = Vec::new();
    for packet in packets {
        starts.push(file.len() as u64);
        let captured = packet.bytes.len() as u32;
        let record = (24 + captured).next_multiple_of(4);
        let (seconds, micros) = (packet.timestamp_ns / 1_000_000_000, packet.timestamp_ns % 1_000_000_000 / 1000);
        let words = [packet.wire_bytes, captured, record, 0, seconds as u32, micros as u32];
        file.extend(words.map(u32::to_be_bytes).concat());
        file.extend(&packet.bytes);
        file.extend(vec![0; (record - 24 - captured) as usize]);
    }
    (file, starts)
}

/// Writes pcapng, block by block.
#[derive(Debug)]
pub struct Pcapng {
    pub file: Vec<u8>,
    pub order: Order,
    /// Where each block begins.
    pub starts: Vec<u64>,
}

impl Pcapng {
    pub fn new() -> Self {
        Self { file: Vec::new(), order: Order { big_endian: false }, starts: Vec::new() }
    }

    pub fn block(&mut self, kind: u32, body: &[u8]) -> &mut Self {
        self.starts.push(self.file.len() as u64);
        let padding = body.len().next_multiple_of(4) - body.len();
        let length = self.order.u32((12 + body.len() + padding) as u32);
        self.file.extend(self.order.u32(kind));
        self.file.extend(length);
        self.file.extend(body);
        self.file.extend(vec![0; padding]);
        self.file.extend(length);
        self
    }

    /// A section header; `length` as stated, -1 where it is not known.
    pub fn section(&mut self, order: Order, length: i64) -> &mut Self {
        self.order = order;
        let mut body = order.u32(0x1a2b_3c4d).to_vec();
        body.extend([order.u16(1), order.u16(0)].concat());
        body.extend(order.u64(length as u64));
        body.extend([order.u16(4), order.u16(5)].concat());
        body.extend(b"tests\0\0\0");
        body.extend(order.u32(0));
        self.block(0x0a0d_0d0a, &body)
    }

    pub fn interface(
        &mut self,
        link: u16,
        snap_bytes: u32,
        resolution: Option<u8>,
        offset_s: Option<i64>,
    ) -> &mut Self {
        let order = self.order;
        let mut body = [order.u16(link), order.u16(0)].concat();
        body.extend(order.u32(snap_bytes));
        body.extend([&order.u16(2)[..], &order.u16(4), b"eth0"].concat());
        if let Some(resolution) = resolution {
            body.extend([&order.u16(9)[..], &order.u16(1), &[resolution, 0, 0, 0]].concat());
        }
        if let Some(offset_s) = offset_s {
            body.extend([&order.u16(14)[..], &order.u16(8), &order.u64(offset_s as u64)].concat());
        }
        body.extend(order.u32(0));
        self.block(1, &body)
    }

    pub fn enhanced(&mut self, interface: u32, units: u64, wire_bytes: u32, bytes: &[u8]) -> &mut Self {
        let order = self.order;
        let words = [interface, (units >> 32) as u32, units as u32, bytes.len() as u32, wire_bytes];
        let mut body = words.map(|word| order.u32(word)).concat();
        body.extend(bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend([&order.u16(1)[..], &order.u16(3), b"hey\0", &order.u32(0)].concat());
        self.block(6, &body)
    }

    pub fn obsolete(&mut self, interface: u16, units: u64, wire_bytes: u32, bytes: &[u8]) -> &mut Self {
        let order = self.order;
        let mut body = [order.u16(interface), order.u16(7)].concat();
        let words = [(units >> 32) as u32, units as u32, bytes.len() as u32, wire_bytes];
        body.extend(words.map(|word| order.u32(word)).concat());
        body.extend(bytes);
        self.block(2, &body)
    }

    pub fn simple(&mut self, wire_bytes: u32, bytes: &[u8]) -> &mut Self {
        let mut body = self.order.u32(wire_bytes).to_vec();
        body.extend(bytes);
        self.block(3, &body)
    }
}

/// One of the compressions below.
pub type Compress = fn(&[u8]) -> Vec<u8>;

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn lz4(bytes: &[u8]) -> Vec<u8> {
    let size = lz4_flex::frame::BlockSize::Max64KB;
    let info = lz4_flex::frame::FrameInfo::new().block_size(size).content_checksum(true).block_checksums(true);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut options = lzma_rust2::XzOptions::with_preset(1);
    options.set_block_size(std::num::NonZeroU64::new(64 << 10));
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A file of ERF with records of this type and one extension header, and where they begin.
pub fn erf(kind: u8, packets: &[Packet]) -> (Vec<u8>, Vec<u64>) {
    let (mut file, mut starts) = (Vec::new(), Vec::new());
    let subheader: &[u8] = if matches!(kind, 2 | 11 | 16 | 20) { &[0, 0] } else { &[] };
    for packet in packets {
        starts.push(file.len() as u64);
        let (seconds, nanos) = (packet.timestamp_ns / 1_000_000_000, packet.timestamp_ns % 1_000_000_000);
        let stamp = seconds << 32 | (nanos << 32).div_ceil(1_000_000_000);
        file.extend(stamp.to_le_bytes());
        // Records whose packet is not whole have no padding, which would count as captured.
        let there = 16 + 8 + subheader.len() + packet.bytes.len();
        let whole = packet.bytes.len() == packet.wire_bytes as usize;
        let record = if whole { there.next_multiple_of(8) } else { there };
        file.extend([0x80 | kind, 4 | packet.interface as u8]);
        file.extend([record as u16, 0, packet.wire_bytes as u16].map(u16::to_be_bytes).concat());
        file.extend([3, 0, 0, 0, 0, 0, 0, 0]);
        file.extend(subheader);
        file.extend(&packet.bytes);
        file.extend(vec![0; record - there]);
    }
    (file, starts)
}

/// A file of Network Monitor in this version, with the media type of its packets, and where its records begin.
pub fn netmon((major, minor): (u8, u8), media: u16, packets: &[Packet]) -> (Vec<u8>, Vec<u64>) {
    // 14 November 2023, 22:13:20.
    const START_NS: u64 = 1_700_000_000_000_000_000;
    let mut file = if major == 1 { b"RTSS".to_vec() } else { b"GMBU".to_vec() };
    let of_file = if minor == 0 || major == 1 { media } else { 1 };
    file.extend([minor, major]);
    file.extend([of_file, 2023, 11, 2, 14, 22, 13, 20, 0].map(u16::to_le_bytes).concat());
    file.resize(128, 0);
    let mut starts = Vec::new();
    for packet in packets {
        starts.push(file.len() as u64);
        let since_ns = packet.timestamp_ns - START_NS;
        let (captured, wire) = (packet.bytes.len() as u32, packet.wire_bytes);
        if major == 1 {
            file.extend(((since_ns / 1_000_000) as u32).to_le_bytes());
            file.extend([wire as u16, captured as u16].map(u16::to_le_bytes).concat());
        } else {
            file.extend((since_ns / 1_000).to_le_bytes());
            file.extend([wire, captured].map(u32::to_le_bytes).concat());
        }
        file.extend(&packet.bytes);
        if major == 2 && minor >= 1 {
            file.extend(media.to_le_bytes());
        }
        if major == 2 && minor >= 2 {
            file.extend([0; 4]);
        }
        if major == 2 && minor >= 3 {
            file.extend((packet.timestamp_ns / 100 + 11_644_473_600 * 10_000_000).to_le_bytes());
            file.push(0);
        }
    }
    let table_at = file.len() as u32;
    file.extend(starts.iter().flat_map(|&start| (start as u32).to_le_bytes()));
    file[24..28].copy_from_slice(&table_at.to_le_bytes());
    file[28..32].copy_from_slice(&(4 * starts.len() as u32).to_le_bytes());
    (file, starts)
}

/// A generator of numbers for bulk data, so that a failing case can be run again.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}
