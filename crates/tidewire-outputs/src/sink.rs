//! A sink of records that workers share.

use std::path::PathBuf;

use crate::{error::OutputError, record::Record};

/// An output that workers share. Records that were written before a failure stay; later ones are dropped.
pub trait Sink: Send + Sync {
    /// The optional records that the sink consumes.
    fn needs(&self) -> Needs;

    /// Adds a record, if the format has a place for it.
    fn write(&self, record: &Record<'_>, call: &mut Call<'_>);

    /// Writes what was gathered, and completes files whose time has come.
    fn flush(&self, call: &mut Call<'_>);

    /// Writes lines that were gathered, and completes nothing.
    fn flush_lines(&self, _call: &mut Call<'_>) {}

    /// Has everything completed, as far as a thread of the sink can do so, without waiting for it: before [`finish`](Self::finish), so that
    /// several outputs end at the same time.
    fn begin_end(&self, _now_ns: u64, _is_whole: bool) {}

    /// Completes everything. `is_whole`: whether the run saw all of its input; otherwise no file of an earlier run is replaced.
    ///
    /// # Errors
    /// What could not be written, and what of it is there.
    fn finish(&self, now_ns: u64, is_whole: bool) -> Result<(), OutputError>;

    /// The account of the records that the sink made of those that it was passed. After [`finish`](Self::finish) further ones are lost.
    fn account(&self) -> Account {
        Account::default()
    }

    /// Why nothing can be written at this moment, where the sink itself tries again: a collector that is away.
    fn away(&self) -> Option<String> {
        None
    }

    /// The folder that files are made in.
    fn folder(&self) -> Option<PathBuf>;

    /// The ports of TCP that are connected to again after a loss.
    fn ports(&self) -> Vec<u16> {
        Vec::new()
    }
}

/// The records that a sink has a use for, beyond those of streams that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The order of a stream's packets.
    pub history: bool,
    /// Records as their subcommand prints them.
    pub text: bool,
    /// Figures of streams that continue.
    pub interim: bool,
    /// Reassembly or protocol fields, not figures alone.
    pub content: bool,
    /// Anomalies, one record each.
    pub anomalies: bool,
}

/// Records of an output, in the units of its format: lines, rows, or the records in messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Records that were to be written.
    pub accepted: u64,
    /// Of these, records that readers find, or found before another process removed them: never fewer than before.
    pub written: u64,
    /// Of these, records in files that cannot be read before they are complete, and the last one to a collector over UDP.
    pub unfinished: u64,
    /// Of these, records that no file and no collector has.
    pub lost: u64,
    /// Of the lost ones, records that came faster than the disk or reader took them.
    pub slow: u64,
    /// Of the lost ones, records that gave way to what has a higher priority, where memory or processors ran short.
    pub shed: u64,
    /// Files that were removed to keep within bounds.
    pub removed_files: u64,
    /// Bytes of these.
    pub removed_bytes: u64,
}

impl Account {
    /// Adds another one.
    pub fn add(&mut self, other: &Self) {
        self.accepted += other.accepted;
        self.written += other.written;
        self.unfinished += other.unfinished;
        self.lost += other.lost;
        self.slow += other.slow;
        self.shed += other.shed;
        self.removed_files += other.removed_files;
        self.removed_bytes += other.removed_bytes;
    }
}

/// The circumstances of a call: the time, a buffer, and what failed.
pub struct Call<'a> {
    /// The time now, nanoseconds since the epoch.
    pub now_ns: u64,
    /// A reusable buffer of the caller, empty.
    pub scratch: &'a mut Vec<u8>,
    /// Outputs and files that failed during this call.
    pub failures: Vec<Failure>,
}

/// A loss of output: later records are not written there.
pub enum Failure {
    /// The whole output.
    Output,
    /// One of its files.
    File {
        /// The reason; absent where the reader went away.
        message: Option<String>,
        /// Whether it was the last file that could be written.
        is_last: bool,
    },
}

impl<'a> Call<'a> {
    /// A call at a time.
    pub fn at(now_ns: u64, scratch: &'a mut Vec<u8>) -> Self {
        Self { now_ns, scratch, failures: Vec::new() }
    }
}
