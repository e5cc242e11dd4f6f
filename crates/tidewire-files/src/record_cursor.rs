use tidewire_wire::LinkType;
use tidewire_wire::{Frame, Pace, PacketClock, Timestamp};

/// The result of scanning the available bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// All complete records were read; this many bytes belong to them.
    Taken(usize),
    /// As above, and what follows is damaged.
    Damaged(usize, String),
    /// As above, and what follows is the header of another file.
    Another(usize),
}

impl Walk {
    pub(crate) fn taken(&self) -> usize {
        match self {
            Self::Taken(bytes) | Self::Damaged(bytes, _) | Self::Another(bytes) => *bytes,
        }
    }
}

/// State over the whole input: the frame number and the clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct Count {
    /// Frames so far.
    pub number: u64,
    /// The clock of timers.
    pub clock: PacketClock,
    /// The first frame that has no time of its own, and how many there are.
    pub untimed: Option<(u64, u64)>,
}

/// The part of a count that each frame changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    number: u64,
    pace: Pace,
}

/// A record, before it is numbered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawRecord {
    pub at: usize,
    pub captured_bytes: u32,
    pub wire_bytes: u32,
    pub link: LinkType,
    pub interface: u16,
    pub timestamp_ns: u64,
    /// Offset of the frame's bytes in the stream plus one where they can be read again, else 0.
    pub origin: u64,
}

impl Count {
    /// The message for the next frame where its time is before 1970, or does not fit into 64 bits of nanoseconds since then, and none is
    /// before it whose time it could have.
    #[cold]
    pub(crate) fn no_time(&self) -> String {
        format!(
            "packet {} has a time before 1970 or after 2554; shift times first, as in editcap -t SECONDS",
            self.number + 1
        )
    }

    /// The next frame has the time of the one before it, because its own does not fit.
    #[cold]
    pub(crate) fn note_untimed(&mut self) {
        self.untimed.get_or_insert((self.number + 1, 0)).1 += 1;
    }

    /// The next frame.
    #[inline(always)]
    pub(crate) fn frame(&mut self, place: RawRecord) -> Frame {
        let mut step = self.step();
        let frame = self.frame_at(&mut step, place);
        self.keep(step);
        frame
    }

    /// The part that each frame changes, for a loop over frames: [`frame_at`](Self::frame_at) changes it, [`keep`](Self::keep)
    /// ends the loop.
    #[inline(always)]
    pub(crate) fn step(&self) -> Step {
        Step { number: self.number, pace: self.clock.pace() }
    }

    /// See [`step`](Self::step).
    #[inline(always)]
    pub(crate) fn keep(&mut self, step: Step) {
        self.number = step.number;
        self.clock.keep(step.pace);
    }

    /// See [`step`](Self::step).
    #[inline(always)]
    pub(crate) fn frame_at(&mut self, step: &mut Step, place: RawRecord) -> Frame {
        let number = step.number + 1;
        let timestamp = Timestamp::from_nanos(place.timestamp_ns);
        let pace = self.clock.advanced(step.pace, timestamp, number);
        *step = Step { number, pace };
        Frame::new(place.link, timestamp)
            .with_number(number)
            .with_place(place.at as u32, place.captured_bytes)
            .with_wire_bytes(place.wire_bytes.max(place.captured_bytes))
            .with_interface(place.interface)
            .with_clock(pace.now())
            .with_origin(place.origin)
    }

    /// Corrects the clocks of the frames that were counted since the last call.
    #[inline]
    pub(crate) fn settle(&mut self, frames: &mut [Frame]) {
        let first = (self.number + 1).saturating_sub(frames.len() as u64);
        self.clock.settle(frames, first);
    }
}

/// A 32-bit integer at `at`, in the file's byte order; `None` past the end.
#[inline(always)]
pub(crate) fn u32_at(bytes: &[u8], at: usize, big_endian: bool) -> Option<u32> {
    let raw = bytes.get(at..)?.first_chunk::<4>()?;
    Some(if big_endian { u32::from_be_bytes(*raw) } else { u32::from_le_bytes(*raw) })
}

/// A 16-bit integer at `at`, in the file's byte order; `None` past the end.
#[inline(always)]
pub(crate) fn u16_at(bytes: &[u8], at: usize, big_endian: bool) -> Option<u16> {
    let raw = bytes.get(at..)?.first_chunk::<2>()?;
    Some(if big_endian { u16::from_be_bytes(*raw) } else { u16::from_le_bytes(*raw) })
}
