//! Reads a capture for the engine, and notes where its packets lie.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use tidewire_files::{Block, Record, Records, Source};
use tidewire_wire::PacketClock;

use super::attribution::Attribution;
use crate::{Error, index::InterfaceSummary, read_at::ReadAt, recall::Descriptions};

const PIECE_BYTES: usize = 256 << 10;
/// Bytes of a record at most, as the readers of captures have it.
const RECORD_BYTES_MAX: usize = 160 << 20;

/// A capture, read from its beginning to its last whole record.
pub(super) struct Walker {
    data: Box<dyn ReadAt>,
    path: PathBuf,
    records: Records,
    at: u64,
    buffer: Vec<u8>,
    clock: PacketClock,
    packets: u64,
    descriptions: Descriptions,
    state: Arc<Mutex<Attribution>>,
    is_ended: bool,
}

impl Walker {
    pub fn open(mut data: Box<dyn ReadAt>, path: &Path, state: Arc<Mutex<Attribution>>) -> Result<Self, Error> {
        let mut head = Vec::new();
        data.read_at(0, Records::HEAD_BYTES, &mut head)?;
        let records = match Records::recognise(&head) {
            Some(Ok(records)) => records,
            Some(Err(what)) => return Err(Error::damaged(path, what)),
            None => return Err(Error::damaged(path, "it is neither pcap nor pcapng")),
        };
        let at = records.first_offset();
        {
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            (state.is_pcapng, state.whole_bytes) = (records.is_pcapng(), at);
            if at > 0 {
                state.descriptions.push((0, at as u32));
            }
        }
        let (buffer, descriptions, clock) = (Vec::new(), Descriptions::default(), PacketClock::default());
        Ok(Self {
            data,
            path: path.into(),
            records,
            at,
            buffer,
            clock,
            packets: 0,
            descriptions,
            state,
            is_ended: false,
        })
    }

    fn piece(&mut self, wanted: usize, block: &mut Block) -> Result<usize, Error> {
        self.data.read_at(self.at, wanted, &mut self.buffer)?;
        let Self { records, buffer, at, clock, packets, descriptions, state, .. } = self;
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_full = None;
        let before = *packets;
        let walked = records.walk(buffer, |place, record| {
            let offset = *at + place.start as u64;
            let length = place.len() as u32;
            if is_full.is_some() {
                return;
            }
            match record {
                Record::Packet(frame) => {
                    let start = frame.at as usize;
                    let bytes = buffer.get(start..start + frame.captured_bytes as usize).unwrap_or_default();
                    let clock = clock.advance(frame.timestamp, *packets + 1);
                    let frame = frame.with_clock(clock).with_origin(0);
                    if block.push(frame, bytes).is_err() {
                        is_full = Some(place.start);
                        return;
                    }
                    *packets += 1;
                    state.interface(frame.interface, frame.link);
                    state.packet(&frame, bytes, offset, length);
                }
                Record::Description => {
                    state.descriptions.push((offset, length));
                    let known = descriptions.found.len();
                    descriptions.add(buffer.get(place).unwrap_or_default());
                    for interface in descriptions.found.get(known..).unwrap_or_default() {
                        let (name, link) = (interface.name.clone(), interface.link.0);
                        state.interfaces.push(InterfaceSummary { name, link, ..InterfaceSummary::default() });
                    }
                }
                _ => {
                    if let Some((interface, loss)) = descriptions.stated(buffer.get(place).unwrap_or_default()) {
                        state.stated(interface, &loss);
                    }
                }
            }
        });
        block.settle(clock, before + 1);
        let taken = match (&walked, is_full) {
            // A block holds 256 MiB, far more than a piece.
            (_, Some(taken)) => taken,
            (Ok(taken), None) | (Err((taken, _)), None) => *taken,
        };
        self.at += taken as u64;
        state.whole_bytes = self.at;
        if let Err((_, what)) = walked {
            state.damage = Some(format!("at byte {}: {what}", self.at));
            self.is_ended = true;
        }
        Ok(taken)
    }
}

impl Source for Walker {
    fn fill(&mut self, block: &mut Block) -> Result<bool, tidewire_files::Error> {
        block.clear();
        self.state.lock().unwrap_or_else(PoisonError::into_inner).end_block();
        let mut wanted = PIECE_BYTES;
        while !self.is_ended && block.batch().frames.is_empty() {
            let state = Arc::clone(&self.state);
            let failed = |error: Error| {
                let what = error.to_string();
                state.lock().unwrap_or_else(PoisonError::into_inner).unread = Some(error);
                tidewire_files::Error::Unsupported { path: PathBuf::new(), what }
            };
            let piece = self.piece(wanted, block);
            let taken = piece.map_err(failed)?;
            if taken > 0 {
                wanted = PIECE_BYTES;
            } else if self.buffer.len() < wanted || wanted >= RECORD_BYTES_MAX {
                if !self.buffer.is_empty() && !self.is_ended {
                    let what = format!("at byte {}: the capture ends within a record", self.at);
                    self.state.lock().unwrap_or_else(PoisonError::into_inner).damage = Some(what);
                }
                self.is_ended = true;
            } else {
                wanted *= 4;
            }
        }
        Ok(!block.batch().frames.is_empty())
    }

    fn bytes_read(&self) -> u64 {
        self.at
    }

    fn bytes_total(&self) -> Option<u64> {
        Some(self.data.bytes())
    }
}

impl std::fmt::Debug for Walker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walker").field("path", &self.path).finish_non_exhaustive()
    }
}
