use std::path::PathBuf;

use tidewire_files::{Block, Source, open};
use tidewire_wire::LinkType;

use super::{
    MACS, Made, Traffic,
    rewrite::{Places, end, mask},
    tcp::padded,
};
use crate::{number::TRAILER_BYTES, size::FRAME_BYTES_MAX};

/// Errors of a replay.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// One cannot be read.
    #[error(transparent)]
    File(#[from] tidewire_files::Error),
    /// The speed is not a number above 0.
    #[error("{speed} times as fast: give a number above 0")]
    Speed {
        /// The given speed.
        speed: f64,
    },
    /// No frame is left.
    #[error("there is nothing to replay: {too_long} frames are too long, {no_ethernet} are not Ethernet")]
    Nothing {
        /// Frames longer than the limit.
        too_long: u64,
        /// Frames of other link types.
        no_ethernet: u64,
    },
    /// The frames exceed the memory limit.
    #[error(
        "the capture needs more than the {bytes} bytes of memory it may have; {frames} frames fit: allow more, or cut it"
    )]
    Memory {
        /// [`ReplaySettings::memory_bytes`]
        bytes: usize,
        /// Frames that fit.
        frames: usize,
    },
}

/// How a capture is replayed.
#[derive(Clone, Debug)]
pub struct ReplaySettings {
    /// Captures, merged by time.
    pub paths: Vec<PathBuf>,
    /// Number of loops; `None`: no limit. IP addresses differ in each loop.
    pub loops: Option<u64>,
    /// Speed relative to the recording; only with [`Rate::Timed`](crate::Rate::Timed). Default 1.
    pub speed: f64,
    /// Most memory for the frames, bytes. Default 1 GiB.
    pub memory_bytes: usize,
    /// Longest frame; longer ones are skipped and counted. Default: 9,018 bytes on the wire.
    pub frame_bytes_max: usize,
    /// Numbers at the frames' ends.
    pub numbered: bool,
}

impl ReplaySettings {
    /// The defaults, for these captures.
    #[must_use]
    pub fn new(paths: Vec<PathBuf>) -> Self {
        Self {
            paths,
            loops: Some(1),
            speed: 1.0,
            memory_bytes: 1 << 30,
            frame_bytes_max: FRAME_BYTES_MAX,
            numbered: true,
        }
    }
}

/// A frame in memory.
#[derive(Clone, Copy, Debug)]
struct Kept {
    at: usize,
    bytes: u32,
    /// Time since the first frame.
    time_ns: u64,
    places: Option<Places>,
    end: u8,
}

/// Frames of captures, sent from memory in any number of loops. Bytes that were not captured are zero.
#[derive(Clone, Debug)]
pub struct Replay {
    settings: ReplaySettings,
    memory: Vec<u8>,
    frames: Vec<Kept>,
    /// How long a loop takes.
    span_ns: u64,
    next: usize,
    turn: u64,
    /// Frames truncated in the capture, and frames skipped.
    cut: u64,
    too_long: u64,
    no_ethernet: u64,
}

impl Replay {
    /// Loads captures.
    ///
    /// # Errors
    /// They cannot be read, contain nothing to send, or exceed the memory limit.
    pub fn load(settings: ReplaySettings) -> Result<Self, ReplayError> {
        if !(settings.speed > 0.0 && settings.speed.is_finite()) {
            return Err(ReplayError::Speed { speed: settings.speed });
        }
        let mut replay = Self {
            memory: Vec::new(),
            frames: Vec::new(),
            span_ns: 0,
            next: 0,
            turn: 0,
            cut: 0,
            too_long: 0,
            no_ethernet: 0,
            settings,
        };
        let mut source = open(&replay.settings.paths)?;
        let mut block = Block::new();
        let mut first_ns = None;
        while source.fill(&mut block)? {
            let batch = block.batch();
            for frame in batch.frames {
                let first = *first_ns.get_or_insert(frame.timestamp.as_nanos());
                replay.keep(frame, batch.bytes(frame), frame.timestamp.as_nanos().saturating_sub(first))?;
            }
        }
        let Some(last) = replay.frames.last() else {
            return Err(ReplayError::Nothing { too_long: replay.too_long, no_ethernet: replay.no_ethernet });
        };
        // The pause after a loop's last frame is the average one.
        replay.span_ns = last.time_ns + (last.time_ns / replay.frames.len() as u64).max(1);
        Ok(replay)
    }

    fn trailer_bytes(&self) -> usize {
        if self.settings.numbered { TRAILER_BYTES } else { 0 }
    }

    fn keep(&mut self, frame: &tidewire_wire::Frame, bytes: &[u8], time_ns: u64) -> Result<(), ReplayError> {
        let header = match frame.link {
            LinkType::ETHERNET => None,
            // Plain IP gets a header.
            LinkType::RAW | LinkType::IPV4 | LinkType::IPV6 => {
                let is_v6 = bytes.first().is_some_and(|first| first >> 4 == 6);
                let [near, far] = MACS;
                Some([far.as_slice(), &near, if is_v6 { &[0x86, 0xdd] } else { &[8, 0] }].concat())
            }
            _ => {
                self.no_ethernet += 1;
                return Ok(());
            }
        };
        let header = header.unwrap_or_default();
        let wire_bytes = header.len() + frame.wire_bytes as usize;
        if wire_bytes + self.trailer_bytes() > self.settings.frame_bytes_max || wire_bytes < 14 {
            self.too_long += 1;
            return Ok(());
        }
        if self.memory.len() + wire_bytes + self.frames.len() * size_of::<Kept>() > self.settings.memory_bytes {
            return Err(ReplayError::Memory { bytes: self.settings.memory_bytes, frames: self.frames.len() });
        }
        self.cut += u64::from(frame.captured_bytes < frame.wire_bytes);
        let at = self.memory.len();
        self.memory.extend(&header);
        self.memory.extend(bytes);
        self.memory.resize(at + wire_bytes, 0);
        let kept = self.memory.get(at..).unwrap_or_default();
        let places = Places::find(kept);
        let end = end(kept, places) as u8;
        self.frames.push(Kept { at, bytes: wire_bytes as u32, time_ns, places, end });
        Ok(())
    }

    /// Frames of a loop.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.frames.len() as u64
    }
}

impl Traffic for Replay {
    fn next(&mut self, _number: u64, frame: &mut [u8]) -> Option<Made> {
        if self.next == self.frames.len() {
            self.next = 0;
            self.turn += 1;
        }
        if self.settings.loops.is_some_and(|loops| self.turn >= loops) {
            return None;
        }
        let kept = *self.frames.get(self.next)?;
        let bytes = kept.bytes as usize;
        let place = frame.get_mut(..bytes)?;
        place.copy_from_slice(self.memory.get(kept.at..kept.at + bytes)?);
        if let (Some(places), 1..) = (kept.places, self.turn) {
            places.turn(place, mask(self.turn));
        }
        let total = padded(frame, bytes, self.trailer_bytes());
        self.next += 1;
        let time_ns = self.turn as f64 * self.span_ns as f64 + kept.time_ns as f64;
        Some(Made { bytes: total, end: kept.end.into(), due_ns: Some((time_ns / self.settings.speed) as u64) })
    }

    fn rewind(&mut self) {
        (self.next, self.turn) = (0, 0);
    }

    fn bytes_max(&self) -> usize {
        let longest = self.frames.iter().map(|kept| kept.bytes).max().unwrap_or(0) as usize;
        (longest + self.trailer_bytes()).max(60)
    }

    fn numbered(&self) -> bool {
        self.settings.numbered
    }

    fn tally(&self) -> Vec<(&'static str, u64)> {
        let looped = self.next == self.frames.len();
        vec![
            ("capture_frames", self.frames()),
            (
                "loops_finished",
                self.turn + u64::from(looped && self.settings.loops.is_none_or(|most| self.turn < most)),
            ),
            ("frames_cut_in_capture", self.cut),
            ("frames_too_long", self.too_long),
            ("frames_not_ethernet", self.no_ethernet),
        ]
    }
}
