//! What a run comes to.

use std::time::Duration;

use tidewire_core::Ledger;

use crate::Error;
#[cfg(feature = "live")]
use crate::live::LiveReport;

/// What a run came to.
#[derive(Debug)]
#[must_use]
pub struct Outcome<H> {
    /// The handlers, by worker.
    pub handlers: Vec<H>,
    /// Where every packet went, all workers together.
    pub ledger: Ledger,
    /// What was wrong with the input: damaged or unreadable parts. Everything before each was processed.
    pub input_errors: Vec<Error>,
    /// How long the run took, by the wall clock.
    pub elapsed: Duration,
    /// Whether [`Stop`](crate::Stop) was raised before the input ended.
    pub interrupted: bool,
    /// Of a live capture, the last report: from the interface to the handler.
    #[cfg(feature = "live")]
    pub live: Option<LiveReport>,
}

impl<H> Outcome<H> {
    /// The first worker's handler: the only one after [`Capture::run_with`](crate::Capture::run_with).
    ///
    /// # Panics
    /// Never: there is at least one worker.
    #[must_use]
    pub fn handler(&self) -> &H {
        &self.handlers[0]
    }

    /// The same with other handlers.
    pub(crate) fn with_handlers<T>(self, handlers: Vec<T>) -> Outcome<T> {
        Outcome {
            handlers,
            ledger: self.ledger,
            input_errors: self.input_errors,
            elapsed: self.elapsed,
            interrupted: self.interrupted,
            #[cfg(feature = "live")]
            live: self.live,
        }
    }
}
