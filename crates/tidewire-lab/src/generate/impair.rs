//! Copies a capture as a lossy path would show it.

use std::{collections::VecDeque, io, path::Path};

use tidewire_files::{Block, Error, Reader, Source as _};

use crate::{pcapfile::Writer, random::Random};

/// Of a thousand packets, how many are dropped; the same number is duplicated.
const DROPPED_PERMILLE: u64 = 1;
/// See `DROPPED_PERMILLE`.
const DOUBLED_PERMILLE: u64 = 1;
/// Of a thousand packets, how many arrive late.
const DISPLACED_PERMILLE: u64 = 5;
/// The most places by which a packet is late.
const PLACES_MAX: u64 = 6;

/// The changes to a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Impaired {
    /// Packets dropped.
    pub dropped: u64,
    /// Packets written twice.
    pub doubled: u64,
    /// Packets delayed.
    pub displaced: u64,
    /// Packets written.
    pub written: u64,
}

/// A packet of the capture.
#[derive(Clone, Debug, Default)]
struct Record {
    time_us: u64,
    wire_bytes: u32,
    frame: Vec<u8>,
}

/// A capture, packet by packet.
struct Packets {
    reader: Reader,
    block: Block,
    /// The next frame in the block.
    next: usize,
}

impl Packets {
    fn open(path: &Path) -> io::Result<Self> {
        let reader = Reader::open(path).map_err(io::Error::other)?;
        Ok(Self { reader, block: Block::new(), next: 0 })
    }

    /// Reads until there is a frame; returns the link type of the next one. `None` at the end: a truncated record is dropped.
    fn link(&mut self) -> io::Result<Option<u32>> {
        loop {
            if let Some(frame) = self.block.batch().frames.get(self.next) {
                return Ok(Some(frame.link.0.into()));
            }
            self.next = 0;
            match self.reader.fill(&mut self.block) {
                Ok(true) => {}
                Ok(false) | Err(Error::Damaged(_)) => return Ok(None),
                Err(error) => return Err(io::Error::other(error)),
            }
        }
    }

    /// The next packet into `record`; false at the end.
    fn next_into(&mut self, record: &mut Record) -> io::Result<bool> {
        if self.link()?.is_none() {
            return Ok(false);
        }
        let batch = self.block.batch();
        let Some(frame) = batch.frames.get(self.next) else { return Ok(false) };
        (record.time_us, record.wire_bytes) = (frame.timestamp.as_nanos() / 1000, frame.wire_bytes);
        record.frame.clear();
        record.frame.extend_from_slice(batch.bytes(frame));
        self.next += 1;
        Ok(true)
    }
}

/// Copies a capture; of a thousand packets one is dropped, one duplicated, five are displaced by 1 to 6 positions.
/// Timestamps stay with the positions, so that time does not go backwards.
///
/// # Errors
/// The error of the file system, or of the reader of a capture.
pub fn impair(input: &Path, output: &Path, seed: u64) -> io::Result<Impaired> {
    let mut packets = Packets::open(input)?;
    let mut writer = match packets.link()? {
        Some(link) => Writer::with_link(output, link)?,
        None => Writer::create(output)?,
    };
    let mut random = Random::new(seed);
    let mut done = Impaired::default();
    // The next places' packets, as many as a displacement can reach; `times` holds their timestamps.
    let mut waiting: VecDeque<Record> = VecDeque::new();
    let mut times: VecDeque<u64> = VecDeque::new();
    let mut spare: Vec<Record> = Vec::new();
    let mut ended = false;
    loop {
        while !ended && waiting.len() <= PLACES_MAX as usize {
            let mut record = spare.pop().unwrap_or_default();
            if !packets.next_into(&mut record)? {
                ended = true;
                break;
            }
            match random.below(1000) {
                chance if chance < DROPPED_PERMILLE => {
                    done.dropped += 1;
                    spare.push(record);
                    continue;
                }
                chance if chance < DROPPED_PERMILLE + DOUBLED_PERMILLE => {
                    done.doubled += 1;
                    times.push_back(record.time_us);
                    waiting.push_back(record.clone());
                }
                _ => {}
            }
            times.push_back(record.time_us);
            waiting.push_back(record);
        }
        if waiting.len() > PLACES_MAX as usize && random.below(1000) < DISPLACED_PERMILLE {
            let places = 1 + random.below(PLACES_MAX) as usize;
            if let Some(late) = waiting.pop_front() {
                waiting.insert(places, late);
                done.displaced += 1;
            }
        }
        let (Some(record), Some(time_us)) = (waiting.pop_front(), times.pop_front()) else { break };
        writer.write_record(time_us, &record.frame, record.wire_bytes)?;
        spare.push(record);
    }
    done.written = writer.finish()?.0;
    Ok(done)
}
