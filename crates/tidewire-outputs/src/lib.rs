//! Outputs: records of a run in the formats of `--to`, to files, folders, databases and collectors.
//!
//! [`Exports`] passes each [`Record`] to every [`Sink`]: EVE, Zeek's logs, IPFIX and NetFlow, lines of text, rows with typed columns. A sink
//! opens its place before the run, is written to by all workers, rotates and flushes as time passes, and is closed with an account of what
//! was written. Each fails for itself: the others continue, and the run ends where none is left.
//!
//! [`ExportHandler`] is the handler of an engine whose streams become such records: it gathers protocol fields ([`ConversationTracker`]), and every
//! program that writes records runs it.
//!
//! **Back pressure.** Files and pipes make the caller wait, so that nothing is lost; with [`Settings::room`] they never do: a thread writes, and
//! records that find no room are counted. A collector over UDP is paced while files are read and
//! never waited for while a capture runs; one over TCP has a bounded queue: records that do not fit are counted and
//! reported. Rows wait in memory up to [`Settings::rows_bytes`].
//!
//! **Places.** [`place`] says where an output may go: links are followed by one rule, streams are recognised by any name, files have a hidden
//! name until they are complete. What writes files elsewhere (the recorder, the collector of events, the sensor) uses the same.

mod conversations;
mod cut_offs;
mod error;
mod exports;
mod facts;
mod files;
mod handler;
mod keep;
mod locking;
mod memory;
mod network;
mod option;
mod output;
mod periods;
pub mod place;
mod record;
mod room;
mod rotate;
mod settings;
mod sink;
mod sinks;
#[cfg(test)]
mod stalls;
mod target;
mod totals;
mod write_behind;

pub use conversations::{ConversationTracker, HasConversation, Selected, TrackedStream};
pub use cut_offs::{CutOffs, STREAMS_MAX};
pub use error::{Notify, OutputError};
pub use exports::Exports;
pub use facts::Facts;
pub use handler::{ExportHandler, ExportKind, Exporting, TextRecord};
pub use keep::Keep;
pub use memory::{ENGINE_BYTES_MIN, KeptState, MemoryParts};
pub use option::OutputOption;
pub use output::{Failing, OutputState};
pub use record::{EndedFlow, Record, TextForm, TextRow};
pub use room::{BufferPool, Load, Room};
pub use rotate::Rotate;
pub use settings::{ACTIVE_TIMEOUT, Settings, Source, UDP_RATE};
pub use sink::{Account, Call, Failure, Needs, Sink};
pub use target::{Format, OutputDestination, Target, expected};
pub use totals::Totals;

/// The example of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of docs/library.md: this crate has all that they need.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/library.md")]
struct Guide;
