//! The tables of a configuration, a file each.

mod analyzer;
mod capture;
mod common;
mod queue;
mod sensor;

pub use analyzer::Analyzer;
pub use capture::Capture;
pub use common::{Places, Sections};
pub use queue::{Hold, Queue};
pub use sensor::Sensor;
#[cfg(test)]
pub use {
    analyzer::ANALYZER,
    capture::CAPTURE,
    queue::{CLASS, QUEUE},
    sensor::SENSOR,
};
