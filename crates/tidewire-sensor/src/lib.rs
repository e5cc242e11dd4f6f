//! The sensor: one capture whose streams and packets go to other processes over shared memory.
//!
//! It consists of processes: a supervisor, which starts and watches the others and reads no packet; the capture, which gives up
//! every privilege before the first packet; and the analyzers.
#![forbid(unsafe_code)]

pub mod capture;
pub mod config;
pub mod events;
pub mod processes;
pub mod producer;
pub mod report;
mod reporter;
pub mod spool;
pub mod supervisor;

/// The socket in a sensor's directory at which analyzers attach to queues.
pub const QUEUES_SOCKET: &str = "queues.sock";

/// The socket in a sensor's directory to which analyzers send events.
pub const EVENTS_SOCKET: &str = "events.sock";
