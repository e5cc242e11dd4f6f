//! Comparison of retransmissions with delivered bytes: see [`delivery_log`](super::delivery_log).

use super::{
    delivery_log::{HISTORY_NEAR_BYTES, HISTORY_WINDOW_BYTES, HistoryAge, Run},
    payload::Payload,
};
use crate::{Deliver, Direction, engine::context::FlowContext, flow::Flow};

/// How many runs back a retransmission is searched: what a sender can have in flight, in segments of usual size.
const STEPS_MAX: u32 = 128;

/// Distant windows of the input that comparisons of a direction read, for each of its packets: a sender that scatters small
/// segments over the input makes each comparison read it at many places. The first comparison can use what all packets before it
/// have earned, so that only repetitions reach the bound.
const WINDOWS_PER_PACKET: u64 = 2;

impl<H: Deliver> FlowContext<H> {
    /// Logs bytes that are delivered.
    #[inline(always)]
    pub(crate) fn remember(&mut self, flow: &mut Flow, direction: Direction, start: u64, bytes: &[u8], origin: u64) {
        if !self.delivery_log.is_kept() || bytes.is_empty() {
            return;
        }
        let origin = if origin == 0 || self.history.is_none() { self.delivery_log.copy(bytes) } else { origin };
        let half = &mut flow.halves[direction as usize];
        let run = Run {
            origin,
            start: start as u32,
            bytes: bytes.len() as u32,
            before: half.delivery_log,
            packet: self.now.number as u32,
            input_at: self.now.input_bytes,
        };
        half.delivery_log = self.delivery_log.note(run);
    }

    /// Compares a retransmission with what was delivered, as far back as the log reaches.
    pub(crate) fn compare(
        &mut self,
        flow: &mut Flow,
        direction: Direction,
        start: i64,
        end: i64,
        payload: &Payload<'_>,
    ) {
        if !self.delivery_log.is_kept() {
            return;
        }
        let next = flow.halves[direction as usize].next as i64;
        let mut number = flow.halves[direction as usize].delivery_log;
        let mut earliest = end.min(next);
        let mut window = None;
        for _ in 0..STEPS_MAX {
            let Some(run) = self.delivery_log.get(number, self.now.number) else { return };
            number = run.before;
            // The run lies before `next` by less than 2^32.
            let run_start = next - i64::from((next as u32).wrapping_sub(run.start));
            let run_end = run_start + i64::from(run.bytes);
            if run_end <= start {
                return;
            }
            earliest = earliest.min(run_start);
            let (from, until) = (start.max(run_start), end.min(run_end));
            if !self.delivery_log.is_readable(&run, self.now.input_bytes) || from >= until {
                continue;
            }
            let age = self.age(&run);
            if age == HistoryAge::Distant && !pay_for_window(flow, direction, &mut window, &run) {
                self.ledger.uncompared_bytes += (until - start.max(0)).max(0) as u64;
                return;
            }
            let new = payload.bytes.get((from - start) as usize..).unwrap_or_default();
            let new = &new[..new.len().min((until - from) as usize)];
            self.compare_run(flow, direction, from, new, (run.origin + (from - run_start) as u64, age));
        }
        if self.delivery_log.get(number, self.now.number).is_some() {
            self.ledger.uncompared_bytes += (earliest - start.max(0)).max(0) as u64;
        }
    }

    /// How far back in the input a run lies. By the input's bytes, which are the same for any number of workers.
    fn age(&self, run: &Run) -> HistoryAge {
        let is_near = run.is_copied() || self.now.input_bytes.saturating_sub(run.input_at) <= HISTORY_NEAR_BYTES;
        if is_near { HistoryAge::Near } else { HistoryAge::Distant }
    }

    fn compare_run(
        &mut self,
        flow: &mut Flow,
        direction: Direction,
        from: i64,
        new: &[u8],
        (origin, age): (u64, HistoryAge),
    ) {
        let mut old = std::mem::take(&mut self.scratch);
        old.resize(new.len(), 0);
        if self.delivery_log.read(origin, age, &mut old, &mut self.history) && old != new {
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
