//! Latencies, in quantiles.

use serde::{Deserialize, Serialize};

/// Quantiles of latencies in nanoseconds; all 0 where none was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// The median.
    pub p50_ns: u64,
    /// Of a hundred records, one takes longer.
    pub p99_ns: u64,
    /// Of a thousand records, one takes longer.
    pub p999_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl Latency {
    /// Quantiles of these latencies.
    #[must_use]
    pub fn of(latencies: &mut [u64]) -> Self {
        latencies.sort_unstable();
        let at = |share: f64| {
            let last = latencies.len().saturating_sub(1);
            latencies.get((last as f64 * share) as usize).copied().unwrap_or(0)
        };
        Self { p50_ns: at(0.5), p99_ns: at(0.99), p999_ns: at(0.999), max_ns: at(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_in_order() {
        let mut latencies: Vec<u64> = (1..=1000).rev().collect();
        let latency = Latency::of(&mut latencies);
        assert_eq!((latency.p50_ns, latency.p99_ns, latency.p999_ns, latency.max_ns), (500, 990, 999, 1000));
        assert_eq!(Latency::of(&mut []), Latency::default());
    }
}
