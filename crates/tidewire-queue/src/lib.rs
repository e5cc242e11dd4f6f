//! Records in shared memory: one process publishes, any number of processes read.
//!
//! The publisher never waits for a reader and never reads what a reader can write. A reader maps the queue read-only, which
//! seals enforce, and copies each record before it looks at it; what was overwritten meanwhile is reported as missed (the record's
//! head is known) or lost (only how many). So of any reader, at any moment: published since it began = read + missed + lost + waiting.
//!
//! ```
//! use tidewire_queue::{Geometry, Next, Publisher, Reader, Record};
//!
//! let mut publisher = Publisher::new(Geometry::new(1024, 1 << 20), 7)?;
//! let mut reader = Reader::open(publisher.file(), None)?;
//! publisher.publish(&Record { stream: 5, ..Record::default() }, b"bytes")?;
//! let mut payload = Vec::new();
//! let Next::Record(record) = reader.next(&mut payload)? else { panic!("a record was published") };
//! assert_eq!((record.stream, payload.as_slice()), (5, b"bytes".as_slice()));
//! # Ok::<(), tidewire_queue::Error>(())
//! ```

mod attach;
mod bell;
mod error;
mod hold;
mod layout;
mod listener;
mod losses;
mod members;
mod memory;
mod owners;
mod page;
mod protocol;
mod publisher;
mod reader;
pub mod records;
mod ring;
mod server;
mod socket;
mod sync;
#[allow(unsafe_code, reason = "shared memory and futexes")]
mod sys;
#[cfg(test)]
mod tests;

pub use attach::Attach;
pub use error::Error;
pub use hold::{Hold, PRIORITIES};
pub use layout::{Ended, Geometry, PAYLOAD_BYTES_MAX, Record, SLOTS_MAX, SLOTS_MIN};
#[doc(hidden)]
pub use listener::Listener;
pub use losses::{Losses, Missing};
pub use members::READERS_MAX;
pub use owners::Owners;
pub use page::Progress;
#[doc(hidden)]
pub use protocol::check_messages;
pub use protocol::{NAME_BYTES_MAX, Refusal, is_name};
pub use publisher::{Offer, Published, Publisher, PublisherCounts};
pub use reader::Reader;
pub use ring::{Corrupt, Next};
pub use server::{QueueSettings, ReaderStatus, ServedStatus, Server, ServerEvent};
#[doc(hidden)]
pub use sys::{peer, refuse_descriptors, timespec, wait_ready};
