//! Bounds on sensors: bytes in a second, and memory for large frames.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Bytes that a sensor may send in a second. What a second did not need can be sent at once later.
#[derive(Debug)]
pub(super) struct Rate {
    per_second: Option<u64>,
    /// Bytes that are left; less than none is a debt.
    left: i64,
    filled: Instant,
}

impl Rate {
    pub(super) fn new(per_second: Option<u64>, now: Instant) -> Self {
        let left = per_second.map_or(0, |bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
        Self { per_second, left, filled: now }
    }

    /// Takes bytes. Returns how long the sensor has to wait before it may send again.
    pub(super) fn take(&mut self, bytes: usize, now: Instant) -> Duration {
        let Some(per_second) = self.per_second.map(|bytes| bytes.max(1)) else { return Duration::ZERO };
        let most = i64::try_from(per_second).unwrap_or(i64::MAX);
        let passed = now.saturating_duration_since(self.filled).as_micros();
        let gained = i64::try_from(passed.saturating_mul(per_second.into()) / 1_000_000).unwrap_or(i64::MAX);
        if gained > 0 {
            self.left = self.left.saturating_add(gained).min(most);
            self.filled = now;
        }
        self.left = self.left.saturating_sub(i64::try_from(bytes).unwrap_or(i64::MAX));
        let debt = u128::from(self.left.min(0).unsigned_abs());
        let micros = debt * 1_000_000 / u128::from(per_second);
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }
}

/// Permits for what takes much memory: a connection waits for one before it reads a large frame.
#[derive(Debug)]
pub(super) struct Permits {
    free: Mutex<usize>,
    changed: Condvar,
}

/// A place that is taken.
pub(super) struct Permit<'a>(&'a Permits);

impl Permits {
    pub(super) fn new(count: usize) -> Self {
        Self { free: Mutex::new(count), changed: Condvar::new() }
    }

    /// Takes a place; `None` if there is none until this time.
    pub(super) fn take(&self, until: Instant) -> Option<Permit<'_>> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let left = until.saturating_duration_since(Instant::now());
        let waited = self.changed.wait_timeout_while(free, left, |free| *free == 0);
        let (mut free, _) = waited.unwrap_or_else(PoisonError::into_inner);
        *free = free.checked_sub(1)?;
        Some(Permit(self))
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_kept_over_any_time() {
        let begun = Instant::now();
        let mut rate = Rate::new(Some(1000), begun);
        assert_eq!(rate.take(1000, begun), Duration::ZERO);
        let mut now = begun;
        let mut taken = 0;
        for bytes in [1, 10, 500, 999, 5000, 3].into_iter().cycle().take(600) {
            now += rate.take(bytes, now);
            taken += bytes;
        }
        let seconds = now.duration_since(begun).as_secs_f64();
        assert!((seconds - taken as f64 / 1000.0).abs() < 0.2, "{taken} bytes in {seconds} s");
        assert_eq!(Rate::new(None, begun).take(usize::MAX, begun), Duration::ZERO);
    }

    #[test]
    fn a_place_is_free_again_when_it_is_dropped() {
        let places = Permits::new(2);
        let soon = || Instant::now() + Duration::from_millis(1);
        let (first, second) = (places.take(soon()), places.take(soon()));
        assert!(first.is_some() && second.is_some() && places.take(soon()).is_none());
        drop(first);
        assert!(places.take(soon()).is_some());
    }
}
