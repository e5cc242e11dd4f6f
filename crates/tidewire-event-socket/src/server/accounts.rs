//! Accounts of analyzers: how much each sent, and how much more it may.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

/// Analyzers that are counted by name; all others are counted together.
const ANALYZERS_MAX: usize = 256;
/// The name of those.
const OTHERS: &str = "(others)";

/// Counts of the events of an analyzer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct AnalyzerCounts {
    /// Its name; `(others)`: all beyond 256.
    pub name: String,
    /// The user of its clients, as the kernel states it; `None`: of all those beyond 256.
    pub user: Option<u32>,
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

/// The owner of an account: an analyzer's name, and the user of its clients. So no user spends the rate of another one.
type Key = (String, u32);

#[derive(Debug)]
struct Account {
    /// `None`: there were too many when its client came, and it is the client's alone.
    of: Option<Key>,
    counts: AnalyzerCounts,
    bucket: Option<Bucket>,
    /// Clients that have it.
    holders: u32,
    /// The settings name it: it is never given up.
    is_kept: bool,
    /// By the order of use.
    used: u64,
}

/// All analyzers there were.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    all: Vec<Option<Account>>,
    free: Vec<usize>,
    by_key: BTreeMap<Key, usize>,
    /// Of those that were given up.
    others: AnalyzerCounts,
    used: u64,
}

impl Accounts {
    /// Opens an account for an analyzer that the settings name, so that its place is kept.
    pub fn keep(&mut self, name: &str, user: u32, rate: Option<u64>) {
        let at = self.of(name, user, rate);
        if let Some(Some(account)) = self.all.get_mut(at) {
            (account.is_kept, account.holders) = (true, 0);
        }
    }

    /// The place of an analyzer that a client has from now on. `rate`: events a second.
    pub fn of(&mut self, name: &str, user: u32, rate: Option<u64>) -> usize {
        self.used += 1;
        let key = (name.to_owned(), user);
        if let Some(at) = self.by_key.get(&key).copied() {
            if let Some(Some(account)) = self.all.get_mut(at) {
                (account.holders, account.used) = (account.holders + 1, self.used);
            }
            return at;
        }
        if self.by_key.len() >= ANALYZERS_MAX {
            self.forget_one();
        }
        let of = (self.by_key.len() < ANALYZERS_MAX).then_some(key);
        let counts = of.as_ref().map(AnalyzerCounts::of).unwrap_or_default();
        let bucket = rate.map(Bucket::new);
        let account = Account { of: of.clone(), counts, bucket, holders: 1, is_kept: false, used: self.used };
        let at = self.free.pop().unwrap_or(self.all.len());
        match self.all.get_mut(at) {
            Some(place) => *place = Some(account),
            None => self.all.push(Some(account)),
        }
        self.by_key.extend(of.map(|key| (key, at)));
        at
    }

    /// Gives up the account that no client has had for the longest time.
    fn forget_one(&mut self) {
        let idle = self.all.iter().enumerate().filter_map(|(at, account)| {
            let account = account.as_ref()?;
            (account.holders == 0 && !account.is_kept).then_some((account.used, at))
        });
        if let Some((_, at)) = idle.min() {
            self.forget(at);
        }
    }

    fn forget(&mut self, at: usize) {
        let Some(account) = self.all.get_mut(at).and_then(Option::take) else { return };
        self.free.push(at);
        add(&mut self.others, &account.counts);
        if let Some(key) = account.of {
            self.by_key.remove(&key);
        }
    }

    /// A client does not have it any more.
    pub fn release(&mut self, at: usize) {
        let Some(Some(account)) = self.all.get_mut(at) else { return };
        account.holders = account.holders.saturating_sub(1);
        if account.holders == 0 && account.of.is_none() {
            self.forget(at);
        }
    }

    pub fn change(&mut self, at: usize, change: impl FnOnce(&mut AnalyzerCounts)) {
        if let Some(Some(account)) = self.all.get_mut(at) {
            change(&mut account.counts);
        }
    }

    /// Events of it were read.
    pub fn spend(&mut self, at: usize, events: u64, now: Instant) {
        let Some(Some(account)) = self.all.get_mut(at) else { return };
        let Some(bucket) = &mut account.bucket else { return };
        bucket.take(events, now);
        account.counts.waits += u64::from(bucket.until().is_some());
    }

    /// Until when nothing is read of it.
    pub fn until(&self, at: usize) -> Option<Instant> {
        self.all.get(at)?.as_ref()?.bucket.as_ref()?.until()
    }

    /// Counts by name. Names of the settings that were never used are left out, and so are the others if all their counts are zero.
    pub fn counts(&self) -> Vec<AnalyzerCounts> {
        let mut others = self.others.clone();
        for account in self.all.iter().flatten().filter(|account| account.of.is_none()) {
            add(&mut others, &account.counts);
        }
        let named = self.by_key.values().filter_map(|at| self.all.get(*at)?.as_ref());
        let seen = named.filter(|account| !account.is_kept || account.was_seen());
        let mut all: Vec<_> = seen.map(|account| account.counts.clone()).collect();
        if others != AnalyzerCounts::default() {
            others.name = OTHERS.to_owned();
            all.insert(0, others);
        }
        all
    }
}

impl AnalyzerCounts {
    /// Nothing was sent.
    fn of((name, user): &Key) -> Self {
        Self { name: name.clone(), user: Some(*user), ..Self::default() }
    }
}

impl Account {
    fn was_seen(&self) -> bool {
        self.holders > 0 || self.of.as_ref().is_none_or(|key| self.counts != AnalyzerCounts::of(key))
    }
}

/// Adds counts to those of others.
fn add(others: &mut AnalyzerCounts, counts: &AnalyzerCounts) {
    let AnalyzerCounts { name: _, user: _, clients, events, bytes, repeated, waits, refused } = counts;
    others.clients += clients;
    others.events += events;
    others.bytes += bytes;
    others.repeated += repeated;
    others.waits += waits;
    others.refused += refused;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unused_names_make_room_for_others() {
        let mut accounts = Accounts::default();
        accounts.keep("ids", 1, Some(7));
        let held = accounts.of("held", 1, Some(10));
        accounts.change(held, |counts| counts.events = 3);
        for number in 0..1000 {
            let at = accounts.of(&format!("hostile-{number}"), 1, Some(10));
            accounts.change(at, |counts| counts.events = 1);
            accounts.release(at);
        }
        let ids = accounts.of("ids", 1, Some(10));
        accounts.spend(ids, 15, Instant::now());
        assert!(
            accounts.until(ids).is_some_and(|until| until > Instant::now() + Duration::from_millis(900)),
            "its own rate"
        );
        let counts = accounts.counts();
        assert_eq!(counts.len(), 257, "and the others");
        assert_eq!(counts[0].name, OTHERS);
        assert_eq!(counts.iter().map(|counts| counts.events).sum::<u64>(), 1003, "none is forgotten");
        assert!(counts.iter().any(|counts| counts.name == "held" && counts.events == 3));
    }

    #[test]
    fn a_name_of_two_users_has_two_accounts() {
        let mut accounts = Accounts::default();
        let (one, other) = (accounts.of("ids", 1, Some(10)), accounts.of("ids", 2, Some(10)));
        accounts.spend(one, 1000, Instant::now());
        accounts.change(one, |counts| counts.events = 1000);
        assert!(accounts.until(one).is_some() && accounts.until(other).is_none());
        let counts: Vec<_> = accounts.counts().into_iter().map(|one| (one.name, one.user, one.events)).collect();
        assert_eq!(counts, [("ids".to_owned(), Some(1), 1000), ("ids".to_owned(), Some(2), 0)]);
    }

    #[test]
    fn clients_beyond_all_names_have_a_rate_of_their_own() {
        let mut accounts = Accounts::default();
        for number in 0..256 {
            accounts.of(&format!("held-{number}"), 1, Some(10));
        }
        let (honest, hostile) = (accounts.of("honest", 1, Some(10)), accounts.of("hostile", 1, Some(10)));
        accounts.spend(hostile, 1000, Instant::now());
        accounts.change(hostile, |counts| counts.events = 1000);
        assert!(accounts.until(hostile).is_some());
        assert_eq!(accounts.until(honest), None);
        accounts.release(hostile);
        accounts.release(honest);
        assert_eq!(accounts.counts()[0].events, 1000);
        assert_eq!(accounts.all.iter().flatten().count(), 256, "what they had is free");
    }
}
