//! How old segments are, by clocks that may jump.

use std::{
    collections::{HashMap, HashSet},
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

use crate::SegmentName;

/// All clocks: the wall's may jump, the others do not.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Nanoseconds since the epoch.
    pub wall_ns: u64,
    /// The monotonic clock.
    pub instant: Instant,
    /// How long ago the machine was started.
    pub up: Duration,
}

impl Now {
    /// Now, by this wall clock.
    #[must_use]
    pub fn at(wall_ns: u64) -> Self {
        let up = clock_gettime(ClockId::Boottime);
        let up = Duration::new(up.tv_sec.try_into().unwrap_or(0), up.tv_nsec.try_into().unwrap_or(0));
        Self { wall_ns, instant: Instant::now(), up }
    }
}

/// After its start, a machine without a clock of its own gets the time within this: then the wall clock is trusted.
const TRUST_AFTER: Duration = Duration::from_secs(600);

/// When segments were first seen, and how old they were then.
#[derive(Debug, Default)]
pub(crate) struct Ages {
    begun: Option<Instant>,
    /// Segments of earlier runs.
    earlier: HashSet<SegmentName>,
    seen: HashMap<SegmentName, (Instant, Duration)>,
    /// Times of their youngest packets, nanoseconds since the epoch.
    youngest_ns: HashMap<SegmentName, u64>,
}

impl Ages {
    /// Those of a directory that has these segments.
    pub fn new(earlier: impl IntoIterator<Item = SegmentName>) -> Self {
        Self { earlier: earlier.into_iter().collect(), ..Self::default() }
    }

    /// Forgets segments that are not there any more.
    pub fn keep(&mut self, known: &HashSet<&SegmentName>) {
        self.seen.retain(|name, _| known.contains(name));
        self.earlier.retain(|name| known.contains(name));
        self.youngest_ns.retain(|name, _| known.contains(name));
    }

    /// The time of a segment's youngest packet, which is looked for once.
    pub fn youngest(&mut self, name: &SegmentName, look: impl FnOnce() -> u64) -> u64 {
        *self.youngest_ns.entry(name.clone()).or_insert_with(look)
    }

    /// How old a segment is: what both clocks agree on.
    pub fn age(&mut self, name: &SegmentName, youngest_ns: u64, now: &Now) -> Duration {
        let wall = Duration::from_nanos(now.wall_ns.saturating_sub(youngest_ns));
        let (seen, then) = *self.seen.entry(name.clone()).or_insert((now.instant, wall));
        wall.min(then.saturating_add(now.instant.saturating_duration_since(seen)))
    }

    /// Whether that is to be acted on. A run that is short has no time to see the wall clock jump: it removes what earlier runs left if
    /// the machine had that time before, and nothing that it has just recorded, however old the packets are.
    pub fn is_trusted(&mut self, name: &SegmentName, age: Duration, now: &Now) -> bool {
        let begun = *self.begun.get_or_insert(now.instant);
        now.instant.saturating_duration_since(begun) >= TRUST_AFTER.min(age)
            || now.up >= TRUST_AFTER && self.earlier.contains(name)
    }
}
