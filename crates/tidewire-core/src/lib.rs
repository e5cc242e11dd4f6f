//! The engine: bytes and packet time in, stream events out.
//!
//! Pure: reads no clock, no file, no environment and starts no thread. One [`Engine`] is one worker;
//! several workers are several engines, each with its [`Share`] of the flows.
//!
//! The crate has layers. The lowest is what is reported (`event.rs`, `stream.rs`, `handler.rs`), what arrived
//! (`packet.rs`, `path.rs`) and what is remembered (`flow/`, `queue/`); the layers above use them, never the reverse. `Flow`
//! answers questions that need one flow only (these methods stand beside the rules that need them, in `tcp/` and `engine/`).
//! `Connection` (`connection.rs`) is a flow with what it shares with the others of its engine: settings, clock, counters,
//! memory account. TCP (`tcp/`) is methods of it: it knows no handler, and reports bytes and gaps to `Events`
//! (`tcp/events.rs`). `Delivery` (`engine/events.rs`) implements these: it is the handler with its state of one stream.
//! `Engine` (`engine/mod.rs`) owns the table. A packet that needs a look-up carries its key, side and hash in one value
//! (`Keyed`); number, clock and slot of the current packet are one value too (`Now`).
//!
//! Bytes in order are borrowed; only bytes out of order are copied, because they outlive their block. So a block can be
//! released when the batch is done, which rings need.

mod accounting;
mod budget;
mod capture_losses;
mod class;
mod client_by;
mod config;
mod connection;
mod defrag;
mod delivery_log;
mod display;
mod duplicates;
mod engine;
mod event;
mod flow;
mod handler;
mod key;
mod ledger;
mod list;
mod lost_ranges;
mod memory;
mod mptcp;
mod packet;
mod path;
mod policy;
#[doc(hidden)]
pub mod prefetch;
mod queue;
mod rejection;
#[cfg(feature = "serde")]
mod serial;
mod shunt;
mod stats;
mod stream;
mod subscriber;
mod tcp;

pub use class::{Class, Classify};
pub use client_by::ClientBy;
pub use config::{
    CHUNK_BYTES_MAX, ChecksumMode, Config, ConfigError, DirectionCutoff, DuplicateRule, KeyIds, LinkAddresses, Mode,
    Share, TargetPolicies, UnknownKeyId,
};
pub use delivery_log::{HISTORY_NEAR_BYTES, HISTORY_WINDOW_BYTES, History, HistoryAge};
pub use duplicates::{COPY_TIME_MAX, DuplicatePattern, Pattern, REMEMBERED_PACKETS, REPEAT_TIME_MAX};
pub use engine::Engine;
pub use event::{Chunk, Datagram, Gap, GapCause, Outside, OutsidePacket, PacketChecksum, StreamPacket, Unfinished};
pub use handler::Handler;
pub use ledger::{Fate, Ledger};
pub use memory::{MEMORY_BYTES_DEFAULT, MemoryError, WORKER_MEMORY_BYTES_MIN};
pub use mptcp::Mptcp;
pub use policy::{DefragPolicy, TcpPolicy, UnknownPolicy};
pub use rejection::Rejection;
pub use shunt::{Counted, Shunt};
pub use stats::{Anomaly, AnomalyKind, Conflict, EndReason, FlowKey, TcpState};
pub use stream::Stream;
#[doc(hidden)]
pub use subscriber::{Join, Membership, Subscription};
pub use tidewire_types::{Direction, DirectionStats, Endpoint, Timestamp, TimestampOutOfRange, Vlans, protocol_name};
pub use tidewire_wire::{self as wire, Batch, ChecksumStatus, Frame, Memory, PacketLoss, Parts};

/// For the project's own fuzzers and oracles; exempt from semantic versioning.
#[doc(hidden)]
pub mod internals {
    pub use crate::{
        defrag::{Defragmenter, Ended, Outcome, Rebuilt},
        queue::{Incoming, Inserted, Piece, Queue},
    };
}

/// The examples of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
