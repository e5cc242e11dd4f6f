//! Settings of every row of the live benchmark.

use super::{testbed::Receiving, tools::Tools};

/// Settings of a run.
pub(crate) struct Settings {
    /// Few and short measurements.
    pub quick: bool,
    /// Where frames are received.
    pub receiving: Receiving,
    /// The programs.
    pub tools: Tools,
}

impl Settings {
    /// How long a load is offered.
    pub fn seconds(&self) -> f64 {
        if self.quick { 1.0 } else { 2.0 }
    }
}
