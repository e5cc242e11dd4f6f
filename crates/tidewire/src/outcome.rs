//! The outcome of a run.

use std::time::Duration;

use tidewire_core::{Ledger, Pattern};
#[cfg(feature = "files")]
use tidewire_files::CaptureLoss;

use crate::Error;
#[cfg(feature = "live")]
use crate::live::LiveReport;

/// The outcome of a run.
#[derive(Debug)]
#[must_use]
#[non_exhaustive]
pub struct Outcome<H> {
    /// The handlers, by worker.
    pub handlers: Vec<H>,
    /// The fate of every packet, over all workers.
    pub ledger: Ledger,
    /// Damaged or unreadable parts of the input. Everything before each of them was processed.
    pub input_errors: Vec<Error>,
    /// The pattern of copies that the first packets of files have, where it decided that copies are left out.
    pub duplicates: Option<Pattern>,
    /// Losses of the captures before they were written, as pcapng files state them: by interface, those that lost any.
    #[cfg(feature = "files")]
    pub capture_losses: Vec<CaptureLoss>,
    /// How long the run took, by the wall clock.
    pub elapsed: Duration,
    /// Whether the run ended before the input: by [`Stop`](crate::Stop), or `Streams::finish`.
    pub interrupted: bool,
    /// The last report of a live capture: the place of every packet, from the interface to the handler.
    #[cfg(feature = "live")]
    pub live: Option<LiveReport>,
}

impl<H> Outcome<H> {
    /// The first worker's handler: the only one after [`Capture::run_with`](crate::Capture::run_with).
    ///
    /// # Panics
    /// If `handlers` is empty, as after it was drained.
    #[must_use]
    pub fn handler(&self) -> &H {
        &self.handlers[0]
    }

    /// Moves the first worker's handler out.
    ///
    /// # Panics
    /// As [`handler`](Self::handler).
    #[must_use]
    pub fn into_handler(mut self) -> H {
        self.handlers.swap_remove(0)
    }

    /// Replaces each handler by what `map` makes of it.
    #[cfg(feature = "protocols")]
    pub(crate) fn map_handlers<T>(mut self, map: impl FnMut(H) -> T) -> Outcome<T> {
        let handlers = std::mem::take(&mut self.handlers).into_iter().map(map).collect();
        self.with_handlers(handlers)
    }

    /// Replaces the handlers.
    pub(crate) fn with_handlers<T>(self, handlers: Vec<T>) -> Outcome<T> {
        Outcome {
            handlers,
            ledger: self.ledger,
            input_errors: self.input_errors,
            duplicates: self.duplicates,
            #[cfg(feature = "files")]
            capture_losses: self.capture_losses,
            elapsed: self.elapsed,
            interrupted: self.interrupted,
            #[cfg(feature = "live")]
            live: self.live,
        }
    }
}
