//! `manifest.jsonl`: what came and went in a directory, a line each. Each line has the digest of the line before, so that none can be
//! changed or taken out unnoticed, but for the last ones.

use std::{
    collections::BTreeMap,
    fs::{self, OpenOptions},
    io::Read as _,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{Digest, Error, FolderFile, SegmentName, StorageFile, name::MANIFEST, read_at::open_regular};

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
    /// The digest of the line before, without its line feed.
    pub previous: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

pub(crate) use crate::name::MANIFEST as MANIFEST_NAME;

/// Version of lines.
pub(crate) const VERSION: u16 = 1;
/// Bytes of a manifest at most: 100 million segments.
const BYTES_MAX: u64 = 32 << 30;

/// The lines of a manifest, each with its digest and whether it names the one before. The last ones may be cut, or not have been
/// written: a crash.
pub(crate) struct Read {
    pub lines: Vec<Line>,
    /// Numbers, from 1, of lines that do not name the line before.
    pub broken: Vec<usize>,
    /// Digest of the last line.
    pub last: String,
    /// Where whole lines end.
    pub whole_bytes: u64,
}

/// Reads the manifest of a directory; none is an empty one.
pub(crate) fn read(folder: &Path) -> Result<Read, Error> {
    let path = folder.join(MANIFEST);
    let failed = |error| Error::io(&path, "reading")(error);
    let text = match fs::metadata(&path).map(|metadata| metadata.len()) {
        Ok(bytes) if bytes > BYTES_MAX => return Err(Error::damaged(&path, "it is too long")),
        Ok(bytes) => {
            let mut text = Vec::with_capacity(bytes as usize);
            open_regular(&path).map_err(failed)?.take(BYTES_MAX).read_to_end(&mut text).map_err(failed)?;
            text
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(failed(error)),
    };
    let mut read = Read { lines: Vec::new(), broken: Vec::new(), last: String::new(), whole_bytes: 0 };
    // Lines at the end that are none: power failed while they were written.
    let (mut torn, mut at, mut before) = (Vec::new(), 0, String::new());
    for (number, line) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let Some(line) = line.strip_suffix(b"\n") else { break };
        at += line.len() as u64 + 1;
        match serde_json::from_slice::<Line>(line) {
            Ok(parsed) => {
                if parsed.version > VERSION {
                    return Err(Error::Version { path: path.clone(), found: parsed.version, supported: VERSION });
                }
                read.broken.append(&mut torn);
                if parsed.previous != before {
                    read.broken.push(number + 1);
                }
                read.lines.push(parsed);
                (read.last, read.whole_bytes) = (Digest::of(line), at);
            }
            Err(_) => torn.push(number + 1),
        }
        before = Digest::of(line);
    }
    Ok(read)
}

/// A manifest that is written.
pub(crate) struct Manifest<F = FolderFile> {
    file: F,
    path: PathBuf,
    last: String,
    /// Where the next line begins: what a failed write left is behind it.
    bytes: u64,
}

impl Manifest {
    /// Opens it, and cuts off a line that a crash left unfinished.
    pub fn open(folder: &Path, read: &Read) -> Result<Self, Error> {
        let path = folder.join(MANIFEST);
        let open = OpenOptions::new().create(true).truncate(false).write(true).mode(0o640).open(&path);
        let file = open.map_err(Error::io(&path, "opening"))?;
        file.set_len(read.whole_bytes).map_err(Error::io(&path, "cutting off an unfinished line"))?;
        Ok(Self { file: FolderFile::plain(file), path, last: read.last.clone(), bytes: read.whole_bytes })
    }

    /// Whether the file still has its name.
    fn is_there(&self) -> Result<bool, Error> {
        let own = self.file.metadata().map_err(Error::io(&self.path, "looking for it"))?;
        match fs::symlink_metadata(&self.path) {
            Ok(found) => Ok((found.dev(), found.ino()) == (own.dev(), own.ino())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::io(&self.path, "looking for it")(error)),
        }
    }

    /// Opens it again, if it was removed or replaced: what follows is appended to the one that is there. An empty one goes on from the
    /// last line of the one that was removed, so that this can be seen.
    pub fn reopen(&mut self) -> Result<(), Error> {
        let Some(folder) = self.path.parent().filter(|_| !matches!(self.is_there(), Ok(true))) else { return Ok(()) };
        let read = read(folder)?;
        let last = if read.lines.is_empty() { self.last.clone() } else { read.last.clone() };
        *self = Self { last, ..Self::open(folder, &read)? };
        Ok(())
    }
}

impl<F: StorageFile> Manifest<F> {
    /// An empty one.
    #[cfg(test)]
    pub fn new(file: F, path: PathBuf) -> Self {
        Self { file, path, last: String::new(), bytes: 0 }
    }

    /// Appends a line, and makes it durable.
    pub fn append(&mut self, line: Line) -> Result<(), Error> {
        let line = Line { version: VERSION, previous: self.last.clone(), ..line };
        let mut text = serde_json::to_vec(&line).unwrap_or_default();
        let digest = Digest::of(&text);
        text.push(b'\n');
        let written = self.file.write_at(&text, self.bytes).and_then(|()| self.file.sync());
        if let Err(error) = written {
            // Nothing of it stays.
            let _ = self.file.truncate(self.bytes);
            return Err(Error::io(&self.path, "writing")(error));
        }
        self.last = digest;
        self.bytes += text.len() as u64;
        Ok(())
    }
}

/// The digest of the index of each worker's last segment.
pub(crate) fn last_indexes(lines: &[Line]) -> BTreeMap<u16, String> {
    let is_segment = |line: &&Line| matches!(line.event, Event::Segment | Event::Repaired | Event::Indexed);
    let of_worker = |line: &Line| Some((SegmentName::parse(&line.segment)?.worker, line.index_digest.clone()));
    lines.iter().filter(is_segment).filter_map(of_worker).collect()
}
