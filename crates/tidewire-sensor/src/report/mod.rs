//! Reports of the capture to the supervisor: lines of JSON over the descriptor that it was started with.

mod branches;
mod ledger;

use serde::{Deserialize, Serialize};

pub use ledger::{BranchStatus, LedgerStatus, reasons};

/// One line from the capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum CaptureEvent {
    /// Everything is open, privileges are given up, analyzers can attach.
    Ready {
        /// How each input is captured, in words.
        inputs: Vec<String>,
    },
    /// Figures, twice a second.
    Status(CaptureStatus),
    /// An analyzer attached, detached, was refused or is waited for, in words. At most one of each kind in a second.
    Reader {
        /// The event, in words.
        text: String,
    },
    /// Something that does not end the capture.
    Warning {
        /// The warning.
        text: String,
    },
    /// The input ended or the capture was stopped, and everything was published.
    Finished(CaptureStatus),
    /// The capture could not begin or go on.
    Failed {
        /// Why.
        text: String,
        /// A remedy.
        hint: Option<String>,
    },
}

/// Figures of the capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaptureStatus {
    /// Seconds since it began.
    pub seconds: f64,
    /// Packets that the engine received.
    pub packets: u64,
    /// Packets that the kernel dropped before it.
    pub dropped: u64,
    /// The packets by what became of them, with the branches: as of the capture's last report.
    #[serde(default)]
    pub ledger: LedgerStatus,
    /// By interface.
    #[serde(default)]
    pub interfaces: Vec<InputStatus>,
    /// By queue.
    pub queues: Vec<QueueStatus>,
    /// By analyzer within the capture.
    #[serde(default)]
    pub inline: Vec<InlineStatus>,
    /// Records that the capture writes; `None`: it writes none.
    #[serde(default)]
    pub records: Option<RecordsStatus>,
    /// The recording; `None`: there is none.
    #[serde(default)]
    pub record: Option<RecordStatus>,
}

/// A recording of packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordStatus {
    /// Packets by what became of them, segments, what waits for a trigger.
    #[serde(flatten)]
    pub figures: tidewire_recorder::Snapshot,
    /// Where segments are.
    pub directories: Vec<RecordDirectory>,
    /// Whether nothing can be recorded any more.
    pub failed: bool,
    /// Why nothing can be written at this moment; it is tried again.
    #[serde(default)]
    pub failing: Option<String>,
}

/// A directory of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordDirectory {
    /// Its path.
    pub path: std::path::PathBuf,
    /// Complete segments in it.
    pub segments: u64,
    /// Their bytes, with their indexes.
    pub bytes: u64,
}

/// Records of streams and transactions, and the outputs that they are passed to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordsStatus {
    /// Streams that ended and were passed to the outputs.
    pub flows: u64,
    /// Transactions that were.
    pub transactions: u64,
    /// Streams that lost their protocol fields for lack of memory.
    pub without_fields: u64,
    /// Streams of QUIC whose history was cut off for lack of memory.
    pub cut_histories: u64,
    /// By output.
    pub outputs: Vec<OutputStatus>,
}

/// An output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputStatus {
    /// Its name.
    pub name: String,
    /// Format and place.
    pub to: String,
    /// Whether it cannot be written at this moment, or not any more.
    pub failed: bool,
    /// Why it cannot, or which collector is away.
    #[serde(default)]
    pub failing: Option<String>,
    /// Since when, nanoseconds since 1970.
    #[serde(default)]
    pub failed_since_ns: Option<u64>,
    /// Whether it is tried again.
    #[serde(default)]
    pub retried: bool,
    /// Since when it is written again, if it had failed: nanoseconds since 1970.
    #[serde(default)]
    pub written_again_ns: Option<u64>,
    /// Records that were to be written: lines, rows, or the records in messages.
    #[serde(default)]
    pub records: u64,
    /// Of these, records that were written.
    #[serde(default)]
    pub written_records: u64,
    /// Of these, records that are lost; others wait in memory.
    #[serde(default)]
    pub lost_records: u64,
    /// Of the lost ones, records that came faster than the disk, or the reader of a pipe, took them.
    #[serde(default)]
    pub slow_records: u64,
    /// Of these, records that gave way to what has a higher priority.
    #[serde(default)]
    pub shed_records: u64,
    /// Complete files that were removed to keep within bounds.
    #[serde(default)]
    pub removed_files: u64,
    /// Bytes of these.
    #[serde(default)]
    pub removed_bytes: u64,
}

/// An interface that is captured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InputStatus {
    /// Its name when the capture began.
    pub name: String,
    /// Its name now, if it was renamed.
    #[serde(default)]
    pub current_name: Option<String>,
    /// `up`, `down` or `gone`: capture continues when it is up again.
    pub state: String,
    /// Frames that the kernel counted at it, in both directions.
    pub frames: u64,
    /// Seconds since the last of them; `None`: none came.
    pub idle_seconds: Option<f64>,
}

/// Figures of an analyzer within the capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InlineStatus {
    /// Its name: `anomaly`, `match` or `scan`.
    pub analyzer: String,
    /// Events that it made.
    pub emitted: u64,
    /// Events that had no room.
    pub refused: u64,
}

/// Figures of a queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueStatus {
    /// Its name.
    pub name: String,
    /// `streams` or `packets`.
    pub unit: String,
    /// Records published.
    pub records: u64,
    /// Their payload in bytes.
    pub bytes: u64,
    /// Records that were shed instead of published: for slow readers, or under load.
    pub shed_records: u64,
    /// Bytes of these.
    pub shed_bytes: u64,
    /// Of the shed ones, records that gave way to the capture and to what has a higher priority.
    #[serde(default)]
    pub overload_records: u64,
    /// Nanoseconds that the producer waited for slow readers.
    pub waited_ns: u64,
    /// Readers that it must have before the input begins; 0 once it has begun.
    #[serde(default)]
    pub awaited: usize,
    /// Its readers.
    pub readers: Vec<ReaderReport>,
}

/// Figures of a reader, by its own account: `None` (null) is an unknown figure, because the reader never gave one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReaderReport {
    /// The name that it gives itself.
    pub name: String,
    /// Its group.
    pub group: Option<String>,
    /// Its process.
    pub process: i32,
    /// Its user.
    pub user: u32,
    /// Sequence of the first record that it could read.
    #[serde(default)]
    pub first: u64,
    /// Records that it read.
    pub read: Option<u64>,
    /// Records that it missed or lost.
    pub lost: Option<u64>,
    /// Bytes of these, as far as it knows.
    pub lost_bytes: Option<u64>,
    /// Records that it has still to read.
    pub lag: Option<u64>,
}
