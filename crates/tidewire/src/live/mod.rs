//! Runs over interfaces: each worker polls its own rings and has an engine of its own.

mod count;
mod report;
mod run;
mod work;

pub use report::{LiveReport, WorkerReport};
pub(crate) use run::{BeforeStart, Beside, OnEvent, OnReport, OnTrouble, alone, count, together};

pub use tidewire_capture::live::{
    Change, Direction, Fanout, FanoutMode, InKernel, Interface, InterfaceCounts, InterfaceEvent, InterfaceReport,
    KernelNeeds, LiveEngine, LiveSettings, RingCounts, Role, kernel::KernelCounters,
};
