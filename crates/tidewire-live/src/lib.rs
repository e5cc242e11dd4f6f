//! Packets from Linux interfaces: rings shared with the kernel, eBPF programs, privileges.
//!
//! A [`Ring`] lists the frames that the kernel wrote into its memory. A [`Worker`] polls its rings fairly, merges their frames
//! by time and delivers them as one [`Batch`](tidewire_wire::Batch) that borrows the rings' memory. [`open()`] makes both from
//! [`LiveSettings`].
//!
//! ```text
//!  interface ─► XDP program (--tap) ── filter, flow table, shed, steer ─┬─► AF_XDP socket of a worker ─┐
//!      │          or none            counted there: cut, shed, refused  └─► the stack                  │
//!      └─► packet sockets' hook ─► fan-out ─► socket filter (--host: the same programs) ─► TPACKET_V3 ─┤
//!                                                                                                      ▼
//!   Worker (worker.rs): polls its rings in turn, merges by time, numbers ─► Batch over the worker's arena
//!         │ one thread, one engine, Share::ALL                                                         │
//!         ▼                                                                                            ▼
//!   Shunt: cut, counted, retire ◄─────────── flow tables, mapped by both sides ◄───────────────── Engine
//! ```
//!
//! | folder | what |
//! |---|---|
//! | `open/` | opens what the settings ask for: rings, groups, programs |
//! | `filter/` | filters on their way into the kernel |
//! | `error/` | errors as enums, and hints for where they are printed |
//! | `packet/` | packet sockets (TPACKET_V3): rings, fan-out groups, socket filters |
//! | `xsk/` | AF_XDP: UMEM, rings, attachment to the interface |
//! | `kernel/` | programs in the kernel and the flow tables shared with them |
//! | `worker/` | merges the rings of one worker by time |
//! | `privilege/` | what is needed, and how it is given up |
//! | `sys/` | system calls without a safe wrapper; the only `unsafe` of the crate |
#![deny(unsafe_code)]

#[cfg(not(target_os = "linux"))]
compile_error!("tidewire-live captures from interfaces of Linux");

mod any_limits;
mod counts;
mod error;
mod filter;
mod filter_spec;
mod interface;
pub mod kernel;
mod link_message;
mod memory;
pub mod ntuple;
mod open;
pub mod packet;
pub mod privilege;
mod ring;
mod session;
mod settings;
pub mod split;
mod state;
#[doc(hidden)]
pub mod sys;
mod watch;
mod worker;
pub mod xsk;

pub use counts::InterfaceCounts;
pub use error::{Error, InterfaceProblem, KernelError, Operation, SettingError, WithHint};
pub use interface::Interface;
pub use open::open;
pub use ring::{Ring, RingCounts};
pub use session::{CaptureMethod, InterfaceReport, Live, Monitor, TICK};
pub use settings::{
    BLOCK_TIMEOUT_MAX, Fanout, FanoutMode, InKernel, KernelNeeds, LiveEngine, LiveSettings, Membership, Role, Sharing,
    TimestampSource, TrafficDirection,
};
pub use state::{Change, InterfaceEvent, InterfaceState, Purpose};
pub use tidewire_filter::Instruction as ClassicInstruction;
pub use tidewire_steer as steer;
pub use watch::Watch;
pub use worker::Worker;

/// The examples of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
