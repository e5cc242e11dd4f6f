//! Counting only: what a capture costs before any engine.

use std::{
    hint,
    time::{Duration, Instant},
};

use tidewire_core::{Batch, Ledger};

use super::work::Consume;

/// Counts frames and their bytes on the wire.
pub(crate) struct Counter {
    ledger: Ledger,
    busy: Duration,
}

impl Counter {
    /// Spends `busy` on each frame.
    pub(crate) fn new(busy: Duration) -> Self {
        Self { ledger: Ledger::default(), busy }
    }

    pub(crate) fn into_ledger(self) -> Ledger {
        self.ledger
    }
}

impl Consume for Counter {
    fn process(&mut self, batch: &Batch<'_>) {
        self.ledger.received += batch.frames.len() as u64;
        self.ledger.received_bytes += batch.frames.iter().map(|frame| u64::from(frame.wire_bytes)).sum::<u64>();
        if !self.busy.is_zero() {
            let mut until = Instant::now();
            for _ in batch.frames {
                // From one end to the next, so that reading the clock is part of the work.
                until += self.busy;
                while Instant::now() < until {
                    hint::spin_loop();
                }
            }
        }
    }

    fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}
