//! Common settings of captures, and how inputs run.

use std::time::Duration;

use tidewire_core::{
    ChecksumMode, Classify, Config, DefragPolicy, Direction, DirectionCutoff, DuplicateRule, Handler, KeyIds,
    LinkAddresses, MEMORY_BYTES_DEFAULT, Mode, Pattern, TcpPolicy,
};

use crate::{
    Error, Outcome, Stop,
    classes::{Classes, StreamClass},
    error::{SettingError, WORKERS_MAX},
    frames::{FrameHandler, FrameTap},
    worker::Worker,
};

/// Source of packets for a [`Capture`](crate::Capture): [`Files`](crate::Files), or `Interfaces` with the feature `live`.
pub trait Input: Run {}

/// How an input runs workers. The trait is sealed: it cannot be named outside of this crate.
pub trait Run: Sized {
    /// Runs one worker, on this thread.
    fn run_single<H: Handler>(self, setup: Setup, worker: Worker<H>) -> Result<Outcome<H>, Error>;

    /// Runs several workers, each on its own thread.
    fn run_threads<H: Handler + Send>(self, setup: Setup, workers: Vec<Worker<H>>) -> Result<Outcome<H>, Error>;

    /// Runs one worker without an engine, on this thread.
    fn run_frames_single<F: FrameHandler>(self, setup: Setup, handler: F) -> Result<Outcome<F>, Error>;

    /// Runs workers without an engine.
    fn run_frames<F: FrameHandler + Send>(self, setup: Setup, handlers: Vec<F>) -> Result<Outcome<F>, Error>;
}

impl<I: Run> Input for I {}

/// Whether copies of packets are left out: the same packet at several interfaces, or twice at a mirror port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Duplicates {
    /// Of several interfaces: those that another interface showed ([`DuplicateRule::Places`]), but for ports that only receive mirrored
    /// traffic (`Role::Tap`). Of files: where many of the first packets are copies.
    #[default]
    Auto,
    /// No packet.
    Keep,
    /// Those of [`DuplicateRule::Identified`], and in files that double every packet those of [`DuplicateRule::Doubled`].
    Drop,
}

impl Duplicates {
    /// The rule for an input whose first packets have this pattern.
    pub(crate) fn rule(self, pattern: Option<Pattern>) -> DuplicateRule {
        match (self, pattern) {
            (Self::Keep, _) | (Self::Auto, None) => DuplicateRule::Keep,
            (Self::Drop, None) => DuplicateRule::Identified,
            (_, Some(pattern)) => pattern.rule,
        }
    }
}

/// Settings that a method of [`Capture`](crate::Capture) set by itself: they prevail over the rest of the configuration, in whatever order
/// they came.
#[derive(Default)]
pub(crate) struct Single {
    pub key_ids: Option<KeyIds>,
    pub hash_key: Option<[u64; 2]>,
    pub mode: Option<Mode>,
    pub cutoff: Option<DirectionCutoff>,
    pub direction_cutoffs: [Option<Option<u64>>; 2],
    pub chunk_and_overlap_bytes: Option<(u32, u32)>,
    pub flush_timeout: Option<Option<Duration>>,
    pub inactivity_timeout: Option<Option<Duration>>,
    pub report_closed: Option<Option<Duration>>,
    pub memory_bytes: Option<u64>,
    pub policies: Option<(TcpPolicy, DefragPolicy)>,
    pub checksum: Option<ChecksumMode>,
    pub link_addresses: Option<LinkAddresses>,
}

impl Single {
    /// Sets them in `config`.
    fn apply(&self, config: &mut Config) {
        self.key_ids.into_iter().for_each(|ids| config.set_key_ids(ids));
        self.hash_key.into_iter().for_each(|key| config.set_hash_key(key));
        self.mode.into_iter().for_each(|mode| config.set_mode(mode));
        self.cutoff.into_iter().for_each(|cutoff| config.set_cutoff(cutoff));
        for (direction, bytes) in Direction::BOTH.into_iter().zip(self.direction_cutoffs) {
            bytes.into_iter().for_each(|bytes| config.set_cutoff(config.cutoff().with(direction, bytes)));
        }
        if let Some((bytes, overlap_bytes)) = self.chunk_and_overlap_bytes {
            config.set_chunk_bytes(bytes);
            config.set_overlap_bytes(overlap_bytes);
        }
        self.flush_timeout.into_iter().for_each(|after| config.set_flush_timeout(after));
        self.inactivity_timeout.into_iter().for_each(|after| config.set_inactivity_timeout(after));
        self.report_closed.into_iter().for_each(|after| config.set_report_closed(after));
        self.memory_bytes.into_iter().for_each(|bytes| config.set_memory_bytes(bytes));
        if let Some((tcp, defrag)) = self.policies {
            config.set_tcp_policy(tcp);
            config.set_defrag_policy(defrag);
        }
        self.checksum.into_iter().for_each(|mode| config.set_checksum(mode));
        self.link_addresses.into_iter().for_each(|addresses| config.set_link_addresses(addresses));
    }

    fn sets_cutoff(&self) -> bool {
        self.cutoff.is_some() || self.direction_cutoffs.iter().any(Option::is_some)
    }
}

/// The settings that files and interfaces share.
pub struct Setup {
    pub(crate) filter: Option<String>,
    pub(crate) workers: usize,
    pub(crate) config: Config,
    /// Settings by methods of their own.
    pub(crate) single: Single,
    /// Whether single settings of `config` were changed, and whether all were replaced after that.
    pub(crate) is_configured: bool,
    pub(crate) is_replaced_late: bool,
    pub(crate) memory_bytes: u64,
    /// Memory that the state of a stream holds outside of itself.
    pub(crate) stream_bytes: usize,
    pub(crate) key_is_set: bool,
    /// Whether the caller chose a cutoff; `streams` has another default than the engine.
    pub(crate) cutoff_is_set: bool,
    pub(crate) classes: Vec<StreamClass>,
    pub(crate) duplicates: Duplicates,
    pub(crate) stop: Stop,
    /// Makes the handlers that get frames beside an engine.
    pub(crate) frames: Option<MakeFrameTap>,
}

/// Makes the handler of a worker's frames.
pub(crate) type MakeFrameTap = Box<dyn FnMut(usize) -> Box<dyn FrameHandler + Send> + Send>;

impl Default for Setup {
    fn default() -> Self {
        Self {
            filter: None,
            workers: 1,
            // The memory of flows is bounded by their part of the memory, not by the default of a single engine.
            config: Config::default().with_memory_bytes(MEMORY_BYTES_DEFAULT),
            single: Single::default(),
            is_configured: false,
            is_replaced_late: false,
            memory_bytes: MEMORY_BYTES_DEFAULT,
            stream_bytes: 0,
            key_is_set: false,
            cutoff_is_set: false,
            classes: Vec::new(),
            duplicates: Duplicates::default(),
            stop: Stop::new(),
            frames: None,
        }
    }
}

impl Setup {
    /// Checks the settings, divides the memory and draws a key. `data_bytes`: size of the handler's state of a stream.
    pub(crate) fn settle(&mut self, workers: usize, data_bytes: usize) -> Result<(), Error> {
        self.check()?;
        self.config
            .share_out(self.memory_bytes, workers, data_bytes.saturating_add(self.stream_bytes))
            .map_err(SettingError::from)?;
        let highest = self.classes.iter().filter_map(|class| class.priority).max().unwrap_or(0);
        self.config.set_priorities(self.config.priorities().max(highest + 1));
        if !self.key_is_set {
            self.config.set_hash_key(random_key());
        }
        Ok(())
    }

    /// An error if several workers are set for a call that runs one.
    pub(crate) fn one_worker(&self) -> Result<(), SettingError> {
        if self.workers > 1 { Err(SettingError::OneWorker { given: self.workers }) } else { Ok(()) }
    }

    /// The handler that gets the frames of a worker beside the engine.
    pub(crate) fn frame_tap(&mut self, worker: usize) -> FrameTap {
        FrameTap(self.frames.as_mut().map(|make| make(worker)))
    }

    pub(crate) fn classifier(&self) -> Result<Option<Box<dyn Classify>>, Error> {
        if self.classes.is_empty() {
            return Ok(None);
        }
        Ok(Some(Box::new(Classes::compile(&self.classes)?)))
    }

    /// Whether the caller chose a cutoff.
    pub(crate) fn has_cutoff(&self) -> bool {
        self.cutoff_is_set || self.single.sets_cutoff()
    }

    /// Completes the configuration by the settings that prevail, and checks all.
    pub(crate) fn check(&mut self) -> Result<(), SettingError> {
        self.single.apply(&mut self.config);
        self.key_is_set |= self.single.hash_key.is_some();
        self.memory_bytes = self.single.memory_bytes.unwrap_or(self.memory_bytes);
        if self.is_replaced_late {
            return Err(SettingError::ConfigLast);
        }
        if self.workers == 0 || self.workers > WORKERS_MAX {
            return Err(SettingError::Workers { given: self.workers });
        }
        self.config.check()?;
        match self.classes.iter().find(|class| class.priority.is_some_and(|level| level >= 8)) {
            Some(class) => Err(SettingError::Priority { of: format!("class \"{}\"", class.expression) }),
            None => Ok(()),
        }
    }
}

/// A random key, from two hashers of the standard library, each with a fresh random key.
fn random_key() -> [u64; 2] {
    use std::hash::{BuildHasher, RandomState};
    [RandomState::new().hash_one(0_u64), RandomState::new().hash_one(1_u64)]
}
