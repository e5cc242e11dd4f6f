//! The reader's side of a run: source, filter, progress, the wish to stop.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use tidewire_capture::{Block, Error as CaptureError, Filter, Filtered, Source};
use tidewire_core::{Fate, Ledger};

use crate::{Outcome, Progress, Stop};

/// What is called with the progress.
pub(crate) type OnProgress<'a> = Option<Box<dyn FnMut(Progress) + 'a>>;

/// Where blocks come from.
pub(crate) struct Reading<'a> {
    source: From,
    /// The file whose bytes can be read again.
    again: Option<PathBuf>,
    progress: OnProgress<'a>,
    stop: Stop,
    packets: u64,
    damages: Vec<CaptureError>,
    interrupted: bool,
    begun: Instant,
}

enum From {
    All(Box<dyn Source>),
    Some(Filtered<Box<dyn Source>>),
}

/// Problems noted one by one; a source that reports more than this is not read on.
const DAMAGES_MAX: usize = 10_000;

impl<'a> Reading<'a> {
    pub(crate) fn new(
        source: Box<dyn Source>,
        filter: Option<Filter>,
        progress: OnProgress<'a>,
        stop: Stop,
        again: Option<PathBuf>,
    ) -> Self {
        let source = match filter {
            Some(filter) => From::Some(Filtered::new(source, filter)),
            None => From::All(source),
        };
        Self {
            source,
            again,
            progress,
            stop,
            packets: 0,
            damages: Vec::new(),
            interrupted: false,
            begun: Instant::now(),
        }
    }

    /// The file that is read, where it is one plain file.
    pub(crate) fn again(&self) -> Option<&Path> {
        self.again.as_deref()
    }

    /// Fills `block` with the next frames; false at the end, or when it is wished.
    pub(crate) fn next(&mut self, block: &mut Block) -> bool {
        loop {
            if self.stop.is_raised() {
                self.interrupted = true;
                return false;
            }
            let filled = match &mut self.source {
                From::All(source) => source.fill(block),
                From::Some(source) => source.fill(block),
            };
            match filled {
                Ok(true) => {
                    self.packets += block.batch().frames.len() as u64;
                    self.report();
                    return true;
                }
                Ok(false) => return false,
                Err(damage) => self.damages.push(damage),
            }
            if self.damages.len() >= DAMAGES_MAX {
                return false;
            }
        }
    }

    fn report(&mut self) {
        let filtered = self.filtered().0;
        let Some(call) = &mut self.progress else { return };
        let source: &dyn Source = match &self.source {
            From::All(source) => source,
            From::Some(source) => source,
        };
        let progress = Progress {
            bytes_read: source.bytes_read(),
            bytes_total: source.bytes_total(),
            packets: self.packets + filtered,
        };
        call(progress);
    }

    /// Packets, and their captured bytes, that the filter did not want.
    fn filtered(&self) -> (u64, u64) {
        match &self.source {
            From::All(_) => (0, 0),
            From::Some(source) => (source.dropped_packets(), source.dropped_bytes()),
        }
    }

    /// Settles what the filter held back, and sums up.
    pub(crate) fn outcome<H>(self, handlers: Vec<H>, mut ledger: Ledger) -> Outcome<H> {
        let (packets, bytes) = self.filtered();
        ledger.received += packets;
        ledger.received_bytes += bytes;
        ledger.settle_many(Fate::Filtered, packets);
        let elapsed = self.begun.elapsed();
        Outcome {
            handlers,
            ledger,
            damages: self.damages,
            elapsed,
            interrupted: self.interrupted,
            #[cfg(feature = "live")]
            live: None,
        }
    }
}
