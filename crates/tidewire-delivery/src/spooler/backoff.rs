//! How long to wait between attempts.

use std::time::Duration;

use tidewire_types::random::random_bytes;

/// The first pause.
const FIRST: Duration = Duration::from_millis(100);

/// Pauses that double, up to a bound. Half of each is random: sensors that lost the same collector do not come back at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    next: Duration,
    most: Duration,
}

impl Backoff {
    pub(super) fn new(most: Duration) -> Self {
        Self { next: FIRST.min(most), most }
    }

    /// All went well.
    pub(super) fn reset(&mut self) {
        self.next = FIRST.min(self.most);
    }

    /// The next pause; `random` of 0 to 255.
    pub(super) fn pause(&mut self, random: u8) -> Duration {
        let pause = self.next / 2 + self.next * u32::from(random) / 510;
        self.next = (self.next * 2).min(self.most);
        pause
    }
}

/// A random number for a pause.
pub(super) fn random() -> u8 {
    // Without random bytes, the shortest pause: still half of the longest.
    random_bytes().map_or(0, |[byte]| byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_and_half_of_each_is_random() {
        let mut backoff = Backoff::new(Duration::from_secs(30));
        let mut expected = FIRST;
        for _ in 0..12 {
            let (mut short, mut long) = (backoff, backoff);
            assert_eq!((short.pause(0), long.pause(255)), (expected / 2, expected));
            backoff = long;
            expected = (expected * 2).min(Duration::from_secs(30));
        }
        backoff.reset();
        assert_eq!(backoff.pause(255), FIRST);
        assert_eq!(Backoff::new(Duration::ZERO).pause(255), Duration::ZERO);
    }
}
