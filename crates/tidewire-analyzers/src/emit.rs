//! Where events go.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tidewire_events::Event;

/// Receives events. Beside a live capture it never waits; over files it may, as files can.
pub trait Emit: Send + Sync {
    /// Accepts an event, or refuses it at once because there is no room.
    fn try_emit(&self, event: &Event) -> bool;
}

/// Events of an analyzer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events that were accepted.
    pub emitted: u64,
    /// Events that were refused, and are lost.
    pub refused: u64,
}

/// The way of one analyzer's events.
#[derive(Clone)]
pub(crate) struct Outlet {
    analyzer: &'static str,
    to: Arc<dyn Emit>,
    counts: Arc<[AtomicU64; 2]>,
}

impl fmt::Debug for Outlet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outlet").field("analyzer", &self.analyzer).finish_non_exhaustive()
    }
}

impl Outlet {
    pub(crate) fn new(analyzer: &'static str, to: Arc<dyn Emit>) -> Self {
        Self { analyzer, to, counts: Arc::default() }
    }

    /// Passes an event on, or counts that it was refused.
    pub(crate) fn emit(&self, mut event: Event) {
        event.analyzer = self.analyzer.to_owned();
        let is_refused = !self.to.try_emit(&event);
        self.counts[usize::from(is_refused)].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn counts(&self) -> Counts {
        let count = |at: usize| self.counts[at].load(Ordering::Relaxed);
        Counts { emitted: count(0), refused: count(1) }
    }
}
