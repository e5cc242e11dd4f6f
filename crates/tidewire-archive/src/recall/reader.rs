//! Reads what is found in one capture, in the order in which it lies there.

use std::{fs::File, ops::Range, path::PathBuf};

use tidewire_files::{Record, Records};
use tidewire_wire::Frame;

use super::{
    entry::Entry,
    interfaces::Descriptions,
    plan::{Chosen, Part, Plan},
};
use crate::{Error, Identities, block::PACKET_AT, query::Exact, read_at::ReadAt};

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1 << 20;
/// Bytes of a record at most, as the readers of captures have it.
const RECORD_BYTES_MAX: usize = 160 << 20;
/// Where few bytes of a piece are wanted, less is read at once.
const SMALL_BYTES: usize = 64 << 10;

/// Packets that were found, in memory.
#[derive(Debug, Default)]
pub(crate) struct Piece {
    /// Their `at` is an offset in `bytes`, their interface a number in the capture.
    pub frames: Vec<Frame>,
    pub bytes: Vec<u8>,
    /// Options of each packet's block, in `bytes`; empty where it has none.
    pub options: Vec<Range<usize>>,
}

impl Piece {
    fn clear(&mut self) {
        self.frames.clear();
        self.bytes.clear();
        self.options.clear();
    }
}

/// A capture that is being read.
pub(crate) struct Reader {
    data: Box<dyn ReadAt>,
    path: PathBuf,
    records: Records,
    /// Parts to read, in order.
    parts: Vec<Part>,
    next_part: usize,
    /// The number of the next packet in the capture, from 0.
    next_packet: u64,
    /// Packets of the directory before those of the capture.
    packets_before: u64,
    /// Where the next record of the range begins.
    at: u64,
    /// Descriptions that an index knows, and how many of them were read.
    known: Vec<(u64, u32)>,
    next_known: usize,
    pub descriptions: Descriptions,
    chosen: Option<Chosen>,
    is_part: bool,
    buffer: Vec<u8>,
    pub bytes_read: u64,
    /// Keeps the capture from being removed.
    _lock: File,
}

impl Reader {
    /// Opens a capture; `None`: it was removed, or there is nothing in it.
    pub fn open(entry: &Entry, plan: Plan, identities: &Identities) -> Result<Option<Self>, Error> {
        let Some((mut data, lock)) = entry.open(identities)? else { return Ok(None) };
        let mut head = Vec::new();
        data.read_at(0, Records::HEAD_BYTES, &mut head)?;
        let records = match Records::recognise(&head) {
            Some(Ok(records)) => records,
            Some(Err(what)) => return Err(Error::damaged(&entry.path, what)),
            // Its first blocks are not there yet.
            None if entry.is_part => return Ok(None),
            None => return Err(Error::damaged(&entry.path, "it is no capture")),
        };
        let whole = records.first_offset()..data.bytes();
        let parts = plan.parts.unwrap_or_else(|| vec![Part { range: whole, first: 0 }]);
        let mut reader = Self {
            data,
            path: entry.path.clone(),
            records,
            parts,
            next_part: 0,
            next_packet: 0,
            packets_before: entry.packets_before,
            at: 0,
            known: plan.descriptions,
            next_known: 0,
            descriptions: Descriptions::default(),
            chosen: plan.chosen,
            is_part: entry.is_part,
            buffer: Vec::new(),
            bytes_read: 0,
            _lock: lock,
        };
        reader.begin_part();
        Ok(Some(reader))
    }

    fn begin_part(&mut self) {
        if let Some(part) = self.parts.get(self.next_part) {
            (self.at, self.next_packet) = (part.range.start, part.first);
        }
    }

    /// Replaces what is in `piece` by the next packets that are found; false at the end. May return none of them, where much was read.
    pub fn fill(&mut self, exact: &mut Exact, piece: &mut Piece) -> Result<bool, Error> {
        piece.clear();
        while let Some(range) = self.parts.get(self.next_part).map(|part| part.range.clone()) {
            if self.at >= range.end {
                self.next_part += 1;
                self.begin_part();
                continue;
            }
            self.describe(range.start.max(self.at))?;
            let wanted = (range.end - self.at).min(PIECE_BYTES as u64) as usize;
            if !self.read(wanted, range.end, exact, piece)? {
                // The rest is incomplete: a crash, or a recorder at work, left it.
                self.next_part = self.parts.len();
            }
            if !piece.frames.is_empty() || self.next_part == self.parts.len() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the descriptions before an offset that were passed over.
    fn describe(&mut self, before: u64) -> Result<(), Error> {
        while let Some(&(offset, length)) = self.known.get(self.next_known).filter(|known| known.0 < before) {
            let mut block = Vec::new();
            self.data.read_at(offset, length as usize, &mut block)?;
            let mut described = false;
            let walked = self.records.walk(&block, |_, record| described |= matches!(record, Record::Description));
            if !described || walked != Ok(block.len()) {
                return Err(Error::damaged(&self.path, format!("at byte {offset}: no description, as its index says")));
            }
            self.descriptions.add(&block);
            self.next_known += 1;
        }
        Ok(())
    }

    /// Reads records from `self.at` on; false: there are no more in a capture that is not complete.
    fn read(&mut self, mut wanted: usize, end: u64, exact: &mut Exact, piece: &mut Piece) -> Result<bool, Error> {
        loop {
            self.data.read_at(self.at, wanted, &mut self.buffer)?;
            self.bytes_read += self.buffer.len() as u64;
            let is_cut = self.buffer.len() < wanted;
            let walked = self.walk(exact, piece);
            let taken = match walked {
                Ok(taken) => taken,
                Err((taken, _)) if self.is_part => {
                    // Allocated and not written, or written in part.
                    self.at += taken as u64;
                    return Ok(false);
                }
                Err((taken, what)) => {
                    let at = self.at + taken as u64;
                    self.next_part = self.parts.len();
                    return Err(Error::damaged(&self.path, format!("at byte {at}: {what}")));
                }
            };
            self.at += taken as u64;
            if taken > 0 || self.at >= end {
                return Ok(true);
            }
            if is_cut || self.at + wanted as u64 >= end || wanted >= RECORD_BYTES_MAX {
                if self.is_part {
                    return Ok(false);
                }
                self.next_part = self.parts.len();
                return Err(Error::damaged(&self.path, format!("at byte {}: a packet is cut", self.at)));
            }
            // A record that is longer than the piece.
            wanted = (wanted * 4).min((end - self.at) as usize).max(SMALL_BYTES);
        }
    }

    /// Adds what is found among the records in the buffer.
    fn walk(&mut self, exact: &mut Exact, piece: &mut Piece) -> Result<usize, (usize, String)> {
        let Self { records, buffer, descriptions, chosen, at, next_known, known, next_packet, packets_before, .. } =
            self;
        let is_pcapng = records.is_pcapng();
        records.walk(buffer, |place, record| {
            let offset = *at + place.start as u64;
            match record {
                Record::Packet(frame) => {
                    *next_packet = next_packet.saturating_add(1);
                    let number = packets_before.saturating_add(*next_packet);
                    let start = frame.at as usize;
                    let end = start + frame.captured_bytes as usize;
                    let bytes = buffer.get(start..end).unwrap_or_default();
                    let is_chosen = match chosen {
                        None => true,
                        Some(Chosen::Placed(own)) => own.has(offset),
                        Some(Chosen::Traced(trace)) => trace.has(number, &frame, bytes),
                    };
                    if !is_chosen || !exact.matches(&frame, bytes) {
                        return;
                    }
                    let at = piece.bytes.len();
                    piece.frames.push(frame.with_place(at as u32, frame.captured_bytes).with_number(number));
                    piece.bytes.extend_from_slice(bytes);
                    // Only enhanced packets have their options behind the packet's padding.
                    let is_enhanced = is_pcapng && descriptions.is_little_endian() && start == place.start + PACKET_AT;
                    let options = start + (end - start).next_multiple_of(4)..place.end.saturating_sub(4);
                    let at = piece.bytes.len();
                    if is_enhanced && options.start < options.end {
                        piece.bytes.extend_from_slice(buffer.get(options).unwrap_or_default());
                    }
                    piece.options.push(at..piece.bytes.len());
                }
                Record::Description => {
                    descriptions.add(buffer.get(place).unwrap_or_default());
                    if known.get(*next_known).is_some_and(|known| known.0 == offset) {
                        *next_known += 1;
                    }
                }
                _ => {}
            }
        })
    }
}

impl Piece {
    /// A packet's captured bytes.
    pub fn bytes_of(&self, frame: &Frame) -> &[u8] {
        let start = frame.at as usize;
        self.bytes.get(start..start + frame.captured_bytes as usize).unwrap_or_default()
    }

    /// The bytes of a packet's options.
    pub fn options_of(&self, place: Range<usize>) -> &[u8] {
        self.bytes.get(place).unwrap_or_default()
    }
}
