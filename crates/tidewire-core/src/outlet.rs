//! How each of several applications behind one handler wants its streams delivered.

use std::collections::VecDeque;

use crate::{Class, Config, DirectionCutoff};

/// How one of several applications wants its streams. The fields are those of [`Config`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlet {
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
    /// Whether there may be streams that are none of its, or that have another cutoff: see [`Join`].
    pub exceptions: bool,
}

/// A stream belongs to an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// Which: its index in [`Deliver::outlets`](crate::Deliver::outlets).
    pub outlet: usize,
    /// Its own cutoff and priority for this stream, where it has them; marks mean nothing here.
    pub class: Class,
}

/// The engine's side of an outlet: its settings, or (while the engine is turned to it) the engine's own.
pub(crate) struct OutletState {
    pub settings: Outlet,
    pub flushes: VecDeque<(u64, u32, u64)>,
}

/// All outlets of an engine.
#[derive(Default)]
pub(crate) struct Outlets {
    pub states: Vec<OutletState>,
    /// The engine is turned to one of them.
    pub turned: bool,
    /// What [`Deliver::marks`](crate::Deliver::marks) said of the stream that is about to be opened.
    pub marks: u64,
    pub joins: Vec<Join>,
}

impl Outlets {
    /// Those that a handler has, and what the engine has to do for all of them in its settings.
    pub(crate) fn new(settings: Vec<Outlet>, config: &mut Config) -> Self {
        // Of streams that belong to nobody; the others' follow their applications.
        config.cutoff = DirectionCutoff([0; 2]);
        (config.chunk_bytes, config.overlap_bytes) = (0, 0);
        let timeouts = settings.iter().map(|outlet| outlet.flush_timeout_ns).filter(|timeout| *timeout != 0);
        config.flush_timeout_ns = timeouts.min().unwrap_or(0);
        config.priorities = settings.iter().map(|outlet| outlet.priorities).fold(config.priorities, u8::max);
        let states = settings.into_iter().map(|settings| OutletState { settings, flushes: VecDeque::new() });
        Self { states: states.collect(), ..Self::default() }
    }

    /// What is counted once for all applications.
    #[inline(always)]
    pub(crate) fn once(&self, count: u64) -> u64 {
        if self.turned { 0 } else { count }
    }
}
