//! The tables of a configuration, a file each.

mod analyzer;
mod capture;
mod common;
mod destination;
mod events;
mod inline;
mod queue;
mod sensor;

pub use analyzer::{Analyzer, OWN_NAMES};
pub use capture::Capture;
pub use common::{Places, Sections};
pub use events::{AllEvents, DIRECTORY};
pub use queue::{Hold, Queue};
pub use sensor::Sensor;
#[cfg(test)]
pub use {
    analyzer::ANALYZER,
    capture::CAPTURE,
    destination::{COLLECTOR, DESTINATION, FOLDER, KAFKA},
    events::{EVENTS, KIND, SPOOL},
    inline::{ANOMALY, MATCH, SCAN},
    queue::{CLASS, QUEUE},
    sensor::SENSOR,
};
