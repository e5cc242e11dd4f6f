//! One of a worker's rings.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use tidewire_wire::Frame;

use crate::{Error, Ring};

/// How long a ring in error is left alone before it is tried again.
pub(super) const RETRY: Duration = Duration::from_millis(200);

/// A ring and what of it is not yet handed over.
pub(super) struct RingCursor {
    pub ring: Box<dyn Ring>,
    /// Noted, in the order of arrival.
    pub waiting: VecDeque<Frame>,
    /// Of the batch under way, frames that are this ring's.
    pub taken: usize,
    /// The same of each batch that was cut off.
    pub cut: VecDeque<usize>,
    /// It was in error: tried again from then on.
    pub retry: Option<Instant>,
    /// Frames at the front of `waiting`, and behind it if there are more, that came before the filter was replaced.
    pub stale: usize,
}

impl RingCursor {
    pub fn new(ring: Box<dyn Ring>) -> Self {
        Self { ring, waiting: VecDeque::new(), taken: 0, cut: VecDeque::new(), retry: None, stale: 0 }
    }

    /// Notes about `most` frames that arrived, at the end of `frames`.
    pub fn collect(&mut self, frames: &mut Vec<Frame>, most: usize, troubles: &mut Vec<Error>) {
        if most == 0 || self.retry.is_some_and(|at| Instant::now() < at) {
            return;
        }
        match self.ring.collect(frames, most) {
            Ok(()) => self.retry = None,
            Err(error) => {
                if self.retry.is_none() {
                    troubles.push(error);
                }
                self.retry = Some(Instant::now() + RETRY);
            }
        }
    }
}
