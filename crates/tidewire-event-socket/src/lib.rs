//! Events from analyzers to the event processor of a sensor, over a Unix socket.
//!
//! An [`Events`] numbers what it emits, keeps it until the event processor has said that it is durable, and sends it again when the event
//! processor was started again; the other side ([`Server`]) knows what it has of each session. So every event that was
//! acknowledged is stored exactly once, in order.
//!
//! ```no_run
//! use std::{path::Path, time::Duration};
//! use tidewire_event_socket::Events;
//! use tidewire_events::{Event, Severity};
//!
//! let events = Events::connect(Path::new("/run/tidewire/events.sock"), "my-analyzer")?;
//! let event = Event { time_ns: 1_800_000_000_000_000_000, analyzer: "my-analyzer".into(), kind: "found.it".into(), ..Event::default() };
//! events.emit(&Event { severity: Severity::High, ..event })?;
//! events.flush(Duration::from_secs(10))?; // It is on the disk.
//! # Ok::<(), tidewire_event_socket::EventsError>(())
//! ```
//!
//! **Numbers.** A client numbers its events and keeps each until it is acknowledged; the store keeps the last number of
//! each session in the transaction that stores the events. So a new event processor knows what it has, and requests the
//! rest: each acknowledged event is stored exactly once. The same idea carries records to a collector, whose numbers
//! are the store's.
#![forbid(unsafe_code)]

mod client;
mod error;
mod protocol;
mod server;

pub use client::{Control, Emitted, Events, EventsCounts};
pub use error::EventsError;
#[doc(hidden)]
pub use protocol::check_packets;
pub use protocol::{NAMES_MAX, PACKET_BYTES_MAX, Refusal, Window};
pub use server::{AnalyzerCounts, Received, Server, ServerEvent, ServerSettings, Taken, Waker};

/// The name that events of the event processor itself have. No client may have it.
pub const OWN_NAME: &str = "tidewire";
