//! The position of a worker in one of its rings.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use tidewire_wire::Frame;

use crate::{Error, Ring};

/// How long to wait before a ring in error is retried.
pub(super) const RETRY: Duration = Duration::from_millis(200);

/// A ring, and its frames that are not yet delivered.
pub(super) struct RingCursor {
    pub ring: Box<dyn Ring>,
    /// Collected frames, in the order of arrival.
    pub waiting: VecDeque<Frame>,
    /// Frames of the current batch that belong to this ring.
    pub taken: usize,
    /// The same for each batch that was cut off.
    pub cut: VecDeque<usize>,
    /// The ring was in error: retried from then on.
    pub retry: Option<Instant>,
    /// Frames at the front of `waiting`, and behind it if there are more, that came before the filter was replaced.
    pub stale: usize,
}

impl RingCursor {
    pub fn new(ring: Box<dyn Ring>) -> Self {
        Self { ring, waiting: VecDeque::new(), taken: 0, cut: VecDeque::new(), retry: None, stale: 0 }
    }

    /// Appends about `most` frames that arrived to `frames`.
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
