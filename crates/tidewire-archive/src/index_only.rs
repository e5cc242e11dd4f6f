//! Indexes for the captures of a directory: other programs' captures, and segments whose index is missing or damaged.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    Compression, Digest, Directory, Error, Identities, SegmentName, Summary,
    beside::{Beside, is_named_as_capture, is_own_name, look},
    index_of, indexing,
    listing::names_in,
    manifest::{self, Event, Line},
    publish::{index_file, write_index},
    read_at::{Plain, ReadAt, open_regular},
    recall::{modified_ns, open_index, plain},
    repair::digest_in,
    unpacked::Unpacked,
};

/// Result of indexing a file of the directory.
#[derive(Debug)]
#[non_exhaustive]
pub enum IndexResult {
    /// It has a new index.
    Made {
        /// The capture.
        path: PathBuf,
        /// Its packets.
        packets: u64,
        /// Bytes of the capture.
        bytes: u64,
        /// Bytes of the index.
        index_bytes: u64,
        /// Where and why reading ended before the end of the capture.
        damage: Option<String>,
    },
    /// It had one, of the same file.
    Kept {
        /// The capture.
        path: PathBuf,
    },
    /// It is no capture, or a directory.
    PassedOver {
        /// The file.
        path: PathBuf,
        /// The kind of file, and a remedy.
        why: &'static str,
    },
    /// A capture that cannot be indexed as it lies there.
    Refused {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        why: Error,
    },
}

impl Directory {
    /// Makes the indexes that are missing, damaged or of files that were changed. `again`: all of them. Calls `each` as files are done.
    ///
    /// # Errors
    /// The directory cannot be read or written to.
    pub fn index_only(
        &self,
        identities: &Identities,
        again: bool,
        now_ns: u64,
        mut each: impl FnMut(IndexResult),
    ) -> Result<(), Error> {
        let known = manifest::read_in(self.storage())?.lines;
        for name in names_in(self.storage())? {
            let path = self.path().join(&name);
            if is_own_name(&name) {
                continue;
            }
            let segment = SegmentName::parse(&name);
            if fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
                if let Err(cause) = open_regular(&path) {
                    each(IndexResult::Refused { why: Error::io(&path, "opening")(cause), path });
                }
                continue;
            }
            match segment.as_ref().map_or_else(|| look(&path), |_| Ok(Beside::Capture)) {
                Ok(Beside::Capture) => {}
                Ok(Beside::Other(why)) if !is_named_as_capture(&name) || path.is_dir() => {
                    each(IndexResult::PassedOver { path, why });
                    continue;
                }
                Ok(Beside::Other(what) | Beside::Unsearched(what)) => {
                    each(IndexResult::Refused { why: Error::NotIndexed { path: path.clone(), what }, path });
                    continue;
                }
                Err(why) => {
                    each(IndexResult::Refused { path, why });
                    continue;
                }
            }
            if !again && self.has_index(&path, &name, segment.is_some(), identities)? {
                each(IndexResult::Kept { path });
                continue;
            }
            match self.index_one(&path, &name, segment.as_ref(), identities, (now_ns, &known)) {
                Ok(made) => each(made),
                Err(why @ Error::Io { what: "writing" | "creating", .. }) => return Err(why),
                Err(why) => each(IndexResult::Refused { path, why }),
            }
        }
        self.storage_sync()
    }

    fn has_index(&self, path: &Path, name: &str, is_segment: bool, identities: &Identities) -> Result<bool, Error> {
        let metadata = fs::metadata(path).map_err(Error::io(path, "reading its size"))?;
        Ok(match open_index(&self.path().join(index_of(name)), identities) {
            Ok(Some(mut sidecar)) => {
                let summary = sidecar.summary();
                let is_same = summary.stored_bytes == metadata.len()
                    && (is_segment || summary.modified_ns == modified_ns(&metadata));
                is_same && sidecar.check().is_ok()
            }
            // An index of a newer program is not overwritten.
            Err(error) if matches!(error, Error::Sealed { .. }) || error.is_newer() => {
                return Err(error);
            }
            Ok(None) | Err(_) => false,
        })
    }

    fn index_one(
        &self,
        path: &Path,
        name: &str,
        segment: Option<&SegmentName>,
        identities: &Identities,
        (now_ns, known): (u64, &[Line]),
    ) -> Result<IndexResult, Error> {
        let file = open_regular(path).map_err(Error::io(path, "opening"))?;
        let metadata = file.metadata().map_err(Error::io(path, "reading its size"))?;
        let (is_sealed, compression) =
            segment.map_or((false, Compression::None), |name| (name.is_sealed, name.compression));
        let data: Box<dyn ReadAt> = Box::new(Plain::new(file, path)?);
        let unpacked = if segment.is_none() { Unpacked::open(path, None)? } else { None };
        let undone = unpacked.as_ref().and_then(|unpacked| unpacked.damage().map(str::to_owned));
        let data = match unpacked {
            Some(unpacked) => Box::new(unpacked),
            None => plain(data, path, is_sealed, compression, identities)?,
        };
        let indexed = indexing::index(data, path, &self.settings().index)?;
        let settings = &self.settings().index;
        let packets = indexed.sections.packets();
        let packets_before = self.packets_before(name, packets, known);
        let summary = Summary {
            segment: name.into(),
            worker: segment.map_or(0, |name| name.worker),
            sequence: segment.map_or(0, |name| name.sequence),
            stored_bytes: metadata.len(),
            modified_ns: if segment.is_some() { 0 } else { modified_ns(&metadata) },
            tunnel_depth: settings.tunnel_depth,
            key_vlan: settings.key_vlan,
            key_tunnel: settings.key_tunnel,
            digest: digest_in(self.storage(), name)?,
            packets_before,
            ..indexed.summary()
        };
        if is_sealed && self.settings().recipients.is_none() {
            let (path, folder) = (path.display(), self.path().display());
            return Err(Error::Key(format!(
                "{path}: an encrypted segment needs an encrypted index: name its recipients too (tidewire record --index-only {folder} \
                 --identity FILE --encrypt-to age1…)"
            )));
        }
        let recipients = self.settings().recipients.as_ref().filter(|_| is_sealed);
        let file = index_file(&indexed.sections, &summary, recipients)?;
        write_index(self.storage(), &index_of(name), &file)?;
        let line = Line {
            event: Event::Indexed,
            time_ns: now_ns,
            segment: name.into(),
            bytes: metadata.len(),
            packets_to: packets_before + packets,
            digest: summary.digest,
            index_digest: Digest::of(&file),
            ..Line::default()
        };
        self.note(line)?;
        let index_bytes = file.len() as u64;
        Ok(IndexResult::Made {
            path: path.into(),
            packets,
            bytes: metadata.len(),
            index_bytes,
            damage: undone.or(indexed.damage),
        })
    }
}

impl Directory {
    /// Packets of the directory before those of a capture: as many as before, where it had numbers.
    fn packets_before(&self, name: &str, packets: u64, lines: &[Line]) -> u64 {
        let known = lines.iter().rev().find(|line| line.segment == name && line.packets_to > 0);
        let had = known.and_then(|line| line.packets_to.checked_sub(packets));
        // A capture that has more packets now than it had may not take numbers of others. One without packets may end where it ends.
        let others = |before: &u64| {
            let range = *before..(before + packets).saturating_sub(1);
            !lines
                .iter()
                .any(|line| line.segment != name && line.packets_to > 0 && range.contains(&(line.packets_to - 1)))
        };
        had.filter(others).unwrap_or_else(|| self.numbered_packets())
    }
}
