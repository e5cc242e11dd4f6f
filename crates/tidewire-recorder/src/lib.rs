//! Records packets into archives: a lean flow table decides what is kept of each stream, and stages joined by bounded queues bring it
//! to disk.
//!
//! ```text
//! frames ─► Recorder (capture thread): flow, cutoff, priority ─► buffers ─► writer of a directory ─► segment
//!                    │ decided there: written, cut off, shed, filtered              │
//!                    └─ index and ledger of the segment ─────────────────────► closer: syncs, index, name, retention
//! ```
//!
//! Each worker has its own stages. A packet is copied once, from where it was captured into the buffer that is written.
#![forbid(unsafe_code)]

mod buffer;
mod classes;
mod disk;
mod flows;
mod ledger;
mod look_back;
mod place;
mod recorder;
mod segment;
mod settings;
mod status;
mod trigger;

pub use disk::{Notice, Targets};
pub use ledger::Totals;
pub use recorder::Recorder;
pub use settings::{BUFFER_BYTES_MIN, LookBackSettings, PRIORITIES_MAX, RecordClass, RecordSettings};
pub use status::{Snapshot, Status, Waiting};
pub use trigger::Trigger;
