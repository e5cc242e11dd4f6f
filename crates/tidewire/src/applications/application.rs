use std::time::Duration;

use tidewire_core::{Direction, DirectionCutoff, Subscription};

use crate::{SettingError, StreamClass};

/// One of several [`Applications`](crate::Applications): a handler, which streams it wants, and how.
///
/// The settings are those of [`Capture`](crate::Capture), with the same defaults.
pub struct Application<A> {
    pub(super) handler: A,
    pub(super) name: String,
    pub(super) filter: Option<String>,
    pub(super) classes: Vec<StreamClass>,
    pub(super) priority: u8,
    pub(super) subscription: Subscription,
}

/// Totals of what one application received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivered {
    /// Streams opened for it.
    pub streams_opened: u64,
    /// Of these, streams closed.
    pub streams_closed: u64,
    /// Calls of `data`.
    pub chunks: u64,
    /// Bytes delivered to it; repeated bytes are not counted again.
    pub bytes: u64,
    /// Bytes reported to it as gaps.
    pub gap_bytes: u64,
}

impl<A> Application<A> {
    /// An application that wants all streams, all of their bytes, as they arrive.
    pub fn new(handler: A) -> Self {
        let subscription = Subscription {
            cutoff: DirectionCutoff::UNLIMITED,
            chunk_bytes: 0,
            overlap_bytes: 0,
            flush_timeout_ns: 0,
            priorities: 1,
            exceptions: false,
        };
        Self { handler, name: String::new(), filter: None, classes: Vec::new(), priority: 0, subscription }
    }

    /// Its name in statistics. Default: none.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Wants only streams whose first packet an expression in libpcap's language matches.
    #[cfg(feature = "filter")]
    #[must_use]
    pub fn filter(mut self, expression: impl Into<String>) -> Self {
        self.filter = Some(expression.into());
        self
    }

    /// Wants at most `bytes` of each direction. 0: statistics only.
    #[must_use]
    pub fn cutoff(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.subscription.cutoff = DirectionCutoff::of(bytes);
        self
    }

    /// Wants at most `bytes` of one direction.
    #[must_use]
    pub fn cutoff_direction(mut self, direction: Direction, bytes: impl Into<Option<u64>>) -> Self {
        self.subscription.cutoff = self.subscription.cutoff.with(direction, bytes);
        self
    }

    /// A class among its streams: as [`Capture::class`](crate::Capture::class).
    #[cfg(feature = "filter")]
    #[must_use]
    pub fn class(mut self, class: StreamClass) -> Self {
        self.classes.push(class);
        self
    }

    /// The priority of its streams that no class gives another, 0 (the lowest) to 7. Default 0.
    #[must_use]
    pub fn priority(mut self, priority: u8) -> Self {
        self.priority = priority;
        self
    }

    /// How many priorities there are for it, 1 to 8. Default: as many as its priority and classes name.
    #[must_use]
    pub fn priorities(mut self, count: u8) -> Self {
        self.subscription.priorities = count;
        self
    }

    /// Gathers chunks of `bytes`, the last `overlap_bytes` of each repeated before the next. 0: no gathering.
    #[must_use]
    pub fn chunks(mut self, bytes: u32, overlap_bytes: u32) -> Self {
        self.subscription.chunk_bytes = bytes;
        self.subscription.overlap_bytes = overlap_bytes;
        self
    }

    /// Wants a chunk that was begun after this much packet time, full or not. Zero: only when it is full.
    #[must_use]
    pub fn flush_timeout(mut self, after: impl Into<Option<Duration>>) -> Self {
        self.subscription.set_flush_timeout(after.into());
        self
    }

    /// Checks the settings, and completes them.
    pub(super) fn settle(&mut self) -> Result<(), SettingError> {
        let named = self.classes.iter().filter_map(|class| class.priority).max().unwrap_or(0).max(self.priority);
        self.subscription.check()?;
        if named >= 8 {
            return Err(SettingError::Priority { of: format!("priority {named}") });
        }
        self.subscription.priorities = self.subscription.priorities.max(named + 1);
        self.subscription.exceptions = self.filter.is_some() || self.classes.iter().any(|class| class.cutoff.is_some());
        Ok(())
    }
}
