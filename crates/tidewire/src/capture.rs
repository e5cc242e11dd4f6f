//! The builder: what is captured, how, and who is told.

use std::time::Duration;

use tidewire_core::{
    ChecksumMode, Config, DefragPolicy, Deliver, Direction, DirectionCutoff, KeyIds, LinkAddresses, Mode, TcpPolicy,
};

#[cfg(feature = "filter")]
use crate::StreamClass;
use crate::{
    Error, Outcome, Stop,
    setup::{Input, Setup, nanoseconds},
};

/// Packets of files or interfaces to a [`Handler`](crate::Handler)'s calls.
///
/// `I` is what they come from: [`Files`](crate::Files), made with `Capture::files`, `reader` or `source`, or `Interfaces`, made
/// with `Capture::live`. Each has settings of its own beside those that all have. Set what differs from the defaults, and end
/// with [`run_with`](Self::run_with) (one worker, on this thread), [`run`](Self::run) or
/// [`for_each_stream`](Self::for_each_stream).
#[must_use = "nothing is read before it runs"]
pub struct Capture<I> {
    pub(crate) input: I,
    pub(crate) setup: Setup,
}

impl<I> Capture<I> {
    pub(crate) fn new(input: I) -> Self {
        Self { input, setup: Setup::default() }
    }

    /// Processes only packets that an expression in libpcap's language matches; the others count as `filtered`.
    #[cfg(feature = "filter")]
    pub fn filter(mut self, expression: impl Into<String>) -> Self {
        self.setup.filter = Some(expression.into());
        self
    }

    /// How many workers [`run`](Self::run) starts, 1 to [`WORKERS_MAX`](crate::WORKERS_MAX). Default 1: everything on the calling thread.
    /// Results do not depend on it as long as no bound is reached: each worker has its own (see [`Config`]).
    pub fn workers(mut self, count: usize) -> Self {
        self.setup.workers = count;
        self
    }

    /// All settings at once. Methods called after it change single ones.
    pub fn config(mut self, config: Config) -> Self {
        self.setup.config = config;
        self.setup.key_is_set = true;
        self
    }

    /// Changes settings that have no method of their own here: every field of [`Config`].
    pub fn configure(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.setup.config);
        self
    }

    /// What tells flows apart besides the innermost addresses, ports and protocol. Default: nothing, see [`KeyIds`].
    pub fn key_ids(mut self, ids: KeyIds) -> Self {
        self.setup.config.set_key_ids(ids);
        self
    }

    /// The key of all hashes. Default: from the system's random source, another one for each run, so that nobody can
    /// prepare packets that collide. Results do not depend on it.
    pub fn hash_key(mut self, key: [u64; 2]) -> Self {
        self.setup.config.set_hash_key(key);
        self.setup.key_is_set = true;
        self
    }

    /// How streams are reassembled.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.setup.config.set_mode(mode);
        self
    }

    /// Delivers at most `bytes` of each direction; statistics go on. 0: statistics only.
    pub fn cutoff(mut self, bytes: u64) -> Self {
        self.setup.config.set_cutoff(DirectionCutoff::both(bytes));
        self
    }

    /// Delivers at most `bytes` of one direction.
    pub fn cutoff_direction(mut self, direction: Direction, bytes: u64) -> Self {
        let cutoff = self.setup.config.cutoff().with(direction, bytes);
        self.setup.config.set_cutoff(cutoff);
        self
    }

    /// Adds a class of streams, with a cutoff, a priority, or both of their own. For each of the two the first class decides
    /// that matches and has one; streams of no class get the general cutoff and priority 0.
    #[cfg(feature = "filter")]
    pub fn class(mut self, class: StreamClass) -> Self {
        self.setup.classes.push(class);
        self
    }

    /// Gathers chunks of `bytes`, the last `overlap_bytes` of each repeated before the next. 0: no gathering,
    /// bytes are delivered as they arrive.
    pub fn chunks(mut self, bytes: u32, overlap_bytes: u32) -> Self {
        self.setup.config.set_chunk_bytes(bytes);
        self.setup.config.set_overlap_bytes(overlap_bytes);
        self
    }

    /// Delivers a chunk that was begun after this much packet time, full or not. Zero: only when it is full.
    pub fn flush_timeout(mut self, after: Duration) -> Self {
        self.setup.config.set_flush_timeout_ns(nanoseconds(after));
        self
    }

    /// Ends streams that were silent for longer, by packet time. Zero: never.
    pub fn inactivity_timeout(mut self, after: Duration) -> Self {
        self.setup.config.set_inactivity_timeout_ns(nanoseconds(after));
        self
    }

    /// Reports the end of a connection (`close`) once it is over and was silent for this long, instead of when it is
    /// forgotten: for inputs without an end, such as a pipe from tcpdump. Packets that come later belong to no stream, and
    /// have the fate [`Fate::AfterClose`](crate::Fate). By packet time; where nothing comes from a pipe, the wall clock
    /// counts. Zero: when it is forgotten, the default of files.
    pub fn report_closed(mut self, after: Duration) -> Self {
        self.setup.config.set_report_closed_ns(nanoseconds(after));
        self
    }

    /// Bounds the memory of everything that grows with the traffic: the tables of flows, half-open connections and
    /// fragments, out-of-order bytes, chunks, lists and what is remembered for comparison, of all workers together. Default
    /// 1 GiB. What the handlers keep themselves, blocks of files and rings of interfaces are not among it.
    ///
    /// It is divided when the run begins ([`Config::share_out`]): each worker gets the same part of it, at least 2 MiB. Bounds
    /// of [`Config`] that are lower stay; what is set with [`config`](Self::config) before this is not a lower one of
    /// [`Config::memory_bytes`].
    pub fn memory(mut self, bytes: u64) -> Self {
        self.setup.memory_bytes = bytes;
        self.setup.config.set_memory_bytes(bytes);
        self
    }

    /// Who wins where segments or fragments overlap, for receivers without a policy of their own
    /// ([`Config::targets`]).
    pub fn policy(mut self, tcp: TcpPolicy, defrag: DefragPolicy) -> Self {
        self.setup.config.set_tcp_policy(tcp);
        self.setup.config.set_defrag_policy(defrag);
        self
    }

    /// What is done about checksums.
    pub fn checksum(mut self, mode: ChecksumMode) -> Self {
        self.setup.config.set_checksum(mode);
        self
    }

    /// What is done about the link addresses that frames are sent to.
    pub fn link_addresses(mut self, addresses: LinkAddresses) -> Self {
        self.setup.config.set_link_addresses(addresses);
        self
    }

    /// Ends the run early when `stop` is raised; looked at after each block.
    pub fn stop_when(mut self, stop: &Stop) -> Self {
        self.setup.stop = stop.clone();
        self
    }
}

impl<I: Input> Capture<I> {
    /// Runs one worker on this thread: no other thread, no copy between the reader's buffer and the handler.
    ///
    /// # Errors
    /// [`Error`]: an input that cannot be opened, an expression that is not valid, settings that contradict each other.
    pub fn run_with<H: Deliver>(mut self, handler: H) -> Result<Outcome<H>, Error> {
        self.setup.settle(1, size_of::<H::Data>())?;
        self.run_settled(handler)
    }

    /// The same with settings that were checked and completed.
    pub(crate) fn run_settled<H: Deliver>(self, handler: H) -> Result<Outcome<H>, Error> {
        let worker = (handler, self.setup.classifier()?);
        self.input.run_single(self.setup, worker)
    }

    /// Runs as many workers as set; `handler` makes each one's handler from its index. With one worker this is
    /// [`run_with`](Self::run_with); of several over files, the calling thread reads.
    ///
    /// # Errors
    /// As [`run_with`](Self::run_with), and [`Error::Worker`] where a handler panicked.
    pub fn run<H: Deliver + Send>(mut self, mut handler: impl FnMut(usize) -> H) -> Result<Outcome<H>, Error> {
        let count = self.setup.workers;
        if count == 1 {
            return self.run_with(handler(0));
        }
        self.setup.settle(count, size_of::<H::Data>())?;
        let workers = (0..count).map(|index| Ok((handler(index), self.setup.classifier()?)));
        let workers = workers.collect::<Result<Vec<_>, Error>>()?;
        self.input.run_threads(self.setup, workers)
    }
}
