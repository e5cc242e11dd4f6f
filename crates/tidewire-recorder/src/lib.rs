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
//!
//! The capture thread decides everything: whose packet it is (`flows/`), what is kept of it (`recorder/flow.rs`), where
//! it will lie (`recorder/append.rs`). So index and ledger need no second look at a packet, which is copied once, into
//! the buffer that is written. A lean table takes the place of the engine: `Key` has all that a filter expression may
//! see and that distinguishes records (VLANs, a digest of the outer header); lanes of one conversation share an
//! account. Segments, flows and buffers are bounded (`docs/limits.md`).
//!
//! With look-back (`look_back.rs`) frames wait as they came, without a look at their flow, and pass the same way when a
//! trigger lets them (`recorder/held.rs`), some milliseconds' worth at a time, so that rings are emptied meanwhile, and
//! without waiting for frames between two times (`FrameHandler::patience`). Each priority has a queue of its own, so
//! that the lowest makes room where memory is full.
//!
//! `Pool` hands out the buffer used last: with a disk that keeps up, a few buffers go around and stay in the cache.
//! Nothing that takes long is done by the writer: before it, on a thread of their own (`disk/digester.rs`), full
//! buffers are compressed to frames, or their digests and checksums computed, encoding an index (100 ms for a full
//! segment) and `fdatasync` are the closer's (`disk/`). On a tmpfs, where finding pages takes most of the time of a
//! write, another thread does that for the next segment (`disk/reserver.rs`, `Reserve`): a file without a name, of
//! which nothing is left after a crash. None of them stays on the processor of the capture thread that started it
//! (`disk/cores.rs`). `Attempts` repeats what a disk refuses; of files it gives up at once. `disk/troubles.rs` reports
//! an error of a directory once, `disk/written.rs` knows the packets that are not durable yet. `SegmentWriter` keeps a
//! checksum of each 64 KiB until they are (`sums.rs`, also in a file beside the segment, for the repair): after a
//! failed sync it reads back what it wrote and writes it again. Threads begin with the first frames, when privileges
//! are given up. A buffer's content begins at the address that its place in the file asks for (`alignment_gap`), so
//! that `FolderFile` writes whole pages past the page cache from where they are; it holds the last page until it is
//! whole, or until `--durable` asks for it.
#![forbid(unsafe_code)]

mod buffer;
mod classes;
mod control;
mod disk;
mod flows;
mod ledger;
mod look_back;
mod options;
mod place;
mod recorder;
mod recording;
mod segment;
mod settings;
mod status;
mod trigger;

pub use control::{Control, fire};
pub use disk::{Notice, Targets};
pub use ledger::Totals;
pub use options::{LookBackOptions, OptionError, RecordingOptions, snap_bytes};
pub use recorder::Recorder;
pub use recording::{Folders, OpenError, Recording};
pub use settings::{BUFFER_BYTES_MIN, LookBackSettings, PRIORITIES_MAX, RecordClass, RecordSettings};
pub use status::{Snapshot, Status, Waiting};
pub use trigger::Trigger;
