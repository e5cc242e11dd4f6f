//! The log of delivered bytes: a retransmission with different bytes is a second reading of the stream.
//!
//! Delivered runs are logged in one ring for all streams, each linked to the previous one of its direction. Where the
//! input can be read again, an entry has the position of the bytes; elsewhere they are copied into a second ring.
//!
//! The reach of the log is measured in packets and bytes of the whole input, not of one worker's share: the number of
//! workers does not change what is found.

/// Reads delivered bytes again, so that retransmissions can be compared with them.
pub trait History: Send {
    /// Fills `buffer` from `origin` (see [`Frame::origin`](crate::Frame::origin)). Returns whether that was possible.
    ///
    /// Small segments make many reads of a few bytes. What is [`HistoryAge::Near`] should be kept when it was read; of what is
    /// [`HistoryAge::Distant`] the engine reads at most two windows of [`HISTORY_WINDOW_BYTES`] for each packet, newest first.
    fn read(&mut self, origin: u64, age: HistoryAge, buffer: &mut [u8]) -> bool;
}

/// How far back in the input delivered bytes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryAge {
    /// At most [`HISTORY_NEAR_BYTES`].
    Near,
    /// Farther.
    Distant,
}

/// Captured bytes of the input that are near: more than 128 full segments of usual size, with other traffic between them.
pub const HISTORY_NEAR_BYTES: u64 = 512 << 10;

/// Bytes of a window of the distant input: 128 segments of a few bytes each, one after the other.
pub const HISTORY_WINDOW_BYTES: u64 = 16 << 10;

/// Marks origins that are positions in the ring of copies.
const COPIED: u64 = 1 << 63;
/// Longest run that is copied: the greatest IP packet.
const RUN_BYTES_MAX: usize = 1 << 16;

#[derive(Clone, Copy, Default)]
pub(crate) struct Run {
    pub origin: u64,
    /// Internal offset, modulo 2^32: runs are looked up among recent ones.
    pub start: u32,
    pub bytes: u32,
    /// Number of the direction's previous run; 0: none.
    pub before: u32,
    /// Number of the packet that delivered the run, modulo 2^32.
    pub packet: u32,
    /// Captured bytes of the whole input before that packet.
    pub input_at: u64,
}

impl Run {
    /// Whether its bytes lie in the ring of copies.
    pub(crate) fn is_copied(&self) -> bool {
        self.origin & COPIED != 0
    }
}

/// The two rings of the log.
#[derive(Default)]
pub(crate) struct DeliveryLog {
    runs: Vec<Run>,
    /// Number of the next run, from 1.
    next: u32,
    copies: Vec<u8>,
    copied: u64,
    copies_max: usize,
}

impl DeliveryLog {
    pub(crate) fn new(runs: u32, copies_max: u32) -> Self {
        // 2^31 is the greatest power of two: memory for it is the caller's concern, but its number must exist.
        let runs = if runs == 0 { 0 } else { runs.min(1 << 31).next_power_of_two() as usize };
        Self {
            runs: vec![Run::default(); runs],
            next: 1,
            copies: Vec::new(),
            copied: 0,
            copies_max: copies_max as usize,
        }
    }

    /// Memory allocated, bytes.
    pub(crate) fn bytes(&self) -> u64 {
        (self.runs.capacity() * size_of::<Run>() + self.copies.capacity()) as u64
    }

    #[inline(always)]
    pub(crate) fn is_kept(&self) -> bool {
        !self.runs.is_empty()
    }

    pub(crate) fn note(&mut self, run: Run) -> u32 {
        let number = self.next;
        let mask = self.runs.len() - 1;
        self.runs[number as usize & mask] = run;
        // 0 means no run: after 2^32 runs the oldest links lead nowhere, and those runs are out of reach by then.
        self.next = self.next.wrapping_add(1).max(1);
        number
    }

    /// Returns a run, unless it is older than the ring is long, in packets of the whole input. `packet`: the current
    /// one.
    pub(crate) fn get(&self, number: u32, packet: u64) -> Option<Run> {
        let age = self.next.wrapping_sub(number);
        if number == 0 || age == 0 || age as usize > self.runs.len() {
            return None;
        }
        let run = self.runs[number as usize & (self.runs.len() - 1)];
        (((packet as u32).wrapping_sub(run.packet) as usize) < self.runs.len()).then_some(run)
    }

    pub(crate) fn copy(&mut self, bytes: &[u8]) -> u64 {
        if bytes.len() > self.copies_max || bytes.len() > RUN_BYTES_MAX {
            return 0;
        }
        let size = self.copies_max + RUN_BYTES_MAX;
        self.copies.resize(size, 0);
        let mut at = (self.copied % size as u64) as usize;
        // A run is contiguous: what does not fit at the end starts at the beginning.
        if at + bytes.len() > size {
            self.copied += (size - at) as u64;
            at = 0;
        }
        self.copies[at..at + bytes.len()].copy_from_slice(bytes);
        let position = self.copied;
        self.copied += bytes.len() as u64;
        position | COPIED
    }

    /// Whether a run's bytes are still available. `input_bytes`: captured bytes of the whole input so far.
    pub(crate) fn is_readable(&self, run: &Run, input_bytes: u64) -> bool {
        run.origin != 0 && (!run.is_copied() || input_bytes - run.input_at <= self.copies_max as u64)
    }

    pub(crate) fn read(
        &self,
        origin: u64,
        age: HistoryAge,
        into: &mut [u8],
        history: &mut Option<Box<dyn History>>,
    ) -> bool {
        if origin & COPIED == 0 {
            return history.as_mut().is_some_and(|history| history.read(origin, age, into));
        }
        let position = origin & !COPIED;
        if self.copies.is_empty() || self.copied - position > self.copies.len() as u64 {
            return false;
        }
        let at = (position % self.copies.len() as u64) as usize;
        match self.copies.get(at..at + into.len()) {
            Some(bytes) => into.copy_from_slice(bytes),
            None => return false,
        }
        true
    }
}
