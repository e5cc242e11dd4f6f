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
//!
//! `docs/queues.md` specifies layout and protocol. `ring/` is the ring alone, over words that two processes may touch
//! at once: `producer.rs` writes two intents, the bytes and then the sequence; `reader.rs` copies and then looks
//! whether it was overtaken. `sys/` maps the file (the payload twice in a row), and copies. `sanitize/` builds `ring/`,
//! `members.rs` and `owners.rs` with loom's atomics, which is why these files import by relative paths.
//!
//! - The publisher looks at one word for each record (`Members::change`), and takes the table of readers where it has
//!   changed, unless the server is just writing it: it never waits for the server. `Owners` has, for each stream, the
//!   members of groups that it belongs to, under which change its OPEN was published last, how far its directions are,
//!   and what was shed.
//! - A reader attaches in this order: the server notes what is published, changes the table, and answers. So every
//!   record that is given to a new member is behind the first one that it was promised, and none that was given to an
//!   earlier reader at its place is taken for its own (the generation in word 6).
//! - Intents are raised for several records at once, as far as a publisher that holds may write: readers look at these
//!   words for each record, and would otherwise fetch them from the publisher's cache each time.
//! - Wake-ups go over the futex in the header and over each reader's socket (a packet, never blocking). An eventfd
//!   would not do: its flags belong to both sides, and a reader could make the server's write block.
//! - A server whose queues are quiet asks its publishers to wake it (`bell.rs`), looks by itself for 5 ms more, and
//!   sleeps. So a publisher needs no fence between its record and its look at that wish.
//!
//! ```text
//! Publisher ─ Owners of each stream ─► ring ─► Reader, Cursor           records/: typed payloads, events; losses.rs
//!     ▲ one word a record: has the table changed?        │ page.rs: how far it is, how it waits
//!     └──────── members.rs: Table ◄──── Server, a thread ◄┘
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
pub use layout::{Geometry, PAYLOAD_BYTES_MAX, QueueEnd, Record, SLOTS_MAX, SLOTS_MIN};
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
