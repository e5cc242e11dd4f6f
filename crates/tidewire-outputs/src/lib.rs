//! Outputs: records of a run in the formats of `--to`, to files, folders, databases and collectors.
//!
//! [`Exports`] passes each [`Record`] to every [`Sink`]: EVE, Zeek's logs, IPFIX and NetFlow, lines of text, rows with typed columns. A sink
//! opens its place before the run, is written to by all workers, rotates and flushes as time passes, and is closed with an account of what
//! was written. Each fails for itself: the others continue, and the run ends where none is left.
//!
//! **Back pressure.** Files and pipes make the caller wait, so that nothing is lost. A collector over UDP is paced while files are read and
//! never waited for while a capture runs; one over TCP has a bounded queue : records that find no room there are counted and
//! reported. Rows wait in memory up to [`Settings::rows_bytes`].
//!
//! **Places.** [`place`] says where an output may go: links are followed by one rule, streams are recognised by any name, files have a hidden
//! name until they are complete. What writes files elsewhere (the recorder, the collector of events, the sensor) uses the same.

mod error;
mod exports;
mod facts;
mod files;
mod network;
mod periods;
pub mod place;
mod record;
mod rotate;
mod settings;
mod sink;
mod sinks;
mod target;

pub use error::{Notify, OutputError};
pub use exports::Exports;
pub use facts::Facts;
pub use record::{EndedFlow, Record, TextForm, TextRow};
pub use rotate::Rotate;
pub use settings::{Settings, Source};
pub use sink::{Call, Failure, Needs, Sink};
pub use target::{Format, Place, Target, expected};
