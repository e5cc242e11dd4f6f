//! The reading side of a run: source, filter, progress, stop flag.

use std::{
    collections::VecDeque,
    io::ErrorKind,
    mem,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tidewire_core::{Config, DuplicatePattern, Fate, Ledger, Pattern};
use tidewire_files::{Block, CaptureLoss, Error as FileError, Source, Supplement, encode::Interface};

use super::filtered::Filtered;
use crate::{
    Error, Outcome, Progress, Stop, Timestamp,
    filter::Filter,
    frames::{FrameHandler, FrameTap},
    setup::Duplicates,
    trace,
};

/// The callback for the ledger and the time of the input.
type OnLedger<'a> = Box<dyn FnMut(&Ledger, Option<Timestamp>) + Send + 'a>;

/// Callbacks of the reading thread.
#[derive(Default)]
pub(crate) struct Calls<'a> {
    pub(crate) progress: Option<Box<dyn FnMut(Progress) + Send + 'a>>,
    pub(crate) ledger: Option<OnLedger<'a>>,
}

/// Where a worker publishes its ledger.
pub(crate) type Published = Arc<Mutex<Ledger>>;

/// Where blocks come from.
pub(crate) struct InputLoop<'a> {
    source: MaybeFiltered,
    /// The file whose bytes can be read again.
    again: Option<PathBuf>,
    calls: Calls<'a>,
    /// The ledgers of the workers, where they are published.
    ledgers: Vec<Published>,
    stop: Stop,
    packets: u64,
    input_errors: Vec<Error>,
    interrupted: bool,
    begun: Instant,
    /// When the last frames came, and their clock.
    heard: Instant,
    clock: Option<Timestamp>,
    duplicates: Duplicates,
    /// Blocks that are read ahead to look for copies, at most.
    ahead_max: usize,
    /// Blocks that were read ahead, with descriptions and comments of each.
    ahead: VecDeque<(Block, News)>,
    /// Whether a block that was read ahead was passed on.
    has_begun: bool,
    pattern: Option<Pattern>,
    /// The handler of frames beside the engine.
    tap: FrameTap,
    /// Descriptions and comments of a read ahead that found no frame.
    early: News,
}

/// Next step of an input.
pub(crate) enum Next {
    /// The block has frames.
    Frames,
    /// No frame arrived for this time, after a frame of this clock.
    Silence(Duration, Timestamp),
    /// The input ended, or the run was stopped.
    End,
}

/// Blocks of a file that are read ahead to look for copies: 2 MiB.
const AHEAD_BLOCKS: usize = 8;

/// How long to wait for an input before it counts as silent.
const PATIENCE: Duration = Duration::from_millis(200);

enum MaybeFiltered {
    All(Box<dyn Source>),
    Some(Filtered<Box<dyn Source>>),
}

impl MaybeFiltered {
    fn wait(&mut self, most: Duration) -> bool {
        match self {
            Self::All(source) => source.wait(most),
            Self::Some(source) => source.wait(most),
        }
    }

    fn fill(&mut self, block: &mut Block) -> Result<bool, Error> {
        match self {
            Self::All(source) => Ok(source.fill(block)?),
            Self::Some(source) => source.fill(block),
        }
    }
}

/// Limit of recorded input errors; a source with more is not read further.
const INPUT_ERRORS_MAX: usize = 10_000;

impl<'a> InputLoop<'a> {
    pub(crate) fn new(
        source: Box<dyn Source>,
        filter: Option<Filter>,
        calls: Calls<'a>,
        stop: Stop,
        again: Option<PathBuf>,
    ) -> Self {
        let source = match filter {
            Some(filter) => MaybeFiltered::Some(Filtered::new(source, filter)),
            None => MaybeFiltered::All(source),
        };
        Self {
            source,
            again,
            calls,
            ledgers: Vec::new(),
            stop,
            packets: 0,
            input_errors: Vec::new(),
            interrupted: false,
            begun: Instant::now(),
            heard: Instant::now(),
            clock: None,
            duplicates: Duplicates::Keep,
            ahead_max: 0,
            ahead: VecDeque::new(),
            has_begun: false,
            pattern: None,
            tap: FrameTap(None),
            early: News::default(),
        }
    }

    /// Has a handler get frames beside the engine. To be called before anything is read.
    pub(crate) fn tap(&mut self, tap: FrameTap) {
        if tap.0.as_ref().is_some_and(|handler| handler.wants_comments()) {
            self.keep_comments();
        }
        self.tap = tap;
    }

    /// Has [`learn`](Self::learn) look for copies. Of a reader or source (`is_named`: no) whose end is unknown only one block is read
    /// ahead: the next one may take long.
    pub(crate) fn look_for_copies(&mut self, which: Duplicates, is_named: bool) {
        let is_finite = match &self.source {
            MaybeFiltered::All(source) => source.bytes_total(),
            MaybeFiltered::Some(source) => source.bytes_total(),
        };
        self.duplicates = which;
        self.ahead_max = if is_named || is_finite.is_some() { AHEAD_BLOCKS } else { 1 };
    }

    /// Reads ahead, and sets which copies the engine leaves out. To be called before the first frames; a second call changes nothing.
    ///
    /// The decision depends on the first blocks alone, so that it is the same for any number of workers. A pipe that pauses is not
    /// waited for.
    pub(crate) fn learn(&mut self, config: &mut Config) {
        if self.duplicates == Duplicates::Keep {
            return;
        }
        let which = mem::replace(&mut self.duplicates, Duplicates::Keep);
        let mut pattern = DuplicatePattern::new(config.hash_key(), config.wire());
        while self.ahead.len() < self.ahead_max {
            let mut block = Block::new();
            let next = self.read(&mut block);
            let news = self.source_news();
            if !matches!(next, Next::Frames) {
                self.early = news;
                break;
            }
            let goes_on = pattern.observe(&block.batch());
            self.ahead.push_back((block, news));
            if !goes_on {
                break;
            }
        }
        self.pattern = pattern.verdict();
        config.set_duplicates(which.rule(self.pattern));
    }

    /// The file that is read, where it is one plain file.
    pub(crate) fn again(&self) -> Option<&Path> {
        self.again.as_deref()
    }

    /// Fills `block` with the next frames. The first ones that were read ahead are passed on even if the run was stopped meanwhile: they
    /// were read before that.
    pub(crate) fn next(&mut self, block: &mut Block) -> Next {
        let is_wanted = !self.has_begun || !self.stop.is_stopped();
        let (next, news) = match self.ahead.pop_front().filter(|_| is_wanted) {
            Some((read, news)) => {
                *block = read;
                self.has_begun = true;
                (Next::Frames, Some(news))
            }
            None => (self.read(block), None),
        };
        if let Some(mut handler) = self.tap.0.take() {
            let news = news.unwrap_or_else(|| self.news(&next));
            news.hand(&next, block, &mut *handler);
            self.tap.0 = Some(handler);
        }
        next
    }

    fn read(&mut self, block: &mut Block) -> Next {
        loop {
            if self.stop.is_stopped() {
                self.interrupted = true;
                return Next::End;
            }
            if !self.source.wait(PATIENCE) {
                self.report();
                return Next::Silence(self.heard.elapsed(), self.clock.unwrap_or_default());
            }
            match self.source.fill(block) {
                Ok(true) => {
                    let frames = block.batch().frames;
                    let Some(last) = frames.last() else {
                        self.report();
                        return Next::Silence(self.heard.elapsed(), self.clock.unwrap_or_default());
                    };
                    self.packets += frames.len() as u64;
                    self.clock = Some(last.clock);
                    self.heard = Instant::now();
                    self.report();
                    return Next::Frames;
                }
                Ok(false) => return Next::End,
                // It is the end of reading, and no damage.
                Err(Error::File(FileError::Read { cause, .. }))
                    if cause.kind() == ErrorKind::Interrupted && self.stop.is_stopped() => {}
                Err(damage) => self.input_errors.push(damage),
            }
            if self.input_errors.len() >= INPUT_ERRORS_MAX {
                return Next::End;
            }
        }
    }

    /// Descriptions, comments and losses in what was read last, for handlers of frames.
    pub(crate) fn news(&mut self, next: &Next) -> News {
        let mut news = mem::take(&mut self.early);
        let read = self.source_news();
        news.described.extend(read.described);
        news.comments.extend(read.comments);
        news.supplements.extend(read.supplements);
        if matches!(next, Next::End) {
            news.losses = self.losses();
        }
        news
    }

    /// The same of the source's last read alone.
    fn source_news(&mut self) -> News {
        let (described, comments) = (self.described(), self.comments());
        News { described, comments, supplements: self.supplements(), losses: Vec::new() }
    }

    /// Interfaces that were described in what was read last, by their number in frames.
    fn described(&mut self) -> Vec<(u16, Interface)> {
        match &mut self.source {
            MaybeFiltered::All(source) => source.described(),
            MaybeFiltered::Some(source) => source.described(),
        }
    }

    /// Has comments of packets gathered from now on.
    pub(crate) fn keep_comments(&mut self) {
        match &mut self.source {
            MaybeFiltered::All(source) => source.keep_comments(),
            MaybeFiltered::Some(source) => source.keep_comments(),
        }
    }

    /// Comments of packets in what was read last, by frame number.
    fn comments(&mut self) -> Vec<(u64, Vec<u8>)> {
        match &mut self.source {
            MaybeFiltered::All(source) => source.comments(),
            MaybeFiltered::Some(source) => source.comments(),
        }
    }

    /// Texts of sections, secrets and names in what was read last.
    fn supplements(&mut self) -> Vec<Supplement> {
        match &mut self.source {
            MaybeFiltered::All(source) => source.supplements(),
            MaybeFiltered::Some(source) => source.supplements(),
        }
    }

    /// Losses of captures, as the files read so far state them.
    fn losses(&self) -> Vec<CaptureLoss> {
        match &self.source {
            MaybeFiltered::All(source) => source.losses(),
            MaybeFiltered::Some(source) => source.losses(),
        }
    }

    /// Where the next worker publishes its ledger; `None` if it is not published.
    pub(crate) fn ledger(&mut self) -> Option<Published> {
        self.calls.ledger.as_ref()?;
        let ledger = Published::default();
        self.ledgers.push(Arc::clone(&ledger));
        Some(ledger)
    }

    fn report(&mut self) {
        self.report_ledger();
        let filtered = self.filtered().0;
        let Some(call) = &mut self.calls.progress else { return };
        let (bytes_read, bytes_total) = match &self.source {
            MaybeFiltered::All(source) => (source.bytes_read(), source.bytes_total()),
            MaybeFiltered::Some(source) => (source.bytes_read(), source.bytes_total()),
        };
        let progress = Progress { bytes_read, bytes_total, packets: self.packets + filtered };
        call(progress);
    }

    fn report_ledger(&mut self) {
        let filtered = self.filtered();
        let Some(call) = &mut self.calls.ledger else { return };
        let mut sum = Ledger::default();
        for ledger in &self.ledgers {
            sum.add(&ledger.lock().unwrap_or_else(PoisonError::into_inner));
        }
        settle_filtered(&mut sum, filtered);
        let silence = self.heard.elapsed();
        call(&sum, self.clock.map(|clock| clock.saturating_add(silence)));
    }

    /// Packets, and their captured bytes, that the filter rejected.
    fn filtered(&self) -> (u64, u64) {
        match &self.source {
            MaybeFiltered::All(_) => (0, 0),
            MaybeFiltered::Some(source) => (source.dropped_packets(), source.dropped_bytes()),
        }
    }

    /// Adds the packets that the filter rejected to the ledger, and returns the outcome.
    pub(crate) fn outcome<H>(self, handlers: Vec<H>, mut ledger: Ledger) -> Outcome<H> {
        settle_filtered(&mut ledger, self.filtered());
        let elapsed = self.begun.elapsed();
        let capture_losses = self.losses();
        let outcome = Outcome {
            handlers,
            ledger,
            input_errors: self.input_errors,
            duplicates: self.pattern,
            capture_losses,
            elapsed,
            interrupted: self.interrupted,
            #[cfg(feature = "live")]
            live: None,
        };
        trace::ended(&outcome);
        outcome
    }
}

/// Descriptions, comments and losses for handlers of frames.
#[derive(Default)]
pub(crate) struct News {
    described: Vec<(u16, Interface)>,
    comments: Vec<(u64, Vec<u8>)>,
    supplements: Vec<Supplement>,
    losses: Vec<CaptureLoss>,
}

impl News {
    /// Hands them, and the frames, to a handler.
    pub(crate) fn hand(&self, next: &Next, block: &Block, handler: &mut (impl FrameHandler + ?Sized)) {
        if !self.supplements.is_empty() {
            handler.supplements(&self.supplements);
        }
        self.described.iter().for_each(|(number, interface)| handler.describe(*number, interface));
        self.comments.iter().for_each(|(number, options)| handler.comment(*number, options));
        match next {
            Next::Frames => {
                if !block.losses().is_empty() {
                    handler.losses(block.losses());
                }
                handler.frames(&block.batch());
            }
            Next::Silence(..) => handler.quiet(None),
            Next::End => {
                handler.capture_losses(&self.losses);
                handler.finish();
            }
        }
    }
}

/// Adds packets, and their bytes, that the filter rejected.
fn settle_filtered(ledger: &mut Ledger, (packets, bytes): (u64, u64)) {
    ledger.received += packets;
    ledger.received_bytes += bytes;
    ledger.settle_many(Fate::Filtered, packets);
}
