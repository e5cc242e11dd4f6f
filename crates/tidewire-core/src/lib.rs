//! The engine: bytes and packet time in, stream events out.
//!
//! Pure: reads no clock, no file, no environment and starts no thread. One [`Engine`] is one worker;
//! several workers are several engines, each with its [`Share`] of the flows.

mod budget;
mod class;
mod config;
pub mod defrag;
mod display;
pub mod engine;
mod event;
mod flow;
mod handler;
pub mod hash;
mod ledger;
mod memory;
mod packet;
mod path;
mod policy;
mod prefetch;
mod shunt;
mod stats;
mod stream;
mod subscriber;
pub mod tcp;

pub use class::{Class, Classify};
pub use config::{
    ChecksumMode, Config, DirectionCutoff, FLOWS_BY_MEMORY, KeyIds, LinkAddresses, Mode, Share, TargetPolicies,
    UnknownKeyId,
};
pub use engine::Engine;
pub use event::{Chunk, Datagram, Gap, GapCause, StreamPacket};
pub use handler::{Deliver, Handler, sealed};
pub use ledger::{Fate, Ledger};
pub use memory::{MEMORY_BYTES_DEFAULT, MemoryError, WORKER_MEMORY_BYTES_MIN};
pub use policy::{DefragPolicy, TcpPolicy, UnknownPolicy};
pub use shunt::{Counted, Shunt};
pub use stats::{Anomaly, AnomalyKind, Conflict, Direction, DirectionStats, EndReason, Endpoint, FlowKey, TcpState};
pub use stream::Stream;
pub use subscriber::{Join, Subscription};
pub use tcp::delivery_log::History;
pub use tidewire_wire::{self as wire, Batch, ChecksumStatus, Frame, Memory, Parts};

/// The examples of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
