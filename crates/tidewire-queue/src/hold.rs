//! Waiting for slow readers, and shedding where waiting did not help.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use crate::{
    members::Table,
    ring::{Limits, Words},
};

/// How long a publisher waits for readers that have not read what it would overwrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// At most so long at a time; then it sheds by priority until the slowest reader is less than half behind.
    AtMost(Duration),
    /// As long as the reader is attached. For inputs that can wait, as files can, and readers that are trusted.
    Unlimited,
}

/// Priorities of streams: 0, the lowest, to 7, which is never shed.
pub const PRIORITIES: u8 = tidewire_types::PRIORITIES_MAX;
/// Shedding ends below this part of the queue.
const SHED_BASE: f64 = 0.5;
/// Steps of waiting.
const STEP_MIN: Duration = Duration::from_micros(20);
const STEP_MAX: Duration = Duration::from_micros(500);

/// State of waiting, shared by server and publisher.
#[derive(Debug)]
pub(crate) struct HoldSettings {
    /// Nanoseconds of one wait; 0: none, the greatest: without end.
    limit_ns: AtomicU64,
    /// When all waits end, in nanoseconds since `begun`; the greatest: never.
    end_ns: AtomicU64,
    begun: Instant,
}

impl Default for HoldSettings {
    fn default() -> Self {
        Self { limit_ns: AtomicU64::new(0), end_ns: AtomicU64::new(u64::MAX), begun: Instant::now() }
    }
}

/// As a number that is less than the one that stands for no end.
pub(crate) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX - 1).min(u64::MAX - 1)
}

impl HoldSettings {
    pub(crate) fn set(&self, hold: Option<Hold>) {
        let limit = match hold {
            None => 0,
            Some(Hold::AtMost(time)) => nanoseconds(time).max(1),
            Some(Hold::Unlimited) => u64::MAX,
        };
        self.limit_ns.store(limit, Ordering::Relaxed);
    }

    pub(crate) fn end(&self, within: Duration) {
        self.end_ns.store(nanoseconds(self.begun.elapsed().saturating_add(within)), Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.limit_ns.load(Ordering::Relaxed) != 0
    }

    /// Whether all waits have ended.
    pub(crate) fn is_spent(&self) -> bool {
        let end = self.end_ns.load(Ordering::Relaxed);
        end != u64::MAX && nanoseconds(self.begun.elapsed()) >= end
    }

    /// Whether a wait that began so long ago is over.
    fn is_over(&self, waited: Duration) -> bool {
        let limit = self.limit_ns.load(Ordering::Relaxed);
        limit != u64::MAX && nanoseconds(waited) >= limit || self.is_spent()
    }
}

/// How far the slowest reader is behind that the publisher waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Behind {
    /// Up to where may be written without overwriting what it has not read.
    pub limits: Limits,
    /// Part of the queue that it has not read, 0 to 1.
    pub part: f64,
}

/// The slowest reader of a table. What readers say is taken as numbers: at most what is published, at least what is still there.
pub(crate) fn behind(table: &Table, words: &Words<'_>, sequence: u64, position: u64) -> Behind {
    let geometry = words.geometry();
    let mut behind = Behind { limits: Limits::NONE, part: 0.0 };
    for place in table.places.iter().flatten() {
        let Some(page) = &place.page else { continue };
        let read = page.sequence().clamp(place.first.min(sequence), sequence);
        // Lost already: nothing can be held for it but what is still there.
        let read = read.max(sequence.saturating_sub(geometry.slots()));
        let begin = if read == sequence { position } else { words.load_slot(read).position };
        let begin = begin.max(position.saturating_sub(geometry.payload_bytes()));
        let slots = (sequence - read) as f64 / geometry.slots() as f64;
        let bytes = (position - begin) as f64 / geometry.payload_bytes() as f64;
        behind.part = behind.part.max(slots).max(bytes);
        behind.limits.sequence = behind.limits.sequence.min(read + geometry.slots());
        behind.limits.position = behind.limits.position.min(begin + geometry.payload_bytes());
    }
    behind
}

/// Whether a record of this priority is shed while the slowest reader is so far behind.
pub(crate) fn is_shed(priority: u8, part: f64) -> bool {
    tidewire_types::is_shed(priority, (part * 1000.0) as u32)
}

/// Whether shedding may end.
pub(crate) fn is_relieved(part: f64) -> bool {
    part < SHED_BASE
}

/// Waits in small steps until `is_there`, which gets the time waited so far, says so or the time is over. Returns how long it
/// took, and whether it is there.
pub(crate) fn wait(settings: &HoldSettings, mut is_there: impl FnMut(Duration) -> bool) -> (Duration, bool) {
    let (begun, mut step) = (Instant::now(), STEP_MIN);
    let found = loop {
        if is_there(begun.elapsed()) {
            break true;
        }
        if settings.is_over(begun.elapsed()) {
            break false;
        }
        std::thread::sleep(step);
        step = (step * 2).min(STEP_MAX);
    };
    (begun.elapsed(), found)
}

/// Whether so many slots and bytes may be written.
pub(crate) fn fits(limits: Limits, sequence: u64, position: u64, slots: u64, bytes: u64) -> bool {
    sequence.saturating_add(slots) <= limits.sequence && position.saturating_add(bytes) <= limits.position
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_priorities_are_shed_earlier_and_the_highest_never() {
        let shed_at = |part: f64| (0..PRIORITIES).filter(|priority| is_shed(*priority, part)).count();
        assert_eq!([0.4, 0.5, 0.57, 0.7, 0.95, 1.0].map(shed_at), [0, 0, 1, 3, 7, 7]);
        assert!(is_relieved(0.49) && !is_relieved(0.5));
    }

    #[test]
    fn a_wait_ends_by_its_limit_and_by_what_is_left_of_all() {
        let settings = HoldSettings::default();
        settings.set(Some(Hold::Unlimited));
        settings.end(Duration::from_millis(2));
        assert!(!wait(&settings, |_| false).1);
        // Nothing is left of it.
        let (waited, found) = wait(&settings, |_| false);
        assert!(!found && waited < Duration::from_secs(5));
        assert!(wait(&settings, |_| true).1);
        let settings = HoldSettings::default();
        settings.set(Some(Hold::AtMost(Duration::from_millis(1))));
        assert!(!wait(&settings, |_| false).1);
    }

    /// The remaining time is counted from when it was set, not from the beginning of a wait that was there already.
    #[test]
    fn a_wait_that_is_running_gets_all_of_the_last_time() {
        let settings = HoldSettings::default();
        settings.set(Some(Hold::Unlimited));
        let (begun, last) = (Instant::now(), Duration::from_millis(40));
        let mut set_at = None;
        let (_, found) = wait(&settings, |_| {
            if set_at.is_none() && begun.elapsed() > 2 * last {
                set_at = Some(Instant::now());
                settings.end(last);
            }
            false
        });
        assert!(!found && set_at.unwrap().elapsed() >= last);
    }
}
