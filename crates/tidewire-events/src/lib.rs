//! Events of analyzers: what they are, as messages and as JSON.
//!
//! The crate reads no clock and no file and starts no thread.
#![forbid(unsafe_code)]

#[allow(dead_code, reason = "folding needs the rest")]
mod cursor;
mod error;
mod event;
pub mod json;
pub mod limits;
pub mod message;

pub use error::{DecodeError, EventError};
pub use event::{Direction, Event, Field, FlowKey, Place, Severity, Value, is_name};
pub use json::JsonError;
pub use message::Message;
