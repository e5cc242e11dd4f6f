//! How each of several applications behind one handler wants its streams delivered.

use std::{collections::VecDeque, time::Duration};

use crate::{
    Class, Config, ConfigError, DirectionCutoff, Frame,
    config::{check_delivery, stored::optional_span},
};

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
    /// See [`Config::flush_timeout`]; nanoseconds, 0: none.
    pub flush_timeout_ns: u64,
    /// See [`Config::priorities`].
    pub priorities: u8,
    /// Whether some streams may not belong to the application, or have another cutoff: see [`Join`].
    pub exceptions: bool,
}

impl Subscription {
    /// Sets the time after which an incomplete chunk is delivered: see [`Config::flush_timeout`].
    pub fn set_flush_timeout(&mut self, after: Option<Duration>) {
        self.flush_timeout_ns = optional_span::store(after);
    }

    /// Checks the settings that have a range, as [`Config::check`] does.
    ///
    /// # Errors
    /// The first setting that is out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        check_delivery(self.chunk_bytes, self.overlap_bytes, self.priorities)
    }
}

/// Several applications behind one handler: how each wants its streams delivered, and which of them gets a stream.
///
/// For this workspace only; exempt from semantic versioning.
pub trait Membership {
    /// The settings of each application. Called once, by [`Engine::new`](crate::Engine::new); they replace the same fields of
    /// the engine's settings.
    fn subscriptions(&self) -> Vec<Subscription>;

    /// Marks of the stream that `bytes` opens (a whole frame, or a rebuilt IP packet with link type RAW). They are passed to
    /// [`join`](Self::join) when the stream is opened.
    fn marks(&mut self, frame: &Frame, bytes: &[u8]) -> u64;

    /// Adds the applications that a stream with these marks belongs to.
    fn join(&mut self, marks: u64, joins: &mut Vec<Join>);

    /// Selects the application that the following calls of the handler are for. `joined`: an index into
    /// [`subscriptions`](Self::subscriptions), `place`: the position of its [`Join`] of the stream.
    fn select(&mut self, joined: usize, place: usize);

    /// Whether one of them has [`Handler::VISITS`](crate::Handler::VISITS).
    fn wants_visits(&self) -> bool {
        false
    }
}

/// A stream belongs to an application.
///
/// For this workspace only; exempt from semantic versioning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// The application's index in [`Membership::subscriptions`].
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
    /// The [`Membership::marks`] of the stream that is about to be opened.
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
