//! The captures of an archive: what is in its directories.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::OnceLock,
    time::UNIX_EPOCH,
};

use rustix::fs::{FlockOperation, flock};

use super::{note::Note, trace::Trace};
use crate::{
    Compression, Error, Identities, SegmentName,
    beside::{Beside, is_own_name, look},
    index::{Sidecar, Summary},
    index_of,
    inflate::Inflated,
    listing::names,
    manifest::{self, Event},
    name::{INDEX, MANIFEST, SEALED, hidden, indexed_by, shown},
    read_at::{Plain, ReadAt, open_regular},
    remains::{Remaining, bytes_of, is_live, remains},
    seal::{Content, unseal},
    sums::Whole,
    unpacked::Unpacked,
};

/// The recording that a capture belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    /// Its number, in the order of the recordings' first packets.
    pub number: usize,
    /// A number that it shares with recordings of other times only.
    pub layer: u16,
}

/// A capture of an archive, and its index.
pub(crate) struct Entry {
    pub path: PathBuf,
    /// Fields of its name; `None`: a recorder did not write it.
    pub name: Option<SegmentName>,
    /// Whether it is still being written, or was left by a crash.
    pub is_part: bool,
    /// Summary of its index; the index is opened again where it is needed: an archive may have more captures than a process may
    /// have files.
    pub summary: Option<Summary>,
    index: PathBuf,
    /// Packets of the directory before its own.
    pub packets_before: u64,
    /// The recording that it belongs to.
    pub run: Run,
    /// The id in the index of the stream that is looked for.
    pub stream: Option<u64>,
    /// Without an index: the packets that are looked for.
    pub trace: Option<Trace>,
    /// Of an open segment: what is whole; `None`: all that is there. Known once it was opened.
    whole: OnceLock<Option<Whole>>,
    /// Why it has no index that can be used.
    pub problem: Option<Error>,
}

/// Captures of a directory.
#[derive(Default)]
pub(crate) struct Entries {
    /// Segments, complete or not, and other captures.
    pub found: Vec<Entry>,
    /// Captures that this user may not read.
    pub denied: u64,
    /// About captures that cannot be searched.
    pub notes: Vec<Note>,
}

/// The captures of a directory.
pub(crate) fn entries(folder: &Path, identities: &Identities) -> Result<Entries, Error> {
    let names = names(folder)?;
    let mut entries = Entries::default();
    for name in &names {
        let (plain, is_part) = shown(name).map_or((&**name, false), |name| (name, true));
        let parsed = SegmentName::parse(plain);
        let index = index_of(plain);
        if parsed.is_none() {
            if is_part || is_own_name(name) {
                continue;
            }
            // One without an index may have been added since: it is searched as well.
            if names.binary_search(&index).is_err() {
                match look(&folder.join(name)) {
                    Ok(Beside::Capture) => {}
                    Ok(Beside::Unsearched(why)) => {
                        Note::Unsearched { folder: folder.to_owned(), names: vec![name.clone()], why }
                            .push(&mut entries.notes);
                        continue;
                    }
                    Ok(Beside::Other(_)) => continue,
                    // A file that cannot be read may be a capture: reading it reports the error.
                    Err(_) => {}
                }
            }
        }
        // A hidden index, that the recorder writes while a segment grows, is as good as it gets.
        let index = if is_part { format!(".{index}") } else { index };
        let (path, index) = (folder.join(name), folder.join(index));
        let (summary, problem, packets_before, stream) = (None, None, 0, None);
        let (trace, whole, run) = (None, OnceLock::new(), Run::default());
        let mut entry =
            Entry { path, name: parsed, is_part, summary, index, packets_before, run, stream, trace, whole, problem };
        match open_index(&entry.index, identities) {
            Ok(sidecar) => entry.summary = sidecar.map(|sidecar| sidecar.summary().clone()),
            Err(error) if matches!(error, Error::Sealed { .. }) || error.is_newer() => return Err(error),
            // One of an older version is as a damaged one: it can be made again.
            Err(error) => entry.problem = Some(error),
        }
        entry.check_summary();
        let is_denied = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
        if entry.summary.is_none() && open_regular(&entry.path).is_err_and(is_denied) {
            entries.denied += 1;
            continue;
        }
        entries.found.push(entry);
    }
    note_missing(folder, &names, &mut entries.notes);
    Ok(entries)
}

/// Notes captures that are not there, and whose indexes are.
fn note_missing(folder: &Path, names: &[String], others: &mut Vec<Note>) {
    // One that is being completed has its index first, and one that retention removes has it last.
    let has = |name: &str| folder.join(name).exists();
    let is_missing = |index: &&String| {
        let capture = (!index.starts_with('.')).then(|| indexed_by(index)).flatten();
        capture.is_some_and(|name| names.binary_search(&name).is_err() && !has(&hidden(&name)) && !has(&name))
    };
    let indexes: Vec<&String> = names.iter().filter(is_missing).collect();
    if indexes.is_empty() {
        return;
    }
    // A manifest that cannot be read is a matter of those who verify.
    let lines = manifest::read(folder).map(|read| read.lines).unwrap_or_default();
    for index in indexes {
        let Some(name) = indexed_by(index) else { continue };
        let last = lines.iter().rev().find(|line| line.segment == name);
        if last.is_none_or(|line| line.event != Event::Removed) && has(index) {
            Note::Missing { folder: folder.to_owned(), names: vec![name] }.push(others);
        }
    }
}

/// Opens an index; `None`: there is none.
pub(crate) fn open_index(path: &Path, identities: &Identities) -> Result<Option<Sidecar>, Error> {
    let file = match open_regular(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io(path, "opening")(error)),
    };
    let mut data: Box<dyn ReadAt> = Box::new(Plain::new(file, path)?);
    if path.as_os_str().as_encoded_bytes().ends_with(SEALED.as_bytes()) {
        let unsealed = unseal(data, path, Content::Index, identities)?;
        if !unsealed.is_whole() {
            return Err(Error::damaged(path, "it is cut"));
        }
        data = Box::new(unsealed);
    }
    Sidecar::open(data, path).map(Some)
}

/// A capture's plain bytes, and the lock that keeps it from being removed.
pub(crate) type Opened = (Box<dyn ReadAt>, File);

impl Entry {
    /// Drops an index that is of another file, or of what the file was before.
    fn check_summary(&mut self) {
        let Some(summary) = &self.summary else { return };
        let Ok(metadata) = fs::metadata(&self.path) else { return };
        let is_same = match &self.name {
            _ if self.is_part => summary.bytes <= metadata.len(),
            Some(_) => summary.stored_bytes == metadata.len(),
            None => summary.stored_bytes == metadata.len() && summary.modified_ns == modified_ns(&metadata),
        };
        if !is_same {
            self.problem = Some(Error::damaged(&self.index, "the capture was changed after this index was made"));
            self.summary = None;
        }
    }

    /// Whether it is a segment that was not completed: no index says what is in it.
    pub fn is_unindexed_part(&self) -> bool {
        self.is_part && self.summary.is_none()
    }

    /// The directory that it lies in.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// The name of its file.
    pub fn file_name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Opens its index again; `None`: it has none that can be used, or was removed.
    pub fn sidecar(&self, identities: &Identities) -> Result<Option<Sidecar>, Error> {
        if self.summary.is_none() {
            return Ok(None);
        }
        let found = open_index(&self.index, identities)?;
        match (&self.name, found) {
            (Some(name), None) if self.is_part => {
                // It was completed meanwhile.
                open_index(&self.index.with_file_name(name.index()), identities)
            }
            (_, found) => Ok(found),
        }
    }

    /// Opens the capture's plain bytes, and keeps them from being removed as long as the lock is held. `None`: it was removed.
    pub fn open(&self, identities: &Identities) -> Result<Option<Opened>, Error> {
        let mut path = self.path.clone();
        let mut opened = open_regular(&path);
        if self.is_part
            && let Err(error) = &opened
            && error.kind() == io::ErrorKind::NotFound
            && let Some(name) = &self.name
        {
            // It was completed meanwhile.
            path.set_file_name(name.to_string());
            opened = open_regular(&path);
        }
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(&path, "opening")(error)),
        };
        // Where locks are not possible, retention removes nothing either.
        let _ = flock(&file, FlockOperation::NonBlockingLockShared);
        let lock = file.try_clone().map_err(Error::io(&path, "opening"))?;
        let mut data = Plain::new(file, &path)?;
        let (is_sealed, compression) =
            self.name.as_ref().map_or((false, Compression::None), |name| (name.is_sealed, name.compression));
        if self.name.is_none() {
            let bytes = self.summary.as_ref().map(|summary| summary.bytes);
            if let Some(unpacked) = Unpacked::open(&path, bytes)? {
                return Ok(Some((Box::new(unpacked), lock)));
            }
        }
        let data: Box<dyn ReadAt> = match (&self.name, self.is_part && path == self.path) {
            (Some(name), true) => match self.whole(name, &mut data)? {
                Some(whole) => Box::new(Remaining::new(data, name, whole)?),
                None => Box::new(data),
            },
            _ => Box::new(data),
        };
        Ok(Some((plain(data, &path, is_sealed, compression, identities)?, lock)))
    }

    /// The intact part of an open segment; `None`: all of it, as it is being written, or has no checksums.
    fn whole(&self, name: &SegmentName, data: &mut Plain) -> Result<Option<&Whole>, Error> {
        if self.whole.get().is_none() {
            let folder = self.folder();
            let found = if is_live(folder, name) { None } else { remains(folder, name, data)? };
            let _ = self.whole.set(found);
        }
        Ok(self.whole.get().and_then(Option::as_ref))
    }

    /// Damage by the disk in an open segment that was read.
    pub fn damage(&self) -> Option<Error> {
        let whole = self.whole.get()?.as_ref()?;
        if whole.bytes == 0 && fs::metadata(&self.path).is_ok_and(|found| found.len() > 0) {
            let what = "by its checksums (.sums beside it) nothing of it is what was written, and its packets are left out: the \
                        next recorder sets the file aside as it is";
            return Some(Error::damaged(&self.path, what));
        }
        if whole.damaged.is_empty() {
            return None;
        }
        let what = "bytes that were synced were changed by the disk; their packets are left out: check the disk";
        Some(Error::damaged(&self.path, format!("{} {what}", bytes_of(&whole.damaged))))
    }
}

/// The plain bytes of a segment.
pub(crate) fn plain(
    mut data: Box<dyn ReadAt>,
    path: &Path,
    is_sealed: bool,
    compression: Compression,
    identities: &Identities,
) -> Result<Box<dyn ReadAt>, Error> {
    if is_sealed {
        data = Box::new(unseal(data, path, Content::Segment, identities)?);
    }
    if compression != Compression::None {
        data = Box::new(Inflated::open(data, path, compression)?);
    }
    Ok(data)
}

/// When a file was changed, nanoseconds since the epoch.
pub(crate) fn modified_ns(metadata: &fs::Metadata) -> u64 {
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Whether a directory holds an archive: a recorder began there, or made indexes.
#[must_use]
pub fn is_archive(path: &Path) -> bool {
    need_archive(path).is_ok()
}

/// Refuses what is no archive.
pub(crate) fn need_archive(path: &Path) -> Result<(), Error> {
    let is_of_archive = |name: &String| {
        let name = shown(name).unwrap_or(name);
        name == MANIFEST || SegmentName::parse(name).is_some() || name.trim_end_matches(SEALED).ends_with(INDEX)
    };
    let what = match fs::metadata(path) {
        Err(error) => return Err(Error::io(path, "opening")(error)),
        Ok(metadata) if !metadata.is_dir() => "is no directory; name the directory of an archive",
        Ok(_) if names(path)?.iter().any(is_of_archive) => return Ok(()),
        Ok(_) => {
            "holds no archive: neither segments of a recorder nor captures with an index; make indexes of the captures in it \
             with: tidewire record --index-only DIR"
        }
    };
    Err(Error::NotAnArchive { path: path.to_owned(), what: what.into() })
}
