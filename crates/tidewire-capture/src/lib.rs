//! Where packets come from: capture files, their compression, merging and filters.
//!
//! A [`Source`] fills [`Block`]s, each a piece of memory and the frames in it. [`Reader`] is one file, pipe or
//! stream of bytes.
//!
//! ```no_run
//! use tidewire_capture::{Block, Reader, Source};
//! let mut source = Reader::open("capture.pcap")?;
//! let mut block = Block::new();
//! while source.fill(&mut block)? {
//!     for frame in block.batch().frames {
//!         println!("{} at {} ns: {} bytes", frame.number, frame.timestamp_ns, frame.wire_bytes);
//!     }
//! }
//! # Ok::<(), tidewire_capture::Error>(())
//! ```
#![forbid(unsafe_code)]

mod block;
mod error;
mod input;
mod limits;
mod pcap;
mod pcapng;
mod reader;
mod walk;

pub use block::{Block, Source};
pub use error::{Damage, Error};
pub use reader::Reader;
pub use tidewire_core::{Batch, Frame};
pub use tidewire_wire::LinkType;
