//! Runs over interfaces: each worker polls its own rings and has an engine of its own.

mod count;
mod report;
mod run;
mod work;

pub use report::{LiveReport, WorkerReport};
pub(crate) use run::{BeforeStart, Beside, OnReport, OnTrouble, alone, count, together};

pub use tidewire_capture::live::{
    Direction, Fanout, FanoutMode, Interface, InterfaceCounts, InterfaceReport, LiveEngine, LiveSettings, RingCounts,
    Role,
};
