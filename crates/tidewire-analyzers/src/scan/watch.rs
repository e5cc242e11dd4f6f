//! Who tries how much: entries with thresholds, and the events of those that pass them.

use std::{
    hash::Hash,
    sync::{Mutex, PoisonError},
};

use super::{leases::Leases, table::Table, targets::Targets};
use crate::{emit::Outlet, settings::ScanSettings};

const SECOND_NS: u64 = 1_000_000_000;
/// How often scans that are over are looked for, in packet time.
pub(super) const LOOK_NS: u64 = 10 * SECOND_NS;

/// Attempts of one key so far.
#[derive(Debug)]
pub(super) struct Entry<T: Targets> {
    /// Attempts.
    pub attempts: u64,
    /// Different targets.
    pub targets: T,
    /// Time of the first and last attempt.
    pub first_ns: u64,
    pub last_ns: u64,
    /// The last target.
    pub last: T::Target,
    /// The figure of the last event, and attempts then; 0: none yet.
    reported: u32,
    reported_attempts: u64,
}

/// At what point of a scan an event is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The threshold was passed.
    Begun,
    /// Twice as much as in the last event.
    Grown,
    /// Silent for a window, displaced, or the end of the input.
    Over,
}

impl<T: Targets> Entry<T> {
    /// Different targets: an estimate is never more than there were attempts.
    pub(super) fn different(&self) -> u32 {
        self.targets.count().min(u32::try_from(self.attempts).unwrap_or(u32::MAX))
    }
}

impl Phase {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Begun => "begun",
            Self::Grown => "grown",
            Self::Over => "over",
        }
    }
}

/// Counts under keys of one form.
pub(super) trait Rule {
    type Key: Copy + Eq + Hash + Send;
    /// How different targets are counted.
    type Targets: Targets;

    /// The figure that is compared with the threshold.
    fn figure(entry: &Entry<Self::Targets>) -> u32;
    fn threshold(settings: &ScanSettings, key: &Self::Key) -> u32;
    fn window_ns(settings: &ScanSettings) -> u64;
    fn report(outlet: &Outlet, key: &Self::Key, entry: &Entry<Self::Targets>, phase: Phase);
}

/// An attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt<K, T> {
    pub key: K,
    pub target: T,
    /// Its keyed hash.
    pub hash: u64,
    pub time_ns: u64,
}

/// An attempt that a rule counts.
pub(super) type Of<R> = Attempt<<R as Rule>::Key, <<R as Rule>::Targets as Targets>::Target>;

/// The entries of one part of a table, behind a lock: attempts that fail are rare where no host scans.
pub(super) struct Watch<R: Rule>(Mutex<Inner<R>>);

struct Inner<R: Rule> {
    table: Table<R::Key, Entry<R::Targets>>,
    leases: Leases,
    /// Places of entries with an event.
    reported: Vec<(usize, R::Key)>,
    looked_ns: u64,
}

impl<R: Rule> Watch<R> {
    pub(super) fn new(entries: usize) -> Self {
        let (table, leases) = (Table::new(entries), Leases::default());
        Self(Mutex::new(Inner { table, leases, reported: Vec::new(), looked_ns: 0 }))
    }

    /// Notes an attempt.
    pub(super) fn note(&self, settings: &ScanSettings, outlet: &Outlet, attempt: Of<R>) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.note(settings, outlet, attempt);
    }

    /// Ends scans that were silent for a window.
    pub(super) fn look(&self, settings: &ScanSettings, outlet: &Outlet, now_ns: u64) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.look(settings, outlet, now_ns);
    }

    /// Ends all scans.
    pub(super) fn finish(&self, outlet: &Outlet) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let inner = &mut *inner;
        inner.table.drain().for_each(|entry| end::<R>(outlet, &entry.0, &entry.1));
        inner.reported.clear();
    }
}

/// Reports the end of a scan, if there is more to say than its last event did.
fn end<R: Rule>(outlet: &Outlet, key: &R::Key, entry: &Entry<R::Targets>) {
    if entry.reported != 0 && entry.attempts > entry.reported_attempts {
        R::report(outlet, key, entry, Phase::Over);
    }
}

fn seconds(ns: u64) -> u32 {
    u32::try_from(ns / SECOND_NS).unwrap_or(u32::MAX)
}

impl<R: Rule> Inner<R> {
    fn note(&mut self, settings: &ScanSettings, outlet: &Outlet, attempt: Of<R>) {
        let Attempt { key, target, hash, time_ns } = attempt;
        let window_ns = R::window_ns(settings);
        let new = || Entry {
            attempts: 0,
            targets: R::Targets::default(),
            first_ns: time_ns,
            last_ns: time_ns,
            last: target,
            reported: 0,
            reported_attempts: 0,
        };
        let (place, left) = self.table.place(key, seconds(time_ns.saturating_sub(window_ns)), new);
        if let Some(left) = left {
            end::<R>(outlet, &left.0, &left.1);
        }
        let Some((_, entry)) = self.table.get(place) else { return };
        // Before the threshold a window is a time since the first attempt, then one of silence.
        let since = if entry.reported == 0 { entry.first_ns } else { entry.last_ns };
        if time_ns > since.saturating_add(window_ns) {
            end::<R>(outlet, &key, entry);
            *entry = new();
        }
        entry.attempts += 1;
        entry.targets.note(target, hash, &self.leases);
        entry.last = target;
        entry.last_ns = entry.last_ns.max(time_ns);
        entry.first_ns = entry.first_ns.min(time_ns);
        let figure = R::figure(entry);
        let due = if entry.reported == 0 { R::threshold(settings, &key) } else { entry.reported.saturating_mul(2) };
        if figure >= due {
            let phase = if entry.reported == 0 { Phase::Begun } else { Phase::Grown };
            R::report(outlet, &key, entry, phase);
            (entry.reported, entry.reported_attempts) = (figure.max(1), entry.attempts);
            if phase == Phase::Begun {
                self.reported.push((place, key));
            }
        }
        let (weight, last_s) = (figure.max(entry.reported), seconds(entry.last_ns));
        self.table.weigh(place, weight, last_s);
        self.look(settings, outlet, time_ns);
    }

    fn look(&mut self, settings: &ScanSettings, outlet: &Outlet, now_ns: u64) {
        if now_ns < self.looked_ns.saturating_add(LOOK_NS) && now_ns.saturating_add(LOOK_NS) > self.looked_ns {
            return;
        }
        self.looked_ns = now_ns;
        let table = &mut self.table;
        self.reported.retain(|(place, key)| {
            let Some((found, entry)) = table.get(*place) else { return false };
            if found != key || entry.reported == 0 {
                return false;
            }
            if now_ns <= entry.last_ns.saturating_add(R::window_ns(settings)) {
                return true;
            }
            end::<R>(outlet, key, entry);
            table.remove(*place);
            false
        });
    }
}
