//! A run of a sender.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use super::{
    account::Account,
    plan::{Plan, Progress, RunEnd},
};
use crate::{
    Rate,
    number::{TRAILER_BYTES, trailer},
    rate::TIME_SHIFT,
};

/// A run of a sender.
pub(super) struct Work<'a> {
    pub plan: &'a Plan,
    pub stop: &'a AtomicBool,
    pub progress: &'a mut dyn FnMut(&Progress),
    pub account: Account,
    pub reported: Instant,
}

impl Work<'_> {
    /// Whether to continue; reports progress when due.
    pub fn check(&mut self) -> Option<RunEnd> {
        if self.stop.load(Ordering::Relaxed) {
            return Some(RunEnd::Stopped);
        }
        if self.reported.elapsed() >= self.plan.progress {
            self.reported = Instant::now();
            (self.progress)(&self.account.progress());
        }
        let over = self.plan.duration.is_some_and(|most| self.account.elapsed() >= most);
        over.then_some(RunEnd::Duration)
    }

    /// How long the sender may wait: until the end, or until progress is due.
    pub fn patience(&self) -> Duration {
        /// Bounds the reaction time to a signal.
        const MOST: Duration = Duration::from_millis(50);
        self.plan.duration.map_or(MOST, |most| most.saturating_sub(self.account.elapsed()).min(MOST))
    }

    pub fn packets_max(&self) -> u64 {
        self.plan.packets.unwrap_or(u64::MAX)
    }

    /// How long a burst takes at the rate, nanoseconds; without a rate nothing is late.
    pub fn burst_ns(&self) -> u64 {
        if matches!(self.plan.rate, Rate::Flat | Rate::Timed) {
            return u64::MAX >> TIME_SHIFT;
        }
        let (per_packet, per_byte) = self.plan.rate.costs();
        (u64::from(self.plan.burst) * (per_packet + per_byte * 84)) >> TIME_SHIFT
    }
}

/// Writes a frame's number to its end.
pub(super) fn write_number(frame: &mut [u8], bytes: usize, number: u64) {
    if let Some(place) = bytes.checked_sub(TRAILER_BYTES).and_then(|at| frame.get_mut(at..bytes)) {
        place.copy_from_slice(&trailer(number));
    }
}
