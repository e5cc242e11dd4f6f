//! Events of analyzers: what they are, as messages and as JSON, and how a flood of them is folded without loss.
//!
//! The crate reads no clock and no file and starts no thread: time, hash keys and bytes are arguments.
//!
//! # From an analyzer to its destinations
//!
//! ```text
//!  capture: Inline analyzers ─ a socket pair ─┐
//!  analyzers: Events ─ events.sock ───────────┴► event processor ─► Store ◄─ reads ─ spooler ─► collector, folder, Kafka
//!                   ◄─ acknowledged after COMMIT ─┘      ▲                      │
//!                                                        └── delivered up to ───┘
//! ```
//!
//! - **Numbers.** A client numbers its events and keeps each until it is acknowledged; the store keeps the last number of each session in the
//!   transaction that stores the events. So a new event processor knows what it has, and asks for the rest: each acknowledged event is
//!   stored exactly once. The same idea carries records to a collector, whose numbers are the store's.
//! - **Folding** (`tidewire-events/src/fold/`). A group is analyzer, kind, severity, names and types of fields: the *shape*. A fold is a
//!   group with the values that have to be equal; what may vary is found from how many values each member takes (`profile.rs`), or
//!   set. Values of a fold are columns (`column/`): numbers as differences, texts in a dictionary. A record gives back every event in
//!   order. A flood of keys closes folds early, it never takes more memory.
//! - **The event processor** (`tidewire-sensor/src/events/`): one thread receives, folds, and cuts what waits into records every 20 ms; a
//!   second one stores them. While the store cannot be written, nothing is read: analyzers wait, the capture refuses and counts.
//! - **The store** (`tidewire-event-store`): a table of records in the order of storing, positions of producers and destinations beside
//!   them, all in one transaction. Retention removes the least severe and oldest first, and notes what a destination had not got. Damage is found by
//!   checksums (`checking.rs`, `salvage.rs`), a log or a store that is gone by the names and lengths of their files (`loss.rs`).
//! - **Sealed records** (`sealing.rs`): a data key at each start, wrapped by age for the recipients; the process forgets it at its end, so
//!   that a sensor cannot read what it stored. Analyzer, kind, severity, counts and times stay readable: retention, filters and
//!   tables need them. State of folding is not stored then, and records are not joined.
//! - **Inline analyzers** (`tidewire-analyzers`) are handlers in the capture. They never wait: what the socket's window has no room for is
//!   refused and counted, and becomes an event when there is room. Scans are counted in tables of fixed size, shared by the workers.
//! - **The spooler** (`tidewire-delivery/src/spooler/`): a thread for each destination (`lane.rs`), with a reader and a position of its own, so that a
//!   dead one delays nobody. The store is the spool: nothing is copied. `kafka/` makes messages of records (`messages.rs`) and follows which are
//!   acknowledged (`topic.rs`); librdkafka is built only with the feature `kafka`. `collector/` keeps a store for each sensor, named by its certificate.
#![forbid(unsafe_code)]

mod column;
mod community;
mod cursor;
mod error;
mod event;
mod fold;
pub mod json;
mod lanes;
pub mod limits;
pub mod message;
mod record;
mod varied;

pub use error::{DecodeError, EventError};
pub use event::{Event, Field, FlowKey, Place, Severity, Value, is_name, is_name_pattern};
pub use fold::{Counts, FoldSettings, Folder, FolderSettings, Identity, Output, Pushed, Times};
pub use json::JsonError;
pub use message::Message;
pub use record::{Record, Unfold};
pub use tidewire_types::Direction;
pub use varied::{Row, TOP_MAX, Varied};
