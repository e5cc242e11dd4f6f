//! A line of the manifest.

use serde::{Deserialize, Serialize};

/// What happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A recorder began.
    #[default]
    Started,
    /// A segment was completed.
    Segment,
    /// A segment that a crash left was completed.
    Repaired,
    /// The index of a segment was made again.
    Indexed,
    /// A segment was removed, or is going to be: this line comes first.
    Removed,
    /// Lines of segments that were removed were taken out. `digest`: of the last line before that.
    Compacted,
    /// An event of a later version.
    #[serde(other)]
    Other,
}

/// A line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Line {
    /// Version of the format.
    pub version: u16,
    /// What happened.
    pub event: Event,
    /// When, nanoseconds since the epoch.
    pub time_ns: u64,
    /// The file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub segment: String,
    /// Its bytes.
    #[serde(skip_serializing_if = "is_zero")]
    pub bytes: u64,
    /// The number of its last packet in the directory.
    #[serde(skip_serializing_if = "is_zero")]
    pub packets_to: u64,
    /// Its digest.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// The digest of its index.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub index_digest: String,
    /// Why it was removed or repaired.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Bytes of it that the disk changed before it was repaired.
    #[serde(skip_serializing_if = "is_zero")]
    pub damaged_bytes: u64,
    /// Segments that were removed, and are not listed any more.
    #[serde(skip_serializing_if = "is_zero")]
    pub removed: u64,
    /// The digest of the line before, without its line feed.
    pub previous: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
