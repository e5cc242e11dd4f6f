//! `manifest.jsonl`: what came and went in a directory, a line each. Each line has the digest of the line before, so that none can be
//! changed or taken out unnoticed, but for the last ones.

use std::{
    fs::{self, File, OpenOptions},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{Digest, Error, name::MANIFEST};

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

/// The lines of a manifest, each with its digest and whether it names the one before. The last one may be cut: a crash.
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
        Ok(_) => fs::read(&path).map_err(failed)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(failed(error)),
    };
    let mut read = Read { lines: Vec::new(), broken: Vec::new(), last: String::new(), whole_bytes: 0 };
    for (number, line) in text.split_inclusive(|&byte| byte == b'\n').enumerate() {
        let Some(line) = line.strip_suffix(b"\n") else { break };
        read.whole_bytes += line.len() as u64 + 1;
        match serde_json::from_slice::<Line>(line) {
            Ok(parsed) => {
                if parsed.version > VERSION {
                    return Err(Error::Version { path: path.clone(), found: parsed.version, supported: VERSION });
                }
                if parsed.previous != read.last {
                    read.broken.push(number + 1);
                }
                read.lines.push(parsed);
            }
            Err(_) => read.broken.push(number + 1),
        }
        read.last = Digest::of(line);
    }
    Ok(read)
}

/// A manifest that is written.
#[derive(Debug)]
pub(crate) struct Manifest {
    file: File,
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
        Ok(Self { file, path, last: read.last.clone(), bytes: read.whole_bytes })
    }

    /// Appends a line, and makes it durable.
    pub fn append(&mut self, line: Line) -> Result<(), Error> {
        use std::os::unix::fs::FileExt as _;
        let line = Line { version: VERSION, previous: self.last.clone(), ..line };
        let mut text = serde_json::to_vec(&line).unwrap_or_default();
        let digest = Digest::of(&text);
        text.push(b'\n');
        let written = self.file.write_all_at(&text, self.bytes).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // Nothing of it stays.
            let _ = self.file.set_len(self.bytes);
            return Err(Error::io(&self.path, "writing")(error));
        }
        let _ = self.file.flush();
        self.last = digest;
        self.bytes += text.len() as u64;
        Ok(())
    }
}
