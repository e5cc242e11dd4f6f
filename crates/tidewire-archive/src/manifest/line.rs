//! A line of the manifest.

use serde::{Deserialize, Serialize};

/// Type of a line.
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
    /// The event.
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

/// Text between the content of a line and its checksum, and behind that.
const CHECK_BEGIN: &[u8] = b",\"crc32c\":\"";
const CHECK_END: &[u8] = b"\"}";
/// CRC-32C in hexadecimal.
const CHECK_DIGITS: usize = 8;

impl Line {
    /// Its text, with the CRC-32C of all that stands before it at the end: the line behind names the digest of a line, and the last
    /// one has none behind.
    pub fn text(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec(self).unwrap_or_default();
        text.pop();
        let check = format!("{:0digits$x}", crc32c::crc32c(&text), digits = CHECK_DIGITS);
        [&text, CHECK_BEGIN, check.as_bytes(), CHECK_END].concat()
    }

    /// Whether it is as it was written, by its checksum. Earlier recorders wrote none: then at least its keys are theirs.
    pub fn is_text(&self, text: &[u8]) -> bool {
        let check = text.strip_suffix(CHECK_END).and_then(|rest| rest.split_last_chunk::<CHECK_DIGITS>());
        match check.and_then(|(rest, check)| Some((rest.strip_suffix(CHECK_BEGIN)?, check))) {
            Some((content, check)) => *check == *format!("{:08x}", crc32c::crc32c(content)).as_bytes(),
            None => serde_json::to_value(self)
                .is_ok_and(|own| serde_json::from_slice::<serde_json::Value>(text).is_ok_and(|found| found == own)),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_byte_of_a_line_is_seen() {
        let line = Line {
            version: 1,
            event: Event::Segment,
            time_ns: 1_700_000_000_000_000_001,
            segment: "a.pcapng".into(),
            bytes: 17,
            packets_to: 4,
            digest: "00ff".into(),
            previous: "ab".into(),
            ..Line::default()
        };
        let text = line.text();
        let read = |text: &[u8]| serde_json::from_slice::<Line>(text);
        assert!(read(&text).is_ok_and(|read| read == line && read.is_text(&text)));
        for place in 0..text.len() {
            for bit in 0..8 {
                let mut changed = text.clone();
                changed[place] ^= 1 << bit;
                assert!(!read(&changed).is_ok_and(|read| read.is_text(&changed)), "{}", changed.escape_ascii());
            }
        }
        // As earlier recorders wrote it.
        let before = serde_json::to_vec(&line).unwrap();
        assert!(line.is_text(&before));
        let renamed = String::from_utf8(before).unwrap().replace("\"bytes\"", "\"bytez\"");
        assert!(!read(renamed.as_bytes()).is_ok_and(|read| read.is_text(renamed.as_bytes())));
    }
}
