//! Where outputs may go: what the command, the recorder, the collector and the sensor have in common.

pub mod links;
pub mod streams;
