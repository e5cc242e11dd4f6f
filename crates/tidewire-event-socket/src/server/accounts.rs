//! What each analyzer sent, and how much more it may.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

/// Analyzers that are counted by name; all others are counted together.
const ANALYZERS_MAX: usize = 256;
/// The name of those.
const OTHERS: &str = "(others)";

/// What an analyzer sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnalyzerCounts {
    /// Its name; `(others)`: all beyond 256.
    pub name: String,
    /// Its clients that are connected.
    pub clients: u64,
    /// Events that were received, each once.
    pub events: u64,
    /// Bytes of their messages.
    pub bytes: u64,
    /// Events that were received again after a restart, and left out.
    pub repeated: u64,
    /// How often it was made to wait by the limit of its rate.
    pub waits: u64,
    /// Clients of this name that were refused.
    pub refused: u64,
}

/// A token bucket: a second's worth at most.
#[derive(Debug)]
struct Bucket {
    rate: f64,
    tokens: f64,
    filled: Instant,
}

impl Bucket {
    fn new(rate: u64) -> Self {
        Self { rate: rate.max(1) as f64, tokens: rate.max(1) as f64, filled: Instant::now() }
    }

    fn take(&mut self, events: u64, now: Instant) {
        let filled = now.saturating_duration_since(self.filled).as_secs_f64() * self.rate;
        self.tokens = (self.tokens + filled).min(self.rate) - events as f64;
        self.filled = now;
    }

    /// Until when nothing more is read.
    fn until(&self) -> Option<Instant> {
        (self.tokens < 0.0).then(|| self.filled + Duration::from_secs_f64((-self.tokens / self.rate).min(60.0)))
    }
}

#[derive(Debug)]
struct Account {
    counts: AnalyzerCounts,
    bucket: Option<Bucket>,
}

/// All analyzers there were.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    all: Vec<Account>,
    by_name: BTreeMap<String, usize>,
}

impl Accounts {
    /// The place of an analyzer. `rate`: events a second.
    pub fn of(&mut self, name: &str, rate: Option<u64>) -> usize {
        let name = if self.by_name.contains_key(name) || self.all.len() < ANALYZERS_MAX { name } else { OTHERS };
        if let Some(at) = self.by_name.get(name) {
            return *at;
        }
        let counts = AnalyzerCounts { name: name.to_owned(), ..AnalyzerCounts::default() };
        self.all.push(Account { counts, bucket: rate.map(Bucket::new) });
        self.by_name.insert(name.to_owned(), self.all.len() - 1);
        self.all.len() - 1
    }

    pub fn change(&mut self, at: usize, change: impl FnOnce(&mut AnalyzerCounts)) {
        if let Some(account) = self.all.get_mut(at) {
            change(&mut account.counts);
        }
    }

    /// Events were read of a client of this name.
    pub fn spend(&mut self, at: usize, events: u64, now: Instant) {
        let Some(account) = self.all.get_mut(at) else { return };
        let Some(bucket) = &mut account.bucket else { return };
        bucket.take(events, now);
        account.counts.waits += u64::from(bucket.until().is_some());
    }

    /// Until when nothing is read of it.
    pub fn until(&self, at: usize) -> Option<Instant> {
        self.all.get(at)?.bucket.as_ref()?.until()
    }

    pub fn counts(&self) -> Vec<AnalyzerCounts> {
        self.by_name.values().filter_map(|at| Some(self.all.get(*at)?.counts.clone())).collect()
    }
}
