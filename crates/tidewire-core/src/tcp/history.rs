//! Comparison of retransmissions with delivered bytes: see [`delivery_log`](crate::delivery_log).
//!
//! One ring for all streams of a worker records delivered runs. If the input is one uncompressed file, an entry says
//! where the bytes are, and they are read again to compare a retransmission; otherwise the bytes are copied into a
//! second ring of 8 MiB. An entry is valid only as far back as the rings reach in packets and bytes of the whole input.

use super::payload::Payload;
use crate::{
    Direction,
    connection::Connection,
    delivery_log::{HISTORY_NEAR_BYTES, HISTORY_WINDOW_BYTES, HistoryAge, Run},
    flow::Flow,
};

/// How many runs back a retransmission is searched: what a sender can have in flight, in segments of usual size.
const STEPS_MAX: u32 = 128;

/// Small runs that comparisons of a direction read, for each of its packets: a segment over 128 runs of a few bytes costs 16 times as much as
/// another one. As with windows, the first one can use what all packets before it have earned.
const SMALL_RUNS_PER_PACKET: u64 = 32;

/// Bytes compared of a run that is not small: these, not the run, are what it costs.
const LARGE_RUN_BYTES: i64 = 256;

/// Distant windows of the input that comparisons of a direction read, for each of its packets: a sender that scatters small
/// segments over the input makes each comparison read it at many places. The first comparison can use what all packets before it
/// have earned, so that only repetitions reach the bound.
const WINDOWS_PER_PACKET: u64 = 2;

impl Connection<'_> {
    /// Logs bytes that are delivered.
    #[inline(always)]
    pub(crate) fn remember(&mut self, direction: Direction, start: u64, bytes: &[u8], origin: u64) {
        if !self.shared.delivery_log.is_kept() || bytes.is_empty() {
            return;
        }
        let origin =
            if origin == 0 || self.shared.history.is_none() { self.shared.delivery_log.copy(bytes) } else { origin };
        let half = &mut self.flow.halves[direction as usize];
        let run = Run {
            origin,
            start: start as u32,
            bytes: bytes.len() as u32,
            before: half.delivery_log,
            packet: self.shared.now.number as u32,
            input_at: self.shared.now.input_bytes,
        };
        half.delivery_log = self.shared.delivery_log.note(run);
    }

    /// Compares a retransmission with what was delivered, as far back as the log reaches.
    pub(crate) fn compare(&mut self, direction: Direction, start: i64, end: i64, payload: &Payload<'_>) {
        if !self.shared.delivery_log.is_kept() {
            return;
        }
        let next = self.flow.halves[direction as usize].next as i64;
        let mut number = self.flow.halves[direction as usize].delivery_log;
        let mut earliest = end.min(next);
        let mut window = None;
        for _ in 0..STEPS_MAX {
            let Some(run) = self.shared.delivery_log.get(number, self.shared.now.number) else { return };
            number = run.before;
            // The run lies before `next` by less than 2^32.
            let run_start = next - i64::from((next as u32).wrapping_sub(run.start));
            let run_end = run_start + i64::from(run.bytes);
            if run_end <= start {
                return;
            }
            earliest = earliest.min(run_start);
            let (from, until) = (start.max(run_start), end.min(run_end));
            if !self.shared.delivery_log.is_readable(&run, self.shared.now.input_bytes) || from >= until {
                continue;
            }
            if until - from < LARGE_RUN_BYTES && !pay_for_run(self.flow, direction) {
                self.shared.ledger.uncompared_bytes += (until - start.max(0)).max(0) as u64;
                return;
            }
            let age = self.age(&run);
            if age == HistoryAge::Distant && !pay_for_window(self.flow, direction, &mut window, &run) {
                self.shared.ledger.uncompared_bytes += (until - start.max(0)).max(0) as u64;
                return;
            }
            let new = payload.bytes.get((from - start) as usize..).unwrap_or_default();
            let new = &new[..new.len().min((until - from) as usize)];
            self.compare_run(direction, from, new, (run.origin + (from - run_start) as u64, age));
        }
        if self.shared.delivery_log.get(number, self.shared.now.number).is_some() {
            self.shared.ledger.uncompared_bytes += (earliest - start.max(0)).max(0) as u64;
        }
    }

    /// How far back in the input a run lies. By the input's bytes, which are the same for any number of workers.
    fn age(&self, run: &Run) -> HistoryAge {
        let is_near = run.is_copied() || self.shared.now.input_bytes.saturating_sub(run.input_at) <= HISTORY_NEAR_BYTES;
        if is_near { HistoryAge::Near } else { HistoryAge::Distant }
    }

    fn compare_run(&mut self, direction: Direction, from: i64, new: &[u8], (origin, age): (u64, HistoryAge)) {
        let mut scratch = std::mem::take(&mut self.shared.scratch);
        if scratch.len() < new.len() {
            scratch.resize(new.len(), 0);
        }
        let old = &mut scratch[..new.len()];
        if self.shared.delivery_log.read(origin, age, old, &mut self.shared.history) && *old != *new {
            let bias = self.flow.bias(direction);
            differing(old, new, |begin, end| {
                let offset = (from as u64 + begin as u64).saturating_sub(bias);
                self.conflict(direction, offset, (end - begin) as u64);
            });
        }
        self.shared.scratch = scratch;
    }
}

/// Calls `each` with the beginning and the end of each run of bytes in which two slices of one length differ.
#[inline]
fn differing(old: &[u8], new: &[u8], mut each: impl FnMut(usize, usize)) {
    let mut at = 0;
    while let Some(begin) = position(old, new, at, lowest_set) {
        let end = position(old, new, begin + 1, lowest_zero).unwrap_or(old.len());
        each(begin, end);
        at = end;
    }
}

/// The first byte from `from` on of the exclusive or of two slices that `find` wants, eight bytes at a time.
#[inline]
fn position(old: &[u8], new: &[u8], from: usize, find: impl Fn(u64) -> u64) -> Option<usize> {
    let (old, new) = (old.get(from..)?, new.get(from..)?);
    let (old_words, new_words) = (old.as_chunks::<8>(), new.as_chunks::<8>());
    let mut at = from;
    for (old, new) in old_words.0.iter().zip(new_words.0) {
        let found = find(u64::from_le_bytes(*old) ^ u64::from_le_bytes(*new));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let rest = old_words
        .1
        .iter()
        .zip(new_words.1)
        .position(|(old, new)| find(u64::MAX << 8 | u64::from(old ^ new)) & 0xff != 0);
    rest.map(|index| at + index)
}

/// A word of which the lowest set bit lies in the lowest byte that is not zero.
#[inline]
fn lowest_set(word: u64) -> u64 {
    word
}

/// A word of which the lowest set bit lies in the lowest byte that is zero.
#[inline]
fn lowest_zero(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    word.wrapping_sub(ONES) & !word & (ONES << 7)
}

/// Whether there is a small run left for a direction.
fn pay_for_run(flow: &mut Flow, direction: Direction) -> bool {
    let earned = flow.packets(direction as usize).saturating_mul(SMALL_RUNS_PER_PACKET);
    let spent = &mut flow.slow_state().small_runs_compared[direction as usize];
    let has_one = *spent < earned;
    *spent += u64::from(has_one);
    has_one
}

/// Whether a direction may read a distant run: it lies in the comparison's last window, or there is one left for the direction.
fn pay_for_window(flow: &mut Flow, direction: Direction, window: &mut Option<u64>, run: &Run) -> bool {
    let (at, end) = (direction as usize, run.origin + u64::from(run.bytes));
    if window.is_some_and(|begin| begin <= run.origin && end <= begin + HISTORY_WINDOW_BYTES) {
        return true;
    }
    let earned = flow.packets(at).saturating_mul(WINDOWS_PER_PACKET);
    let spent = &mut flow.slow_state().windows_read[at];
    if *spent >= earned {
        return false;
    }
    *spent += 1;
    *window = Some(end.saturating_sub(HISTORY_WINDOW_BYTES));
    true
}

#[cfg(test)]
mod tests {
    use super::differing;

    #[test]
    fn runs_of_differences_are_those_of_the_bytes() {
        let mut state = 7_u64;
        for round in 0..4000 {
            let mut random = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize
            };
            let old: Vec<u8> = (0..round % 61).map(|_| random() as u8).collect();
            // Differences of each kind: few, most, of the highest and the lowest bit.
            let rarely = 1 + round % 7;
            let new: Vec<u8> = old
                .iter()
                .map(|byte| if random() % rarely == 0 { byte ^ [1, 0x80, 0xff][random() % 3] } else { *byte })
                .collect();
            let mut expected: Vec<(usize, usize)> = Vec::new();
            for at in (0..old.len()).filter(|&at| old[at] != new[at]) {
                match expected.last_mut() {
                    Some(last) if last.1 == at => last.1 += 1,
                    _ => expected.push((at, at + 1)),
                }
            }
            let mut found = Vec::new();
            differing(&old, &new, |begin, end| found.push((begin, end)));
            assert_eq!(found, expected, "{old:?} {new:?}");
        }
    }
}
