//! Finished streams one by one.

use std::{fmt, iter::FusedIterator};

use tidewire_core::{Classify, Config};

use super::{input_loop::InputLoop, run::SingleRun};
use crate::{FinishedStream, Outcome, finished::Gathering};

type Take = fn(FinishedStream) -> Option<FinishedStream>;

/// The iterator of [`Capture::streams`](crate::Capture::streams): ends after the last stream of the input.
///
/// It does not report damage: [`finish`](Self::finish) returns that with the outcome.
#[must_use = "nothing is read before `next`"]
pub struct Streams<'a> {
    run: SingleRun<'a, Gathering<Take>>,
    has_ended: bool,
}

impl<'a> Streams<'a> {
    pub(super) fn new(
        input: InputLoop<'a>,
        config: Config,
        kept_bytes_max: u64,
        classifier: Option<Box<dyn Classify>>,
    ) -> Self {
        let handler = Gathering::new(kept_bytes_max, Some as Take);
        Self { run: SingleRun::new(input, config, (handler, classifier)), has_ended: false }
    }

    /// Ends the run and returns its outcome, with the errors of the input. Streams not yet taken are dropped; input not yet read is
    /// not read.
    pub fn finish(mut self) -> Outcome<()> {
        if !self.has_ended {
            self.run.end();
        }
        let is_cut = !self.run.has_read_all();
        let mut outcome = self.run.outcome().with_handlers(vec![()]);
        outcome.interrupted |= is_cut;
        outcome
    }
}

impl Iterator for Streams<'_> {
    type Item = FinishedStream;

    fn next(&mut self) -> Option<FinishedStream> {
        loop {
            let finished = self.run.handler().next();
            if finished.is_some() || self.has_ended {
                return finished;
            }
            // A step closes a bounded number of streams, so that few are kept here.
            self.has_ended = !self.run.step();
        }
    }
}

impl FusedIterator for Streams<'_> {}

impl fmt::Debug for Streams<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").field("has_ended", &self.has_ended).finish_non_exhaustive()
    }
}
