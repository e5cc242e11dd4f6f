//! The sensor: one capture whose streams and packets go to other processes over shared memory.
//!
//! It consists of processes: a supervisor, which starts and watches the others and reads no packet; the capture, which gives up
//! every privilege before the first packet; and the analyzers.
//!
//! ```text
//!  supervisor ─ starts, watches ─► capture ─ queues.sock ─► analyzers (its own, and others)
//!      │  sensor.sock: status         │ config as JSON in, CaptureEvent lines out, one socket
//!      └─ metrics, sd_notify          └─ Capture ─► Applications ─► StreamQueue, PacketQueue ─► Publisher
//! ```
//!
//! | folder | what |
//! |---|---|
//! | `config/` | reads a configuration and finds every mistake in it |
//! | `supervisor/` | starts and watches the other processes; never sees a packet |
//! | `processes/` | processes that must not outlive their parent; shared with `tidewire run` |
//! | `capture/` | the capture's process: opens, confines itself, serves the queues, reports |
//! | `producer/` | handlers that publish in queues, and the inline analyzers beside them; each queue is an application of one engine |
//! | `events/` | the event processor's process: receives, folds, stores, acknowledges |
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

/// The socket in a sensor's directory that fires the triggers of its recording.
pub const RECORD_SOCKET: &str = "record.sock";
