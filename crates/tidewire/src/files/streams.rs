//! Finished streams one by one.

use std::fmt;

use tidewire_core::{Classify, Config};

use super::{input_loop::InputLoop, run::SingleRun};
use crate::{FinishedStream, Outcome, finished::Gathering};

type Take = fn(FinishedStream) -> Option<FinishedStream>;

/// The iterator of [`Capture::streams`](crate::Capture::streams): ends when the input has ended and the last stream was given.
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

    /// What the run came to: where every packet went, and what was wrong with the input. Streams that were not asked for are
    /// dropped; what was not read by now is not.
    pub fn finish(mut self) -> Outcome<()> {
        if !self.has_ended {
            self.run.end();
        }
        self.run.outcome().with_handlers(vec![()])
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
            self.has_ended = !self.run.step();
        }
    }
}

impl fmt::Debug for Streams<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Streams").field("has_ended", &self.has_ended).finish_non_exhaustive()
    }
}
