//! `manifest.jsonl`: what came and went in a directory, a line each. Each line has the digest of the line before, so that none can be
//! changed or taken out unnoticed, but for the last ones.

mod line;
mod living;
mod read;

use std::{collections::BTreeMap, os::unix::fs::MetadataExt as _, path::PathBuf};

use crate::{
    Digest, Error, Folder, FolderFile, SegmentName, Storage as _, StorageFile,
    name::{MANIFEST, hidden},
};

pub(crate) use crate::name::MANIFEST as MANIFEST_NAME;
pub(crate) use line::{Event, Line};
use living::{REMOVALS_KEPT, keep_living};
use read::VERSION;
pub(crate) use read::{Read, read, read_in};

/// A manifest is compacted where so many times as many lines are not needed as are, and so many more.
const DEAD_LINES_RATIO: u64 = 4;
const DEAD_LINES_MIN: u64 = 1000;
/// The same where it has more bytes than it should.
const TIGHT_RATIO: u64 = 2;
const TIGHT_MIN: u64 = 16;
/// There one removal stays for each of so many bytes: a line of one has 300.
const REMOVAL_SHARE_BYTES: u64 = 2048;

/// A manifest that is written.
pub(crate) struct Manifest<F = FolderFile> {
    file: F,
    path: PathBuf,
    last: String,
    /// Where the next line begins: what a failed write left is behind it.
    bytes: u64,
    /// Its lines.
    count: u64,
}

impl Manifest {
    /// Opens it, and cuts off a line that a crash left unfinished.
    pub fn open(folder: &Folder, read: &Read) -> Result<Self, Error> {
        let path = folder.path(MANIFEST);
        let file = folder.open_to_write(MANIFEST, true).map_err(Error::io(&path, "opening"))?;
        file.set_len(read.whole_bytes).map_err(Error::io(&path, "cutting off an unfinished line"))?;
        let (last, bytes, count) = (read.last.clone(), read.whole_bytes, read.count);
        Ok(Self { file: FolderFile::plain(file), path, last, bytes, count })
    }

    /// Whether the file still has its name.
    fn is_there(&self, folder: &Folder) -> Result<bool, Error> {
        let own = self.file.metadata().map_err(Error::io(&self.path, "looking for it"))?;
        match folder.stat(MANIFEST) {
            Ok(found) => Ok((found.st_dev, found.st_ino) == (own.dev(), own.ino())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::io(&self.path, "looking for it")(error)),
        }
    }

    /// Opens it again, if it was removed or replaced: what follows is appended to the one that is there. An empty one goes on from the
    /// last line of the one that was removed, so that this can be seen.
    pub fn reopen(&mut self, folder: &Folder) -> Result<(), Error> {
        if matches!(self.is_there(folder), Ok(true)) {
            return Ok(());
        }
        let read = read_in(folder)?;
        let last = if read.count == 0 { self.last.clone() } else { read.last.clone() };
        *self = Self { last, ..Self::open(folder, &read)? };
        Ok(())
    }

    /// Whether most of its lines are not needed, where `segments` are there; fewer of them, if it has more bytes than it should.
    pub fn is_long(&self, segments: u64, bytes_max: u64) -> bool {
        // A segment has a line, those whose index was made again two.
        self.count > DEAD_LINES_RATIO * 2 * segments + 2 * DEAD_LINES_MIN
            || self.bytes > bytes_max && self.count > TIGHT_RATIO * 2 * segments + 2 * TIGHT_MIN
    }

    /// Rewrites it without the lines that are not needed, if they are most of it: under a hidden name, which then becomes its own. The
    /// first line says so, and names the last one of before. `bytes_max`: fewer lines stay if it has more.
    pub fn compact(&mut self, storage: &Folder, time_ns: u64, bytes_max: u64) -> Result<(), Error> {
        let mut read = read_in(storage)?;
        let is_tight = self.bytes > bytes_max;
        let (ratio, min, removals) = match is_tight {
            true => (TIGHT_RATIO, TIGHT_MIN, (bytes_max / REMOVAL_SHARE_BYTES).clamp(1, REMOVALS_KEPT as u64) as usize),
            false => (DEAD_LINES_RATIO, DEAD_LINES_MIN, REMOVALS_KEPT),
        };
        read.removed += keep_living(&mut read.lines, removals);
        let needed = read.lines.len() as u64;
        // A changed manifest is not rewritten, so that the change stays visible.
        if !read.broken.is_empty() || read.count < ratio * needed + min {
            return Ok(());
        }
        let first = Line {
            event: Event::Compacted,
            time_ns,
            packets_to: read.packets_to,
            digest: read.last,
            removed: read.removed,
            ..Line::default()
        };
        let (mut text, mut last) = (Vec::new(), String::new());
        for line in std::iter::once(first).chain(read.lines) {
            last = push(&mut text, line, last);
        }
        let draft = hidden(MANIFEST);
        let failed = |what| Error::io(&self.path, what);
        let _ = storage.remove(&draft);
        let mut file = storage.create_small(&draft).map_err(failed("compacting"))?;
        let written =
            file.write_at(&text, 0).and_then(|()| file.sync()).and_then(|()| storage.rename(&draft, MANIFEST));
        if let Err(error) = written {
            let _ = storage.remove(&draft);
            return Err(failed("compacting")(error));
        }
        (self.file, self.last, self.bytes, self.count) = (file, last, text.len() as u64, needed + 1);
        storage.sync_names().map_err(failed("compacting"))
    }
}

/// Appends a line, and returns its digest.
fn push(text: &mut Vec<u8>, line: Line, previous: String) -> String {
    let line = Line { version: VERSION, previous, ..line }.text();
    text.extend_from_slice(&line);
    text.push(b'\n');
    Digest::of(&line)
}

impl<F: StorageFile> Manifest<F> {
    /// An empty one.
    #[cfg(test)]
    pub fn new(file: F, path: PathBuf) -> Self {
        Self { file, path, last: String::new(), bytes: 0, count: 0 }
    }

    /// Its bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends a line, and makes it durable.
    pub fn append(&mut self, line: Line) -> Result<(), Error> {
        let mut text = Vec::new();
        let digest = push(&mut text, line, self.last.clone());
        let written = self.file.write_at(&text, self.bytes).and_then(|()| self.file.sync());
        if let Err(error) = written {
            // Nothing of it stays.
            let _ = self.file.truncate(self.bytes);
            return Err(Error::io(&self.path, "writing")(error));
        }
        self.last = digest;
        self.bytes += text.len() as u64;
        self.count += 1;
        Ok(())
    }
}

/// The digest of the index of each worker's last segment.
pub(crate) fn last_indexes(lines: &[Line]) -> BTreeMap<u16, String> {
    let is_segment = |line: &&Line| matches!(line.event, Event::Segment | Event::Repaired | Event::Indexed);
    let of_worker = |line: &Line| Some((SegmentName::parse(&line.segment)?.worker, line.index_digest.clone()));
    lines.iter().filter(is_segment).filter_map(of_worker).collect()
}
