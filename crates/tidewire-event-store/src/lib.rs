//! A durable store of folded events: SQLite with a write-ahead log, one writer, any number of readers.
//!
//! What [`Store::append`] or a [`Writer`] has acknowledged is on the disk. Records, positions of producers and destinations and the state
//! of folding change in one transaction, so that none of them can be ahead of the others after a crash.
//!
//! a table of records in the order of storing, positions of producers and destinations beside them, all in one
//! transaction. Retention removes the least severe and oldest first, and notes what a destination had not got. Damage
//! is found by checksums (`checking.rs`, `salvage.rs`), a log or a store that is gone by the names and lengths of their
//! files (`loss.rs`).
#![forbid(unsafe_code)]

mod batch;
mod checking;
mod clock;
mod error;
mod joining;
mod link;
mod lock;
mod loss;
mod opening;
mod positions;
mod progress;
mod read_progress;
mod reading;
mod restore;
mod retention;
mod rows;
mod salvage;
mod schema;
mod sealing;
mod store;
mod writer;

pub use batch::{Batch, Producer};
pub use clock::Now;
pub use error::Error;
pub use loss::Loss;
pub use opening::{Opening, Recovery, check_owner, is_of_another_program};
pub use positions::Destination;
pub use progress::RestoreProgress;
pub use read_progress::ReadProgress;
pub use reading::{Content, Order, Query, Reader, Rows, Stored};
pub use retention::{Limits, Reason, Removed, Retained};
pub use rows::{KeyId, RECORD_BYTES_MAX, Row};
pub use sealing::{Keyring, RECIPIENTS_MAX, Recipients, SealError, Sealer, WRAPPED_BYTES_MAX};
pub use store::Store;
pub use writer::{Broken, Done, Writer, WriterSettings, WriterStatus};
