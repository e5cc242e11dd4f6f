//! Captures from interfaces: the command over a cable between two private network namespaces, with real programs at both ends.
//! Tests are skipped, with a message, without the privileges or programs.
#![forbid(unsafe_code)]

mod beside;
#[path = "../common/mod.rs"]
mod common;
mod counting;
mod documents;
mod ends;
mod forms;
mod generate;
mod kernel;
mod names;
mod queues;
mod record_unit;
mod recorder_faults;
mod recording;
mod refused;
mod rig;
mod same;
#[path = "../../../tidewire-sensor/tests/capture/rig.rs"]
mod sensor;
mod several;
mod states;
mod status_line;
mod top;
mod triggers;
mod written;
