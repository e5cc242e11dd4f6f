//! What was delivered before, for comparison: a retransmission with other bytes is a second reading of the stream.
//!
//! Delivered runs are noted in one ring for all streams, each linked to the one before it of its direction. Where the
//! input can be read again the note says where the bytes lie; elsewhere they are copied into a ring of their own.
//!
//! How far back a note counts is measured in packets and bytes of the whole input, not of what one worker sees of it:
//! so the number of workers does not change what is found.

use super::Payload;
use crate::{
    Direction, Handler,
    engine::core::{Core, History},
    flow::Flow,
};

/// How many runs back a retransmission is looked for: what a sender can have under way, in segments of usual size.
const STEPS_MAX: u32 = 128;
/// Marks origins that are positions in the ring of copies.
const COPIED: u64 = 1 << 63;
/// Longest run that is copied: what an IP packet can carry.
const RUN_BYTES_MAX: usize = 1 << 16;

#[derive(Clone, Copy, Default)]
struct Run {
    origin: u64,
    /// Internal offset, modulo 2^32: runs are looked up among recent ones.
    start: u32,
    bytes: u32,
    /// The direction's run before this one; 0: none.
    before: u32,
    /// Number of the packet that delivered it, modulo 2^32.
    packet: u32,
    /// Captured bytes of the whole input before that packet.
    input_at: u64,
}

/// The two rings.
#[derive(Default)]
pub(crate) struct Past {
    runs: Vec<Run>,
    /// Number of the next run, from 1.
    next: u32,
    copies: Vec<u8>,
    copied: u64,
    copies_max: usize,
}

impl Past {
    pub(crate) fn new(runs: u32, copies_max: u32) -> Self {
        let runs = if runs == 0 { 0 } else { runs.next_power_of_two() as usize };
        Self {
            runs: vec![Run::default(); runs],
            next: 1,
            copies: Vec::new(),
            copied: 0,
            copies_max: copies_max as usize,
        }
    }

    /// Memory that is taken.
    pub(crate) fn bytes(&self) -> u64 {
        (self.runs.capacity() * size_of::<Run>() + self.copies.capacity()) as u64
    }

    #[inline(always)]
    fn is_kept(&self) -> bool {
        !self.runs.is_empty()
    }

    fn note(&mut self, run: Run) -> u32 {
        let number = self.next;
        let mask = self.runs.len() - 1;
        self.runs[number as usize & mask] = run;
        // 0 stands for none: after 2^32 runs the oldest links lead nowhere, which is what they are worth by then.
        self.next = self.next.wrapping_add(1).max(1);
        number
    }

    /// A run, if it is no older than the ring is long, in packets of the whole input. `packet`: the current one.
    fn get(&self, number: u32, packet: u64) -> Option<Run> {
        let age = self.next.wrapping_sub(number);
        if number == 0 || age == 0 || age as usize > self.runs.len() {
            return None;
        }
        let run = self.runs[number as usize & (self.runs.len() - 1)];
        (((packet as u32).wrapping_sub(run.packet) as usize) < self.runs.len()).then_some(run)
    }

    fn copy(&mut self, bytes: &[u8]) -> u64 {
        if bytes.len() > self.copies_max || bytes.len() > RUN_BYTES_MAX {
            return 0;
        }
        let size = self.copies_max + RUN_BYTES_MAX;
        self.copies.resize(size, 0);
        let mut at = (self.copied % size as u64) as usize;
        // A run lies in one piece: what does not fit at the end begins anew.
        if at + bytes.len() > size {
            self.copied += (size - at) as u64;
            at = 0;
        }
        self.copies[at..at + bytes.len()].copy_from_slice(bytes);
        let position = self.copied;
        self.copied += bytes.len() as u64;
        position | COPIED
    }

    /// Whether a run's bytes can still be had. `input_bytes`: captured bytes of the whole input so far.
    fn is_readable(&self, run: &Run, input_bytes: u64) -> bool {
        run.origin != 0 && (run.origin & COPIED == 0 || input_bytes - run.input_at <= self.copies_max as u64)
    }

    fn read(&self, origin: u64, into: &mut [u8], history: &mut Option<Box<dyn History>>) -> bool {
        if origin & COPIED == 0 {
            return history.as_mut().is_some_and(|history| history.read(origin, into));
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

impl<H: Handler> Core<H> {
    /// Notes bytes that are handed over.
    #[inline(always)]
    pub(crate) fn remember(&mut self, flow: &mut Flow, direction: Direction, start: u64, bytes: &[u8], origin: u64) {
        if !self.past.is_kept() || bytes.is_empty() {
            return;
        }
        let origin = if origin == 0 || self.history.is_none() { self.past.copy(bytes) } else { origin };
        let half = &mut flow.halves[direction as usize];
        let run = Run {
            origin,
            start: start as u32,
            bytes: bytes.len() as u32,
            before: half.past,
            packet: self.number as u32,
            input_at: self.input_bytes,
        };
        half.past = self.past.note(run);
    }

    /// Compares a retransmission with what was handed over, as far back as that is known.
    pub(crate) fn compare(
        &mut self,
        flow: &mut Flow,
        direction: Direction,
        start: i64,
        end: i64,
        payload: &Payload<'_>,
    ) {
        if !self.past.is_kept() {
            return;
        }
        let next = flow.halves[direction as usize].next as i64;
        let mut number = flow.halves[direction as usize].past;
        let mut earliest = end.min(next);
        for _ in 0..STEPS_MAX {
            let Some(run) = self.past.get(number, self.number) else { return };
            number = run.before;
            // The run lies before `next` by less than 2^32.
            let run_start = next - i64::from((next as u32).wrapping_sub(run.start));
            let run_end = run_start + i64::from(run.bytes);
            if run_end <= start {
                return;
            }
            earliest = earliest.min(run_start);
            let (from, until) = (start.max(run_start), end.min(run_end));
            if !self.past.is_readable(&run, self.input_bytes) || from >= until {
                continue;
            }
            let new = payload.bytes.get((from - start) as usize..).unwrap_or_default();
            let new = &new[..new.len().min((until - from) as usize)];
            self.compare_run(flow, direction, from, new, run.origin + (from - run_start) as u64);
        }
        if self.past.get(number, self.number).is_some() {
            self.ledger.uncompared_bytes += (earliest - start.max(0)).max(0) as u64;
        }
    }

    fn compare_run(&mut self, flow: &mut Flow, direction: Direction, from: i64, new: &[u8], origin: u64) {
        let mut old = std::mem::take(&mut self.scratch);
        old.resize(new.len(), 0);
        if self.past.read(origin, &mut old, &mut self.history) && old != new {
            let bias = flow.bias(direction);
            let mut differing = old.iter().zip(new).enumerate().filter(|(_, (old, new))| old != new).map(|(at, _)| at);
            if let Some(first) = differing.next() {
                let (mut begin, mut end) = (first, first + 1);
                for at in differing {
                    if at != end {
                        self.conflict(
                            flow,
                            direction,
                            (from as u64 + begin as u64).saturating_sub(bias),
                            (end - begin) as u64,
                        );
                        begin = at;
                    }
                    end = at + 1;
                }
                self.conflict(flow, direction, (from as u64 + begin as u64).saturating_sub(bias), (end - begin) as u64);
            }
        }
        self.scratch = old;
    }
}
