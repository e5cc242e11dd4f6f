//! Captures from interfaces: the command over a cable between two network namespaces of the test's own, with real programs
//! at both ends. Where there are no privileges or programs for that, each test says so and passes.
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
mod refused;
mod rig;
mod same;
mod top;
