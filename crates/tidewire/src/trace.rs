//! Events of `tracing` at control points (feature `tracing`): never for a packet or a stream. Without the feature these calls are empty.
//!
//! The target is `tidewire`. Levels: `INFO` for the run, its workers and interfaces, `WARN` for overload, for bounds that are reached, for
//! damaged inputs and for interfaces that fail.

use tidewire_core::{AnomalyKind, Fate, Ledger};

use crate::Outcome;

/// Emits an event; without the feature only its values are looked at.
macro_rules! event {
    ($level:ident, { $($field:ident = $value:expr),* $(,)? }, $message:literal) => {{
        #[cfg(feature = "tracing")]
        tracing::$level!(target: "tidewire", $($field = $value,)* $message);
        #[cfg(not(feature = "tracing"))]
        {
            $(let _ = &$value;)*
        }
    }};
}

/// An input is open, and no worker has begun. `input`: `files`, `reader`, `source` or `interfaces`.
pub(crate) fn opened(input: &'static str, workers: usize) {
    event!(info, { input = input, workers = workers }, "capture opened");
}

/// A run ended.
pub(crate) fn ended<H>(outcome: &Outcome<H>) {
    for error in &outcome.input_errors {
        event!(warn, { error = error.to_string() }, "input ended early");
    }
    let elapsed_ns = u64::try_from(outcome.elapsed.as_nanos()).unwrap_or(u64::MAX);
    let (ledger, interrupted) = (&outcome.ledger, outcome.interrupted);
    let (received, delivered_bytes) = (ledger.received, ledger.delivered_bytes);
    event!(
        info,
        { received = received, delivered_bytes = delivered_bytes, elapsed_ns = elapsed_ns, interrupted = interrupted },
        "capture ended"
    );
}

/// An interface went down, came up, disappeared, returned, or was renamed.
#[cfg(feature = "live")]
pub(crate) fn interface(change: &tidewire_live::InterfaceEvent) {
    event!(info, { interface = change.name.as_str(), change = change.to_string() }, "interface changed");
}

/// An interface has an error that does not end the run.
#[cfg(feature = "live")]
pub(crate) fn trouble(error: &tidewire_live::Error) {
    event!(warn, { error = error.to_string() }, "interface in trouble");
}

/// A counter of a ledger.
type Counter = fn(&Ledger) -> u64;

/// Bounds of a worker that a ledger shows, and their counters.
const BOUNDS: [(&str, Counter); 6] = [
    ("flows", |ledger| ledger.evicted),
    ("half_open", |ledger| ledger.evicted_half_open),
    ("room", |ledger| ledger.fate(Fate::NoRoom)),
    ("memory", |ledger| ledger.anomaly(AnomalyKind::BufferLimit)),
    ("holes", |ledger| ledger.anomaly(AnomalyKind::HoleLimit)),
    ("shed", |ledger| ledger.fate(Fate::Shed)),
];

/// Level from which a worker is overloaded, in thousandths: that at which streams of the lowest priority are shed by default
/// ([`Config::base_threshold_permille`](crate::Config::base_threshold_permille)).
const OVERLOAD_PERMILLE: u32 = 500;

/// Level below which it no longer is: lower, so that a level about the threshold is not reported each time.
const RELIEF_PERMILLE: u32 = 400;

/// The reports of one worker: its beginning and end, changes of overload, each bound once.
#[derive(Debug)]
pub(crate) struct WorkerTrace {
    worker: usize,
    is_overloaded: bool,
    /// By bound, whether it was reported.
    reached: [bool; BOUNDS.len()],
}

impl WorkerTrace {
    /// A worker starts, on this CPU if it is bound to one.
    pub(crate) fn start(worker: usize, cpu: Option<usize>) -> Self {
        event!(info, { worker = worker, cpu = cpu.map_or(-1, |cpu| cpu as i64) }, "worker started");
        Self { worker, is_overloaded: false, reached: [false; BOUNDS.len()] }
    }

    /// Looks at how full the memory or the rings are, in thousandths.
    #[inline]
    pub(crate) fn level(&mut self, permille: impl FnOnce() -> u32) {
        if !cfg!(feature = "tracing") {
            return;
        }
        let permille = permille();
        let threshold = if self.is_overloaded { RELIEF_PERMILLE } else { OVERLOAD_PERMILLE };
        if (permille >= threshold) != self.is_overloaded {
            self.is_overloaded = !self.is_overloaded;
            match self.is_overloaded {
                true => event!(warn, { worker = self.worker, level_permille = permille }, "overload began"),
                false => event!(info, { worker = self.worker, level_permille = permille }, "overload ended"),
            }
        }
    }

    /// Looks for bounds that were reached.
    #[inline]
    pub(crate) fn bounds(&mut self, ledger: &Ledger) {
        if !cfg!(feature = "tracing") {
            return;
        }
        for ((name, count), is_reported) in BOUNDS.iter().zip(&mut self.reached) {
            if !*is_reported && count(ledger) > 0 {
                *is_reported = true;
                event!(warn, { worker = self.worker, bound = *name }, "bound reached");
            }
        }
    }

    /// The worker ends.
    pub(crate) fn end(&mut self, ledger: &Ledger) {
        self.bounds(ledger);
        event!(info, { worker = self.worker, received = ledger.received }, "worker ended");
    }
}

/// The part of `limit` that `used` is, in thousandths.
pub(crate) fn permille(used: u64, limit: u64) -> u32 {
    (u128::from(used) * 1000 / u128::from(limit.max(1))).min(1000) as u32
}
