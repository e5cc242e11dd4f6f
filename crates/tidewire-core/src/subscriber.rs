//! How each of several applications behind one handler wants its streams delivered.

use std::collections::VecDeque;

use crate::{Class, Config, DirectionCutoff};

/// How one of several applications wants its streams delivered. The fields are settings of [`Config`].
///
/// For this workspace only; exempt from semantic versioning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// See [`Config::cutoff`].
    pub cutoff: DirectionCutoff,
    /// See [`Config::chunk_bytes`].
    pub chunk_bytes: u32,
    /// See [`Config::overlap_bytes`].
    pub overlap_bytes: u32,
    /// See [`Config::flush_timeout_ns`].
    pub flush_timeout_ns: u64,
    /// See [`Config::priorities`].
    pub priorities: u8,
    /// Whether some streams may not belong to the application, or have another cutoff: see [`Join`].
    pub exceptions: bool,
}

/// A stream belongs to an application.
///
/// For this workspace only; exempt from semantic versioning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// The application's index in [`Deliver::subscribers`](crate::Deliver::subscribers).
    pub subscriber: usize,
    /// Cutoff and priority of this stream for the application, where they differ; `marks` is not used.
    pub class: Class,
}

/// An application in the engine: its subscription, or (while it is selected) the engine's settings.
pub(crate) struct Subscriber {
    pub settings: Subscription,
    pub flushes: VecDeque<(u64, u32, u64)>,
}

/// All applications of an engine.
#[derive(Default)]
pub(crate) struct Subscribers {
    pub list: Vec<Subscriber>,
    /// Whether one of them is selected: see `engine/subscribers.rs`.
    pub is_selected: bool,
    /// The [`Deliver::marks`](crate::Deliver::marks) of the stream that is about to be opened.
    pub marks: u64,
    pub joins: Vec<Join>,
}

impl Subscribers {
    /// The applications of a handler. `config` is changed to what the engine does for all of them.
    pub(crate) fn new(settings: Vec<Subscription>, config: &mut Config) -> Self {
        // For streams that belong to no application; the others' cutoffs follow their applications.
        config.cutoff = DirectionCutoff([0; 2]);
        (config.chunk_bytes, config.overlap_bytes) = (0, 0);
        let timeouts = settings.iter().filter(|subscriber| subscriber.chunk_bytes != 0);
        let timeouts = timeouts.map(|subscriber| subscriber.flush_timeout_ns).filter(|timeout| *timeout != 0);
        config.flush_timeout_ns = timeouts.min().unwrap_or(0);
        config.priorities = settings.iter().map(|subscriber| subscriber.priorities).fold(config.priorities, u8::max);
        let list = settings.into_iter().map(|settings| Subscriber { settings, flushes: VecDeque::new() });
        Self { list: list.collect(), ..Self::default() }
    }

    /// `count`, or 0 while one of several applications is selected: figures are counted once for all.
    #[inline(always)]
    pub(crate) fn once(&self, count: u64) -> u64 {
        if self.is_selected { 0 } else { count }
    }
}
