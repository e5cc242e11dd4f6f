//! Capture files: formats, compression, merging.
//!
//! A [`Source`] fills [`Block`]s, each a piece of memory and the frames in it. [`Reader`] is one file, pipe or
//! stream of bytes, [`Merge`] any number of them in order of time; [`open`] chooses among them.
//!
//! ```no_run
//! use tidewire_files::{Block, Source};
//! let mut source = tidewire_files::open(&["capture.pcap.zst".into()])?;
//! let mut block = Block::new();
//! while source.fill(&mut block)? {
//!     for frame in block.batch().frames {
//!         println!("{} at {}: {} bytes", frame.number, frame.timestamp, frame.wire_bytes);
//!     }
//! }
//! # Ok::<(), tidewire_files::Error>(())
//! ```
//!
//! `Reader` recognises format and compression by content (`input/kind.rs`) and reads pieces of 256 KiB directly into
//! the caller's `Block`; only a record that crosses a piece's end is copied. `pcap.rs`, `snoop.rs`, `erf.rs`,
//! `netmon.rs` and `pcapng/` scan the piece and note a `Frame` for each packet: its place, its two lengths, link type,
//! timestamp and number. A frame also has `clock`, the greatest timestamp so far in the whole input, and `origin`,
//! where its bytes can be read again (single uncompressed files only).
//!
//! Damage ends an input, not the run: everything before it is processed, and the report has its byte offset.
#![forbid(unsafe_code)]

mod block;
mod cancel;
mod counter;
mod described;
pub mod encode;
mod erf;
mod error;
mod input;
mod limits;
mod merge;
mod netmon;
mod pcap;
mod pcapng;
mod reader;
mod record_cursor;
mod records;
mod signature;
mod snoop;
mod supplement;
mod unpacked;

pub use block::{Block, BlockFull, Source};
pub use cancel::Cancel;
pub use counter::FrameCounter;
pub use described::described;
pub use error::{Damage, Error};
pub use merge::Merge;
pub use pcapng::{CaptureLoss, StatedLoss, lost_before, stated_loss};
pub use reader::Reader;
pub use records::{Record, Records};
pub use supplement::{Supplement, Supplements, supplement};
pub use unpacked::Unpacked;

use std::path::PathBuf;

/// Opens captures: one as it is, several merged by time. `-` is standard input.
///
/// # Errors
/// See [`Reader::open`] and [`Merge::open`].
pub fn open(paths: &[PathBuf]) -> Result<Box<dyn Source>, Error> {
    open_until(paths, &Cancel::default())
}

/// As [`open`]; opening and reading end when `cancel` says so.
///
/// # Errors
/// As [`open`].
pub fn open_until(paths: &[PathBuf], cancel: &Cancel) -> Result<Box<dyn Source>, Error> {
    match paths {
        [path] => Ok(Box::new(Reader::open_until(path, cancel)?)),
        paths => Ok(Box::new(Merge::open_until(paths, cancel)?)),
    }
}

/// The examples of README.md.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
