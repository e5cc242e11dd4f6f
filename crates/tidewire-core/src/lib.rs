//! The engine: bytes and packet time in, stream events out.
//!
//! Pure: reads no clock, no file, no environment and starts no thread. One [`Engine`] is one worker;
//! several workers are several engines, each with its [`Share`] of the flows.

mod batch;
mod budget;
mod config;
pub mod defrag;
mod display;
pub mod engine;
mod flow;
mod handler;
pub mod hash;
mod ledger;
mod memory;
mod policy;
mod prefetch;
mod shunt;
mod stats;
pub mod tcp;

pub use batch::{Batch, ChecksumStatus, Frame, Memory, Parts};
pub use config::{ChecksumMode, Config, DirectionCutoff, KeyIds, LinkAddresses, Mode, Share, TargetPolicies};
pub use engine::{Class, Classify, Engine, History, Join, Outlet, Stream};
pub use handler::{Chunk, Datagram, Gap, GapCause, Handler, StreamPacket};
pub use ledger::{Fate, Ledger};
pub use memory::{FLOWS_BY_MEMORY, MEMORY_BYTES_DEFAULT, WORKER_MEMORY_BYTES_MIN};
pub use policy::{DefragPolicy, TcpPolicy, UnknownPolicy};
pub use shunt::{Counted, Shunt};
pub use stats::{Anomaly, AnomalyKind, Conflict, Direction, DirectionStats, EndReason, Endpoint, FlowKey, TcpState};
pub use tidewire_wire as wire;
