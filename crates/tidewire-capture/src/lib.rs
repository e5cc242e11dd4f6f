//! Where packets come from: capture files, their compression, merging and filters; interfaces ([`live`]).
//!
//! A [`Source`] fills [`Block`]s, each a piece of memory and the frames in it. [`Reader`] is one file, pipe or
//! stream of bytes, [`Merge`] any number of them in order of time; [`open`] chooses among them.
//!
//! ```no_run
//! use tidewire_capture::{Block, Source};
//! let mut source = tidewire_capture::open(&["capture.pcap.zst".into()])?;
//! let mut block = Block::new();
//! while source.fill(&mut block)? {
//!     for frame in block.batch().frames {
//!         println!("{} at {} ns: {} bytes", frame.number, frame.timestamp_ns, frame.wire_bytes);
//!     }
//! }
//! # Ok::<(), tidewire_capture::Error>(())
//! ```
//!
//! The feature `live` (on by default) is all that has to do with interfaces; without it there are files, merging and
//! filters only, and no system calls beyond the standard library's.
#![deny(unsafe_code)]
#![cfg_attr(not(feature = "live"), allow(dead_code, reason = "captures from interfaces use more of each part"))]

mod block;
mod error;
#[cfg(feature = "live")]
mod filter;
mod input;
mod limits;
#[cfg(feature = "live")]
pub mod live;
mod merge;
mod pcap;
mod pcapng;
#[cfg(feature = "live")]
pub mod privilege;
mod reader;
mod remedy;
mod snoop;
#[cfg(feature = "live")]
pub mod sys;
mod walk;

pub use block::{Block, Source};
pub use error::{Damage, Error};
pub use merge::Merge;
pub use reader::Reader;
pub use tidewire_filter::{Filter, FilterEnding, FilterHook, Instruction as ClassicInstruction};
pub use tidewire_wire::LinkType;
pub use tidewire_wire::{Batch, ChecksumStatus, Frame, Memory};

use std::path::PathBuf;

/// Opens captures: one as it is, several merged by time. `-` is standard input.
///
/// # Errors
/// See [`Reader::open`] and [`Merge::open`].
pub fn open(paths: &[PathBuf]) -> Result<Box<dyn Source>, Error> {
    match paths {
        [path] => Ok(Box::new(Reader::open(path)?)),
        paths => Ok(Box::new(Merge::open(paths)?)),
    }
}
