//! How old segments are, by clocks that may jump.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use crate::SegmentName;

/// Both clocks: the wall's may jump, the other does not.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Nanoseconds since the epoch.
    pub wall_ns: u64,
    /// The monotonic clock.
    pub instant: Instant,
}

/// After its start, a recorder trusts the wall clock so much later: a machine without a clock of its own gets the time meanwhile.
const TRUST_AFTER: Duration = Duration::from_secs(600);

/// When segments were first seen, and how old they were then.
#[derive(Debug, Default)]
pub(crate) struct Ages {
    begun: Option<Instant>,
    pub seen: HashMap<SegmentName, (Instant, Duration)>,
}

impl Ages {
    /// How old a segment is: what both clocks agree on.
    pub fn age(&mut self, name: &SegmentName, begun_ns: u64, now: &Now) -> Duration {
        let wall = Duration::from_nanos(now.wall_ns.saturating_sub(begun_ns));
        let (seen, then) = *self.seen.entry(name.clone()).or_insert((now.instant, wall));
        wall.min(then.saturating_add(now.instant.saturating_duration_since(seen)))
    }

    pub fn is_trusted(&mut self, age: Duration, now: &Now) -> bool {
        let begun = *self.begun.get_or_insert(now.instant);
        now.instant.saturating_duration_since(begun) >= TRUST_AFTER.min(age)
    }
}
