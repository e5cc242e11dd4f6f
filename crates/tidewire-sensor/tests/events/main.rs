//! The event processor as a process of its own, with analyzers that are threads and processes.
#![forbid(unsafe_code)]

mod basics;
mod disk;
mod ending;
mod kills;
mod rig;
