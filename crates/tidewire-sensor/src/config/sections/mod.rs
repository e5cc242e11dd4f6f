//! The tables of a configuration, a file each.

mod analyzer;
mod capture;
mod common;
mod destination;
mod events;
mod inline;
mod keys;
mod output;
mod queue;
mod record;
mod sensor;

pub use analyzer::{Analyzer, OWN_NAMES};
pub use capture::Capture;
pub use common::{Places, Sections};
pub use events::{AllEvents, DIRECTORY};
pub use output::Records;
pub use queue::{Hold, Queue};
pub use sensor::Sensor;
#[cfg(test)]
pub use {
    analyzer::ANALYZER,
    capture::CAPTURE,
    destination::{COLLECTOR, DESTINATION, FOLDER, KAFKA},
    events::{EVENTS, KIND, SPOOL},
    inline::{ANOMALY, MATCH, SCAN},
    keys::{RECORD, RECORDS},
    output::OUTPUT,
    queue::{CLASS, QUEUE},
    record::RECORD_CLASS,
    sensor::SENSOR,
};
