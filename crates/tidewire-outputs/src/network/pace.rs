//! The rate of datagrams: a collector has room for about a hundred of them, and loses those beyond without an error.

use std::time::{Duration, Instant};

/// Datagrams that are sent at once after a pause.
const BURST: u32 = 16;

/// A rate that is kept.
#[derive(Debug)]
pub struct Pace {
    /// Between two datagrams; `None`: they are sent as they come.
    interval: Option<Duration>,
    /// When the next one is due.
    due: Option<Instant>,
}

impl Pace {
    /// So many datagrams a second; 0: as they come.
    pub fn new(rate: u32) -> Self {
        Self { interval: (rate > 0).then(|| Duration::from_secs(1) / rate), due: None }
    }

    /// How long to wait before a datagram is sent.
    pub fn wait(&mut self, now: Instant) -> Duration {
        let Some(interval) = self.interval else { return Duration::ZERO };
        // Datagrams that a pause held back may follow at once, up to a burst.
        let least = now.checked_sub(interval * (BURST - 1)).unwrap_or(now);
        let due = self.due.map_or(least, |due| due.max(least));
        self.due = Some(due + interval);
        due.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_kept_behind_a_burst() {
        let (mut pace, start) = (Pace::new(1000), Instant::now());
        let mut now = start;
        let mut send = |count: u32, pause: Duration| {
            let begin = now;
            for _ in 0..count {
                now += pace.wait(now);
            }
            let lasted = now - begin;
            now += pause;
            lasted
        };
        assert_eq!(send(BURST, Duration::ZERO), Duration::ZERO);
        assert_eq!(send(1000, Duration::from_millis(5)), Duration::from_secs(1));
        // A pause is worth as many as would have been sent in it, a long one a burst.
        assert_eq!(send(10, Duration::from_secs(9)), Duration::from_millis(5));
        assert_eq!(send(BURST + 10, Duration::ZERO), Duration::from_millis(10));
    }

    #[test]
    fn no_rate_is_no_wait() {
        let (mut pace, now) = (Pace::new(0), Instant::now());
        assert!((0..100_000).all(|_| pace.wait(now).is_zero()));
    }
}
