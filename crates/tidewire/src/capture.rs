//! The builder: what to read, how, and who is told.

use std::time::Duration;
#[cfg(feature = "files")]
use std::{io::Read, path::PathBuf};

use tidewire_core::{
    ChecksumMode, Classify, Config, DefragPolicy, Direction, Handler, KeyIds, LinkAddresses, MEMORY_BYTES_DEFAULT,
    Mode, TcpPolicy,
};
#[cfg(feature = "files")]
use tidewire_files::{Reader, Source};
#[cfg(feature = "live")]
use tidewire_live::LiveSettings;

#[cfg(feature = "files")]
use crate::control::Progress;
#[cfg(feature = "live")]
use crate::live::Beside;
use crate::{
    Error, Outcome,
    classes::{Rule, Rules},
    control::Stop,
};
#[cfg(feature = "files")]
use crate::{
    filter::Filter,
    history::rereadable,
    reading::{OnProgress, Reading},
    run,
};

/// Most workers of one run. Every worker decodes every packet, so that more do not help long before this.
pub const WORKERS_MAX: usize = 64;

/// Largest chunk, in bytes.
pub const CHUNK_BYTES_MAX: u32 = 16 << 20;

pub(crate) enum Input {
    #[cfg(feature = "files")]
    Files(Vec<PathBuf>),
    #[cfg(feature = "files")]
    Reader(Box<dyn Read + Send>),
    #[cfg(feature = "files")]
    Source(Box<dyn Source>),
    #[cfg(feature = "live")]
    Live(Box<LiveSettings>),
}

/// Packets from files to a [`Handler`]'s calls.
///
/// Build one with [`files`](Self::files), [`reader`](Self::reader) or [`source`](Self::source), set what differs from
/// the defaults, and end with [`run_with`](Self::run_with) (one worker, on this thread) or [`run`](Self::run).
pub struct Capture<'a> {
    pub(crate) input: Input,
    pub(crate) filter: Option<String>,
    pub(crate) workers: usize,
    pub(crate) config: Config,
    memory_bytes: u64,
    key_is_set: bool,
    pub(crate) rules: Vec<Rule>,
    #[cfg(feature = "files")]
    progress: OnProgress<'a>,
    pub(crate) stop: Stop,
    #[cfg(feature = "live")]
    pub(crate) beside: Beside<'a>,
}

impl<'a> Capture<'a> {
    /// Reads one file; see [`files`](Self::files).
    #[cfg(feature = "files")]
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::files([path])
    }

    /// Reads files, merged by the time of their packets; `-` is standard input. pcap and pcapng, plain or in gzip,
    /// zstd or lz4, recognised by content.
    #[cfg(feature = "files")]
    pub fn files<P: Into<PathBuf>>(paths: impl IntoIterator<Item = P>) -> Self {
        Self::new(Input::Files(paths.into_iter().map(Into::into).collect()))
    }

    /// Reads one capture from anything that gives bytes.
    #[cfg(feature = "files")]
    pub fn reader(reader: impl Read + Send + 'static) -> Self {
        Self::new(Input::Reader(Box::new(reader)))
    }

    /// Reads frames from a source of one's own.
    #[cfg(feature = "files")]
    pub fn source(source: impl Source + 'static) -> Self {
        Self::new(Input::Source(Box::new(source)))
    }

    pub(crate) fn new(input: Input) -> Self {
        Self {
            input,
            filter: None,
            workers: 1,
            config: Config::default(),
            memory_bytes: MEMORY_BYTES_DEFAULT,
            key_is_set: false,
            rules: Vec::new(),
            #[cfg(feature = "files")]
            progress: None,
            stop: Stop::new(),
            #[cfg(feature = "live")]
            beside: Beside::default(),
        }
    }

    /// Processes only packets that an expression in libpcap's language matches; the others count as `filtered`.
    #[cfg(feature = "filter")]
    #[must_use]
    pub fn filter(mut self, expression: impl Into<String>) -> Self {
        self.filter = Some(expression.into());
        self
    }

    /// How many workers [`run`](Self::run) starts, 1 to [`WORKERS_MAX`]. Default 1: everything on the calling thread.
    /// Results do not depend on it as long as no bound is reached: each worker has its own (see [`Config`]).
    #[must_use]
    pub fn workers(mut self, count: usize) -> Self {
        self.workers = count;
        self
    }

    /// All settings at once. Methods called after it change single ones.
    #[must_use]
    pub fn config(mut self, config: Config) -> Self {
        self.config = config;
        self.key_is_set = true;
        self
    }

    /// Changes settings that have no method of their own here: every field of [`Config`].
    #[must_use]
    pub fn configure(mut self, change: impl FnOnce(&mut Config)) -> Self {
        change(&mut self.config);
        self
    }

    /// What tells flows apart besides the innermost addresses, ports and protocol. Default: nothing, see [`KeyIds`].
    #[must_use]
    pub fn key_ids(mut self, ids: KeyIds) -> Self {
        self.config.key_ids = ids;
        self
    }

    /// The key of all hashes. Default: from the system's random source, another one for each run, so that nobody can
    /// prepare packets that collide. Results do not depend on it.
    #[must_use]
    pub fn hash_key(mut self, key: [u64; 2]) -> Self {
        self.config.hash_key = key;
        self.key_is_set = true;
        self
    }

    /// How streams are reassembled (S6, N5).
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.config.mode = mode;
        self
    }

    /// Delivers at most `bytes` of each direction (S3); statistics go on. 0: statistics only.
    #[must_use]
    pub fn cutoff(mut self, bytes: u64) -> Self {
        self.config.cutoff.0 = [bytes; 2];
        self
    }

    /// Delivers at most `bytes` of one direction.
    #[must_use]
    pub fn cutoff_direction(mut self, direction: Direction, bytes: u64) -> Self {
        self.config.cutoff.0[direction as usize] = bytes;
        self
    }

    /// A class of streams: those whose first packet `expression` (libpcap's language) matches. They get their own
    /// cutoff, their own priority (0 the lowest), or both. For each of the two the first class decides that matches
    /// and has one; streams of no class get the general cutoff and priority 0.
    #[cfg(feature = "filter")]
    #[must_use]
    pub fn class(mut self, expression: impl Into<String>, cutoff: Option<u64>, priority: Option<u8>) -> Self {
        let cutoff = cutoff.map(|bytes| [bytes; 2]);
        self.rules.push(Rule { expression: expression.into(), cutoff, priority });
        self
    }

    /// Gathers chunks of `bytes` (S7), the last `overlap_bytes` of each repeated before the next. 0: no gathering,
    /// bytes are delivered as they arrive.
    #[must_use]
    pub fn chunks(mut self, bytes: u32, overlap_bytes: u32) -> Self {
        self.config.chunk_bytes = bytes;
        self.config.overlap_bytes = overlap_bytes;
        self
    }

    /// Delivers a chunk that was begun after this much packet time, full or not. Zero: only when it is full.
    #[must_use]
    pub fn flush_timeout(mut self, after: Duration) -> Self {
        self.config.flush_timeout_ns = nanoseconds(after);
        self
    }

    /// Ends streams that were silent for longer, by packet time. Zero: never.
    #[must_use]
    pub fn inactivity_timeout(mut self, after: Duration) -> Self {
        self.config.inactivity_timeout_ns = nanoseconds(after);
        self
    }

    /// Reports the end of a connection (`close`) once it is over and was silent for this long, instead of when it is
    /// forgotten: for inputs without an end, such as a pipe from tcpdump. Packets that come later belong to no stream, and
    /// have the fate [`Fate::AfterClose`](crate::Fate). By packet time; where nothing comes from a pipe, the wall clock
    /// counts. Zero: when it is forgotten, the default of files.
    #[must_use]
    pub fn report_closed(mut self, after: Duration) -> Self {
        self.config.report_closed_ns = nanoseconds(after);
        self
    }

    /// Bounds the memory of everything that grows with the traffic: the tables of flows, half-open connections and
    /// fragments, out-of-order bytes, chunks, lists and what is remembered for comparison, of all workers together. Default
    /// 1 GiB. What the handlers keep themselves, blocks of files and rings of interfaces are not among it.
    ///
    /// It is divided when the run begins ([`Config::share_out`]): each worker gets the same part of it, at least 2 MiB. Bounds
    /// of [`Config`] that are lower stay; what is set with [`config`](Self::config) before this is not a lower one of
    /// [`Config::memory_bytes`].
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory_bytes = bytes;
        self.config.memory_bytes = bytes;
        self
    }

    /// Who wins where segments or fragments overlap, for receivers without a policy of their own
    /// ([`Config::targets`]).
    #[must_use]
    pub fn policy(mut self, tcp: TcpPolicy, defrag: DefragPolicy) -> Self {
        self.config.tcp_policy = tcp;
        self.config.defrag_policy = defrag;
        self
    }

    /// What is done about checksums.
    #[must_use]
    pub fn checksum(mut self, mode: ChecksumMode) -> Self {
        self.config.checksum = mode;
        self
    }

    /// What is done about the link addresses that frames are sent to.
    #[must_use]
    pub fn link_addresses(mut self, addresses: LinkAddresses) -> Self {
        self.config.link_addresses = addresses;
        self
    }

    /// Called on the calling thread after each block of packets (a quarter of a megabyte or so), and
    /// while nothing comes from a pipe, five times a second.
    #[cfg(feature = "files")]
    #[must_use]
    pub fn on_progress(mut self, call: impl FnMut(Progress) + 'a) -> Self {
        self.progress = Some(Box::new(call));
        self
    }

    /// Ends the run early when `stop` is raised; looked at after each block.
    #[must_use]
    pub fn stop_when(mut self, stop: &Stop) -> Self {
        self.stop = stop.clone();
        self
    }

    /// Runs one worker on this thread: no other thread, no copy between the reader's buffer and the handler.
    ///
    /// # Errors
    /// [`Error`]: an input that cannot be opened, an expression that is not valid, settings that contradict each other.
    pub fn run_with<H: Handler>(mut self, handler: H) -> Result<Outcome<H>, Error> {
        self.settle(1, size_of::<H::Data>())?;
        let worker = (handler, self.classifier()?);
        match self.input {
            #[cfg(feature = "live")]
            Input::Live(_) => self.run_live_alone(worker),
            #[cfg(feature = "files")]
            _ => {
                let (reading, config) = self.open()?;
                Ok(run::alone(reading, config, worker))
            }
        }
    }

    /// Runs as many workers as set; `handler` makes each one's handler from its index. With one worker this is
    /// [`run_with`](Self::run_with); with several the calling thread reads.
    ///
    /// # Errors
    /// As [`run_with`](Self::run_with), and [`Error::Worker`] where a handler panicked.
    pub fn run<H: Handler + Send>(mut self, mut handler: impl FnMut(usize) -> H) -> Result<Outcome<H>, Error> {
        if self.workers == 1 {
            return self.run_with(handler(0));
        }
        self.settle(self.workers, size_of::<H::Data>())?;
        let workers = (0..self.workers).map(|index| Ok((handler(index), self.classifier()?)));
        let workers = workers.collect::<Result<Vec<_>, Error>>()?;
        match self.input {
            #[cfg(feature = "live")]
            Input::Live(_) => self.run_live_together(workers),
            #[cfg(feature = "files")]
            _ => {
                let (reading, config) = self.open()?;
                run::together(reading, &config, workers)
            }
        }
    }

    /// Checks the settings, divides the memory and draws a key. `data_bytes`: the handler's own of a stream.
    fn settle(&mut self, workers: usize, data_bytes: usize) -> Result<(), Error> {
        self.check()?;
        let divided = self.config.share_out(self.memory_bytes, workers, data_bytes);
        divided.map_err(|what| Error::Setting { what })?;
        let highest = self.rules.iter().filter_map(|rule| rule.priority).max().unwrap_or(0);
        self.config.priorities = self.config.priorities.max(highest + 1);
        if !self.key_is_set {
            self.config.hash_key = random_key();
        }
        Ok(())
    }

    #[cfg(feature = "files")]
    fn open(self) -> Result<(Reading<'a>, Config), Error> {
        let filter = self.filter.as_deref().map(Filter::new).transpose()?;
        let mut again = None;
        let source: Box<dyn Source> = match self.input {
            Input::Files(paths) => {
                again = rereadable(&paths);
                tidewire_files::open(&paths)?
            }
            Input::Reader(reader) => Box::new(Reader::from_stream("(reader)", reader)?),
            Input::Source(source) => source,
            // Taken care of before.
            #[cfg(feature = "live")]
            Input::Live(_) => return Err(Error::Setting { what: "interfaces are not read like files".into() }),
        };
        Ok((Reading::new(source, filter, self.progress, self.stop, again), self.config))
    }

    fn classifier(&self) -> Result<Option<Box<dyn Classify>>, Error> {
        if self.rules.is_empty() {
            return Ok(None);
        }
        Ok(Some(Box::new(Rules::compile(&self.rules)?)))
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        let config = &self.config;
        let refuse = |what: String| Err(Error::Setting { what });
        if self.workers == 0 || self.workers > WORKERS_MAX {
            return refuse(format!("workers must be 1 to {WORKERS_MAX}, got {}", self.workers));
        }
        if config.chunk_bytes > CHUNK_BYTES_MAX {
            return refuse(format!("a chunk of {} bytes: the limit is {CHUNK_BYTES_MAX}", config.chunk_bytes));
        }
        if config.overlap_bytes > 0 && config.overlap_bytes >= config.chunk_bytes {
            let (overlap, chunk) = (config.overlap_bytes, config.chunk_bytes);
            return refuse(format!("an overlap of {overlap} bytes needs chunks that are larger, not of {chunk}"));
        }
        if !(1..=8).contains(&config.priorities) {
            return refuse(format!("priorities must be 1 to 8, got {}", config.priorities));
        }
        if config.base_threshold_permille > 1000 {
            return refuse("the base threshold is a share of the memory, at most 1000 thousandths".into());
        }
        if let Some(rule) = self.rules.iter().find(|rule| rule.priority.is_some_and(|level| level >= 8)) {
            return refuse(format!("class \"{}\": priorities are 0 (the lowest) to 7", rule.expression));
        }
        Ok(())
    }
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A key from the system's random source, by way of the standard library's: two of its hashers, each keyed anew.
fn random_key() -> [u64; 2] {
    use std::hash::{BuildHasher, RandomState};
    [RandomState::new().hash_one(0_u64), RandomState::new().hash_one(1_u64)]
}
