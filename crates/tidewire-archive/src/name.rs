//! Names of segments. They begin with the time in UTC, so that they sort by it:
//! `20261123T093000.123456789Z-w0-000001.pcapng`.

use std::fmt;

use tidewire_types::calendar::{self, Civil};

use crate::settings::Compression;

/// Ending of a file that is being written; its name begins with a dot as well.
pub(crate) const PART: &str = ".part";
/// Ending of an index.
pub(crate) const INDEX: &str = ".tidx";
/// Ending of a file that is encrypted.
pub(crate) const SEALED: &str = ".sealed";
/// Ending of a segment.
pub(crate) const SEGMENT: &str = ".pcapng";
/// The record of what came and went in a directory.
pub(crate) const MANIFEST: &str = "manifest.jsonl";

const SECOND_NS: u64 = 1_000_000_000;

/// Characters of a segment's stem at most: it becomes part of names of 255 bytes.
const STEM_BYTES_MAX: usize = 200;

/// Fields of a segment's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentName {
    /// Time of its beginning, nanoseconds since the epoch.
    pub begun_ns: u64,
    /// The worker that captured it.
    pub worker: u16,
    /// Its number among those of its worker, from 1.
    pub sequence: u64,
    /// How it is compressed.
    pub compression: Compression,
    /// Whether it is encrypted.
    pub is_sealed: bool,
}

impl SegmentName {
    /// The name without endings, as in `20261123T093000.123456789Z-w0-000001`.
    #[must_use]
    pub fn stem(&self) -> String {
        let Civil { year, month, day, hour, minute, second } = Civil::of((self.begun_ns / SECOND_NS) as i64);
        let time =
            format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}.{:09}Z", self.begun_ns % SECOND_NS);
        format!("{time}-w{}-{:06}", self.worker, self.sequence)
    }

    /// The name under which it is written.
    #[must_use]
    pub fn hidden(&self) -> String {
        hidden(&self.to_string())
    }

    /// The name of its index.
    #[must_use]
    pub fn index(&self) -> String {
        index_of(&self.to_string())
    }

    /// Reads the name of a complete segment; `None`: it is another file's.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let (stem, is_sealed) = match name.strip_suffix(SEALED) {
            Some(stem) => (stem, true),
            None => (name, false),
        };
        let (stem, compression) = Compression::ALL.iter().find_map(|compression| {
            let stem = stem.strip_suffix(compression.ending())?.strip_suffix(SEGMENT)?;
            Some((stem, *compression))
        })?;
        if stem.len() > STEM_BYTES_MAX {
            return None;
        }
        let mut parts = stem.split('-');
        let (time, worker, sequence) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        let name = Self {
            begun_ns: begun_ns(time)?,
            worker: worker.strip_prefix('w')?.parse().ok()?,
            sequence: sequence.parse().ok()?,
            compression,
            is_sealed,
        };
        // There is one way to write it.
        (name.stem() == stem).then_some(name)
    }
}

/// The time of a name, as in `20261123T093000.123456789Z`. Which of its parts are in range, the caller finds by writing it again.
fn begun_ns(time: &str) -> Option<u64> {
    let number = |at: std::ops::Range<usize>| time.get(at)?.parse::<u32>().ok();
    let parts = [number(4..6)?, number(6..8)?, number(9..11)?, number(11..13)?, number(13..15)?];
    let seconds = calendar::seconds(number(0..4)?.into(), parts.map(i64::from));
    u64::try_from(seconds).ok()?.checked_mul(SECOND_NS)?.checked_add(number(16..25)?.into())
}

impl fmt::Display for SegmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sealed = if self.is_sealed { SEALED } else { "" };
        write!(f, "{}{SEGMENT}{}{sealed}", self.stem(), self.compression.ending())
    }
}

/// The name of a capture's index: `a.pcapng` has `a.pcapng.tidx`, and `a.pcapng.sealed` has `a.pcapng.tidx.sealed`.
#[must_use]
pub fn index_of(name: &str) -> String {
    match name.strip_suffix(SEALED) {
        Some(name) => format!("{name}{INDEX}{SEALED}"),
        None => format!("{name}{INDEX}"),
    }
}

/// The name of the capture whose index has this name; `None`: it is another file's.
pub(crate) fn indexed_by(index: &str) -> Option<String> {
    match index.strip_suffix(SEALED) {
        Some(index) => index.strip_suffix(INDEX).map(|name| format!("{name}{SEALED}")),
        None => index.strip_suffix(INDEX).map(str::to_owned),
    }
}

/// The name under which a file is written.
pub(crate) fn hidden(name: &str) -> String {
    format!(".{name}{PART}")
}

/// Ending of the checksums of a segment that is being written; the name begins with a dot as well.
pub(crate) const SUMS: &str = ".sums";

/// The name of the checksums of a segment, as long as it is being written.
pub(crate) fn sums_of(name: &str) -> String {
    format!(".{name}{SUMS}")
}

/// The name that a hidden file will have.
pub(crate) fn shown(hidden: &str) -> Option<&str> {
    hidden.strip_prefix('.')?.strip_suffix(PART)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_time_and_are_read_back() {
        let mut names = Vec::new();
        for begun_ns in [0, 999_999_999, 1_764_000_000_123_456_789] {
            for (compression, is_sealed) in
                [(Compression::None, false), (Compression::Zstd, true), (Compression::Lz4, false)]
            {
                let name = SegmentName { begun_ns, worker: 3, sequence: 41, compression, is_sealed };
                assert_eq!(SegmentName::parse(&name.to_string()), Some(name.clone()));
                names.push(name.to_string());
            }
        }
        assert!(names.windows(2).all(|pair| pair[0].get(..30) <= pair[1].get(..30)));
        assert_eq!(names[0], "19700101T000000.000000000Z-w3-000041.pcapng");
        assert_eq!(names[7], "20251124T160000.123456789Z-w3-000041.pcapng.zst.sealed");
        assert_eq!(index_of(&names[7]), "20251124T160000.123456789Z-w3-000041.pcapng.zst.tidx.sealed");
        assert!(
            names.iter().all(|name| indexed_by(&index_of(name)).as_ref() == Some(name) && indexed_by(name).is_none())
        );
        assert_eq!(shown(&hidden(&names[0])), Some(&*names[0]));
    }

    #[test]
    fn other_names_are_rejected() {
        for name in [
            "a.pcapng",
            "20251124T160000.123456789Z-w3-41.pcapng",
            "20251124T160000.123456789Z-w3-000041.pcapng.gz",
            "20251124T160000.123456789Z-w3-000041-1.pcapng",
            ".20251124T160000.123456789Z-w3-000041.pcapng.part",
            "20259924T160000.123456789Z-w3-000041.pcapng",
            "",
        ] {
            assert_eq!(SegmentName::parse(name), None, "{name}");
        }
    }
}
