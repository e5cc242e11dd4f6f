//! When a process that ended is started again.

use std::time::Duration;

/// How long to wait before a process is started again: doubled each time, from the first one on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    next: Duration,
}

/// The first wait.
pub const FIRST: Duration = Duration::from_millis(100);
/// The longest wait: what cannot run is tried twice a minute, for ever.
pub const MOST: Duration = Duration::from_secs(30);
/// A process that ran for this long ran well: the next wait is the first one again.
pub const WELL: Duration = Duration::from_secs(30);

impl Default for Backoff {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl Backoff {
    /// The wait after it ran for so long; the next one is longer.
    pub fn after(&mut self, ran: Duration) -> Duration {
        let wait = self.peek(ran);
        self.next = (wait * 2).min(MOST);
        wait
    }

    /// The wait after it ran for so long, without taking it.
    #[must_use]
    pub fn peek(&self, ran: Duration) -> Duration {
        if ran >= WELL { FIRST } else { self.next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_bound_and_begin_again_after_a_good_run() {
        let mut backoff = Backoff::default();
        let waits: Vec<u128> = (0..11).map(|_| backoff.after(Duration::ZERO).as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000]);
        assert_eq!((backoff.peek(WELL), backoff.peek(Duration::ZERO)), (FIRST, MOST));
        assert_eq!(backoff.after(WELL), FIRST);
        assert_eq!(backoff.after(WELL - Duration::from_millis(1)), FIRST * 2);
    }
}
