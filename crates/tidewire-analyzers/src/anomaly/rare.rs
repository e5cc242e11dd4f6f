//! Things that belong to no stream: one event of each kind in a period.

/// Occurrences of each kind. The names are the engine's own: there are few of them.
#[derive(Debug)]
pub(super) struct Rare {
    /// Packet time in which one event of a kind is made.
    period_ns: u64,
    kinds: Vec<RareKind>,
}

#[derive(Debug)]
struct RareKind {
    what: &'static str,
    why: &'static str,
    reported_ns: u64,
    last_ns: u64,
    /// Not reported yet.
    count: u64,
}

impl Rare {
    pub(super) fn new(period_ns: u64) -> Self {
        Self { period_ns, kinds: Vec::new() }
    }

    /// Notes one. `Some`: it is to be reported, with the number of those that were not.
    pub(super) fn note(&mut self, what: &'static str, why: &'static str, time_ns: u64) -> Option<u64> {
        let Some(kind) = self.kinds.iter_mut().find(|kind| kind.what == what && kind.why == why) else {
            self.kinds.push(RareKind { what, why, reported_ns: time_ns, last_ns: time_ns, count: 0 });
            return Some(0);
        };
        kind.last_ns = kind.last_ns.max(time_ns);
        // A clock that goes back starts another period.
        if time_ns.abs_diff(kind.reported_ns) < self.period_ns {
            kind.count += 1;
            return None;
        }
        kind.reported_ns = time_ns;
        Some(std::mem::take(&mut kind.count))
    }

    /// An unreported anomaly: its kind, the reason, how many, and the time of the last.
    pub(super) fn rest(&mut self) -> Vec<(&'static str, &'static str, u64, u64)> {
        let left = self.kinds.drain(..).filter(|kind| kind.count != 0);
        left.map(|kind| (kind.what, kind.why, kind.count, kind.last_ns)).collect()
    }
}
