//! The builder: input, settings and handler of a run.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use tidewire_core::{
    ChecksumMode, Config, DefragPolicy, Direction, DirectionCutoff, Handler, KeyIds, LinkAddresses, Mode, TcpPolicy,
};

#[cfg(feature = "filter")]
use crate::StreamClass;
use crate::{
    Error, Outcome, Stop,
    frames::FrameHandler,
    setup::{Duplicates, Input, Setup},
    worker::message,
};

/// Reads packets from files or interfaces and calls a [`Handler`].
///
/// `I` is the input: [`Files`](crate::Files), made with `Capture::files`, `reader` or `source`, or `Interfaces`, made with
/// `Capture::live`. Each input adds its own settings to the common ones. `C` are the closures that are called, if there are any: see
/// [`Closures`](crate::Closures).
///
/// Change the settings that differ from the defaults, in any order: a method for one setting prevails over [`config`](Self::config) and
/// [`configure`](Self::configure), and one for a direction over one for both. Then call [`run_with`](Self::run_with) (one worker, on this thread), [`run`](Self::run) or
/// [`for_each_stream`](Self::for_each_stream).
#[must_use = "nothing is read before it runs"]
pub struct Capture<I, C = ()> {
    pub(crate) input: I,
    pub(crate) setup: Setup,
    pub(crate) calls: C,
}

impl<I> Capture<I> {
    pub(crate) fn new(input: I) -> Self {
        Self { input, setup: Setup::default(), calls: () }
    }
}

impl<I, C> Capture<I, C> {
    /// Processes only packets that an expression in libpcap's language matches; the others count as `filtered`.
    #[cfg(feature = "filter")]
    pub fn filter(mut self, expression: impl Into<String>) -> Self {
        self.setup.filter = Some(expression.into());
        self
    }

    /// The expression of [`filter`](Self::filter).
    #[cfg(feature = "filter")]
    #[must_use]
    pub fn expression(&self) -> Option<&str> {
        self.setup.filter.as_deref()
    }

    /// How many workers [`run`](Self::run) starts, 1 to [`WORKERS_MAX`](crate::WORKERS_MAX). Default 1: everything on the
    /// calling thread. Results do not depend on it as long as no bound is reached: each worker has its own (see [`Config`]).
    /// Every other call runs one worker, and fails if more are set ([`SettingError::OneWorker`](crate::SettingError::OneWorker)).
    pub fn workers(mut self, count: usize) -> Self {
        self.setup.workers = count;
        self
    }

    /// Replaces all settings of the engine, the key of its hashes included, and for interfaces the timeouts that
    /// `Capture::live` sets; [`Config::memory_bytes`] is 64 MiB unless it is set there or by [`memory`](Self::memory).
    /// Methods for single settings prevail, before or after. Use [`configure`](Self::configure) to change some: called before this one, its
    /// changes would be lost, which the run refuses ([`SettingError::ConfigLast`](crate::SettingError::ConfigLast)).
    pub fn config(mut self, config: Config) -> Self {
        self.setup.is_replaced_late |= self.setup.is_configured;
        self.setup.config = config;
        self.setup.key_is_set = true;
        self.setup.cutoff_is_set = true;
        self
    }

    /// Changes any setting of [`Config`], for settings without a method here; such a method prevails where it is called, too.
    pub fn configure(mut self, change: impl FnOnce(&mut Config)) -> Self {
        let before = self.setup.config.cutoff();
        change(&mut self.setup.config);
        self.setup.is_configured = true;
        self.setup.cutoff_is_set |= self.setup.config.cutoff() != before;
        self
    }

    /// Ids that distinguish flows besides the innermost addresses, ports and protocol. Default: nothing, see [`KeyIds`].
    pub fn key_ids(mut self, ids: KeyIds) -> Self {
        self.setup.single.key_ids = Some(ids);
        self
    }

    /// The key of all hashes. Default: a random key for each run, so that an attacker cannot prepare packets that collide.
    /// Results do not depend on it as long as no bound is reached.
    pub fn hash_key(mut self, key: [u64; 2]) -> Self {
        self.setup.single.hash_key = Some(key);
        self
    }

    /// Sets how streams are reassembled.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.setup.single.mode = Some(mode);
        self
    }

    /// Delivers at most `bytes` of each direction; statistics continue. 0: statistics only; `None`: all bytes.
    pub fn cutoff(mut self, bytes: impl Into<Option<u64>>) -> Self {
        self.setup.single.cutoff = Some(DirectionCutoff::of(bytes));
        self
    }

    /// Delivers at most `bytes` of one direction.
    pub fn cutoff_direction(mut self, direction: Direction, bytes: impl Into<Option<u64>>) -> Self {
        self.setup.single.direction_cutoffs[direction as usize] = Some(bytes.into());
        self
    }

    /// Adds a class of streams with its own cutoff, priority, or both. The first matching class that sets a cutoff decides the
    /// cutoff, and likewise for the priority; other streams get the general cutoff and priority 0.
    #[cfg(feature = "filter")]
    pub fn class(mut self, class: StreamClass) -> Self {
        self.setup.classes.push(class);
        self
    }

    /// Gathers chunks of `bytes`, the last `overlap_bytes` of each repeated before the next. 0: no gathering,
    /// bytes are delivered as they arrive.
    pub fn chunks(mut self, bytes: u32, overlap_bytes: u32) -> Self {
        self.setup.single.chunk_and_overlap_bytes = Some((bytes, overlap_bytes));
        self
    }

    /// Delivers a chunk that was begun after this much packet time, full or not. `None`: only when it is full, the default.
    pub fn flush_timeout(mut self, after: impl Into<Option<Duration>>) -> Self {
        self.setup.single.flush_timeout = Some(after.into());
        self
    }

    /// Ends streams that were idle for longer, in packet time. `None`: never, the default of files.
    pub fn inactivity_timeout(mut self, after: impl Into<Option<Duration>>) -> Self {
        self.setup.single.inactivity_timeout = Some(after.into());
        self
    }

    /// Reports the end of a connection (`close`) once it is over and was silent for this long, instead of when it is
    /// forgotten: for inputs without an end, such as a pipe from tcpdump. Packets that come later belong to no stream, and
    /// have the fate [`Fate::AfterClose`](crate::Fate). By packet time; where nothing comes from a pipe, the wall clock
    /// counts. `None`: when it is forgotten, the default of files.
    pub fn report_closed(mut self, after: impl Into<Option<Duration>>) -> Self {
        self.setup.single.report_closed = Some(after.into());
        self
    }

    /// Bounds the memory of everything that grows with the traffic: the tables of flows, half-open connections and fragments,
    /// out-of-order bytes, chunks, lists and bytes kept for comparison, of all workers together. Default 1 GiB. State of the
    /// handlers, blocks of files and rings of interfaces are not included.
    ///
    /// It is divided when the run begins ([`Config::share_out`]): each worker gets the same part of it, at least 2 MiB. Bounds
    /// of [`Config`] that are lower stay, but for [`Config::memory_bytes`], which this replaces.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.setup.single.memory_bytes = Some(bytes);
        self
    }

    /// Counts so many bytes more for each stream in the part of the [`memory`](Self::memory) for the flow table: what each
    /// [`Handler::Data`] holds outside of itself. Default 0.
    pub fn stream_bytes(mut self, bytes: usize) -> Self {
        self.setup.stream_bytes = bytes;
        self
    }

    /// Which bytes win where segments or fragments overlap, for receivers without a policy of their own ([`Config::targets`]).
    pub fn policy(mut self, tcp: TcpPolicy, defrag: DefragPolicy) -> Self {
        self.setup.single.policies = Some((tcp, defrag));
        self
    }

    /// Sets whether copies of packets are left out. They have the fate [`Fate::Duplicate`](crate::Fate) and reach no handler. Runs without an
    /// engine ([`run_frames`](Self::run_frames)) keep them.
    pub fn duplicates(mut self, which: Duplicates) -> Self {
        self.setup.duplicates = which;
        self
    }

    /// Hands each frame to a handler of frames as well, before the engine: so a recorder and streams share one capture. `make` makes the
    /// handler of each worker of interfaces from its index; files have one, on the thread that reads. The kernel drops nothing for
    /// cutoffs then. Runs without an engine ([`run_frames`](Self::run_frames)) have handlers of their own, and make none of these.
    pub fn frames_beside(mut self, make: impl FnMut(usize) -> Box<dyn FrameHandler + Send> + Send + 'static) -> Self {
        self.setup.frames = Some(Box::new(make));
        self
    }

    /// Sets how checksums are verified.
    pub fn checksum(mut self, mode: ChecksumMode) -> Self {
        self.setup.single.checksum = Some(mode);
        self
    }

    /// Sets how destination link addresses are compared.
    pub fn link_addresses(mut self, addresses: LinkAddresses) -> Self {
        self.setup.single.link_addresses = Some(addresses);
        self
    }

    /// Ends the run early once [`Stop::stop`] was called; checked after each block.
    pub fn stop_when(mut self, stop: &Stop) -> Self {
        self.setup.stop = stop.clone();
        self
    }
}

impl<I: Input> Capture<I> {
    /// Runs one worker on this thread: no other thread, no copy between the reader's buffer and the handler. A handler that panics
    /// unwinds through this call.
    ///
    /// # Errors
    /// [`Error`]: an input that cannot be opened, an expression that is not valid, settings that contradict each other.
    pub fn run_with<H: Handler>(mut self, handler: H) -> Result<Outcome<H>, Error> {
        self.setup.one_worker()?;
        self.setup.settle(1, size_of::<H::Data>())?;
        self.run_settled(handler)
    }

    /// Runs with settings that were checked and completed.
    pub(crate) fn run_settled<H: Handler>(self, handler: H) -> Result<Outcome<H>, Error> {
        let worker = (handler, self.setup.classifier()?);
        self.input.run_single(self.setup, worker)
    }

    /// Runs as many workers as set; `handler` makes each one's handler from its index. With one worker this is
    /// [`run_with`](Self::run_with); of several over files, the calling thread reads.
    ///
    /// # Errors
    /// As [`run_with`](Self::run_with), and [`Error::Worker`] where a handler panicked; with one worker, a callback as well. A
    /// callback of a capture with several workers unwinds through this call.
    pub fn run<H: Handler + Send>(mut self, mut handler: impl FnMut(usize) -> H) -> Result<Outcome<H>, Error> {
        let count = self.setup.workers;
        if count == 1 {
            // The handler is dropped when it panics: its inconsistent state is never seen.
            let run = AssertUnwindSafe(|| self.run_with(handler(0)));
            return catch_unwind(run)
                .unwrap_or_else(|panic| Err(Error::Worker { index: 0, message: message(panic.as_ref()) }));
        }
        self.setup.settle(count, size_of::<H::Data>())?;
        let workers = (0..count).map(|index| Ok((handler(index), self.setup.classifier()?)));
        let workers = workers.collect::<Result<Vec<_>, Error>>()?;
        self.input.run_threads(self.setup, workers)
    }

    /// Runs without an engine: `make` makes the handler of each worker. Settings of streams (cutoffs, classes, timeouts) have no
    /// effect. Programs in the kernel are as `LiveSettings::kernel` says. Files have one worker. The ledger of the outcome and
    /// of reports has the frames received and their bytes, and of files those that the filter rejected.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_frames<F: FrameHandler + Send>(mut self, make: impl FnMut(usize) -> F) -> Result<Outcome<F>, Error> {
        self.setup.check()?;
        let handlers = (0..self.setup.workers).map(make).collect();
        self.input.run_frames(self.setup, handlers)
    }
}
