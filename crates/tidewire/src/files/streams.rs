//! Finished streams one by one.

use std::fmt;

use tidewire_core::{Classify, Config, Engine, Share};
use tidewire_files::Block;

use super::{
    reading::{Next, Reading},
    run::{engine, silent_until_ns},
};
use crate::{FinishedStream, Outcome, finished::Gathering};

type Take = fn(FinishedStream) -> Option<FinishedStream>;

/// The iterator of [`Capture::streams`](crate::Capture::streams): ends when the input has ended and the last stream was given.
pub struct Streams<'a> {
    reading: Reading<'a>,
    engine: Engine<Gathering<Take>>,
    block: Block,
    report_ns: u64,
    has_ended: bool,
}

impl<'a> Streams<'a> {
    pub(super) fn new(
        reading: Reading<'a>,
        config: Config,
        kept_bytes_max: u64,
        classifier: Option<Box<dyn Classify>>,
    ) -> Self {
        let report_ns = config.report_closed_ns;
        let handler = Gathering::new(kept_bytes_max, Some as Take);
        let engine = engine(config, Share::ALL, (handler, classifier), reading.again());
        Self { reading, engine, block: Block::new(), report_ns, has_ended: false }
    }

    /// What the run came to: where every packet went, and what was wrong with the input. Streams that were not asked for are
    /// dropped; what was not read by now is not.
    pub fn finish(mut self) -> Outcome<()> {
        if !self.has_ended {
            self.engine.finish();
        }
        let (_, ledger) = self.engine.into_parts();
        self.reading.outcome(vec![()], ledger)
    }
}

impl Iterator for Streams<'_> {
    type Item = FinishedStream;

    fn next(&mut self) -> Option<FinishedStream> {
        loop {
            let finished = self.engine.handler().next();
            if finished.is_some() || self.has_ended {
                return finished;
            }
            match self.reading.next(&mut self.block) {
                Next::Frames => self.engine.process(&self.block.batch()),
                Next::Silence(silence, clock_ns) => {
                    self.engine.report_silent_closes(silent_until_ns(self.report_ns, silence, clock_ns));
                }
                Next::End => {
                    self.engine.finish();
                    self.has_ended = true;
                }
            }
        }
    }
}

impl fmt::Debug for Streams<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").field("has_ended", &self.has_ended).finish_non_exhaustive()
    }
}
