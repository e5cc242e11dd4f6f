//! Events of analyzers: what they are, as messages and as JSON, and how a flood of them is folded without loss.
//!
//! The crate reads no clock and no file and starts no thread: time, hash keys and bytes are arguments.
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
pub use event::{Event, Field, FlowKey, Severity, StreamPosition, Value, is_name, is_name_pattern};
pub use fold::{Counts, FoldSettings, Folder, FolderSettings, Identity, Output, Pushed, Times};
pub use json::JsonError;
pub use message::Message;
pub use record::{Record, Unfold};
pub use tidewire_types::Direction;
pub use varied::{Row, TOP_MAX, Varied};
