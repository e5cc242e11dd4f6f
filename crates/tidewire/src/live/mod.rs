//! Runs over interfaces: each worker polls its own rings and has its own engine.

mod builder;
mod count;
mod run;
mod work;

pub use crate::report::{LiveReport, LostPackets, WorkerReport};
pub use builder::{Interfaces, LIVE_CLOSED, LIVE_HOLE_TIMEOUT, LIVE_INACTIVITY, LIVE_REPORT};
pub(crate) use run::{Hooks, count, run_frames, run_frames_single, run_single, run_threads};

pub use tidewire_live::Error as LiveError;
/// Giving up privileges once everything is open.
pub use tidewire_live::privilege::{Confined, Confinement, Connections};
/// A compiled steering program, for [`LiveSettings`].
pub use tidewire_live::steer::Compiled;
pub use tidewire_live::{
    CaptureMethod, Change, ClassicInstruction, Fanout, FanoutMode, InKernel, Interface, InterfaceCounts,
    InterfaceEvent, InterfaceProblem, InterfaceReport, InterfaceState, KernelError, KernelNeeds, LiveEngine,
    LiveSettings, Membership, Operation, Purpose, RingCounts, Role, SettingError as LiveSettingError, Sharing,
    TimestampSource, TrafficDirection, WithHint, kernel::KernelCounters,
};
