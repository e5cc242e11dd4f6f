//! Repairs the directory of a recorder that ended badly: segments that were being written are cut after their last whole block,
//! indexed, and get their names.

mod cure;

use std::{
    fmt::Write as _,
    fs::File,
    io,
    ops::Range,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
};

use crate::{
    Compression, Digest, Directory, Error, Folder, Identities, SegmentName, Storage as _, Summary, index_of,
    indexing::{self, Indexed},
    inflate::Inflated,
    listing::{names_in, segments},
    manifest::{self, Event, Line},
    name::{INDEX, SEALED, SUMS, shown, sums_of},
    read_at::{Plain, ReadAt, open_regular},
    recall::{open_index, plain},
    remains::bytes_of,
    seal,
    transform::Transform,
};

/// Result of repairing a file that a recorder left.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repaired {
    /// A segment was cut after its last whole block, indexed, and has its name.
    Completed {
        /// The segment.
        path: PathBuf,
        /// Its packets.
        packets: u64,
        /// Bytes behind the last whole block, which were dropped.
        dropped_bytes: u64,
        /// Bytes before that were changed by the disk, in whose place there is no packet.
        damaged_bytes: u64,
    },
    /// An encrypted segment has its name; its key is needed for an index.
    Sealed {
        /// The segment.
        path: PathBuf,
        /// Bytes that were changed by the disk: their frames cannot be opened.
        damaged_bytes: u64,
    },
    /// Its beginning cannot be read: it has another name now, and no index.
    SetAside {
        /// The file.
        path: PathBuf,
    },
    /// Nothing of it was a packet: it was removed.
    Removed {
        /// The file.
        path: PathBuf,
    },
}

impl std::fmt::Display for Repaired {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Completed { path, packets, dropped_bytes, damaged_bytes } => {
                let path = path.display();
                write!(
                    f,
                    "{path}: repaired: {packets} packets, {dropped_bytes} bytes of an unfinished block dropped; its streams have new ids"
                )?;
                match damaged_bytes {
                    0 => Ok(()),
                    bytes => write!(
                        f,
                        "; damaged: the disk changed {bytes} bytes that were synced, and their packets were taken out: check the disk"
                    ),
                }
            }
            Self::Sealed { path, damaged_bytes } => {
                let path = path.display();
                write!(
                    f,
                    "{path}: completed without an index (tidewire record --index-only DIR --identity FILE --encrypt-to age1… makes it)"
                )?;
                match damaged_bytes {
                    0 => Ok(()),
                    bytes => write!(f, "; damaged: the disk changed {bytes} bytes that were synced: check the disk"),
                }
            }
            Self::SetAside { path } => {
                write!(f, "{}: its beginning cannot be read; kept under this name, and in no index", path.display())
            }
            Self::Removed { path } => {
                write!(f, "{}: held no packet and was removed", path.display())
            }
        }
    }
}

/// Added to the names of files that are set aside.
const ASIDE: &str = "damaged";
/// Places of damage that are named at most: a line of the manifest is short.
const DAMAGES_NAMED_MAX: usize = 8;

impl Directory {
    /// Puts in order what a recorder left that did not end in order. Call it before the first segment begins. `identities`: open
    /// encrypted segments, if there are any.
    ///
    /// # Errors
    /// What the system says.
    pub fn repair(&self, identities: &Identities, now_ns: u64) -> Result<Vec<Repaired>, Error> {
        let folder = self.storage();
        let mut repaired = Vec::new();
        self.finish_removals()?;
        // Completed segments come before the others: each index names the one before it, and numbers of packets continue.
        self.note_unlisted(identities, now_ns)?;
        for name in names_in(folder)? {
            let Some(visible) = shown(&name) else { continue };
            match SegmentName::parse(visible) {
                Some(segment) => repaired.extend(self.complete_part(&segment, identities, now_ns)?),
                // An index that was being written, or one of a segment that was.
                None if visible.trim_end_matches(SEALED).ends_with(INDEX) => remove(folder, &name)?,
                None => {}
            }
        }
        for name in names_in(folder)? {
            let is_rest = |name: &&str| name.trim_end_matches(SEALED).ends_with(INDEX) || name.ends_with(SUMS);
            if name.strip_prefix('.').filter(is_rest).is_some() {
                remove(folder, &name)?;
            }
        }
        Ok(repaired)
    }

    /// Completes a segment of which something was lost: its file is good up to `good_bytes`. No thread writes to it any more.
    ///
    /// # Errors
    /// What the system says: the next recorder in the directory repairs it.
    pub fn salvage(&self, name: &SegmentName, good_bytes: u64, now_ns: u64) -> Result<Option<Repaired>, Error> {
        let file = self.open_to_repair(name)?;
        file.set_len(good_bytes).map_err(Error::io(self.part(name), "cutting off what was lost"))?;
        drop(file);
        let repaired = self.complete_part(name, &Identities::default(), now_ns)?;
        remove(self.storage(), &sums_of(&name.to_string()))?;
        Ok(repaired)
    }

    /// Removes what the manifest says is removed.
    fn finish_removals(&self) -> Result<(), Error> {
        let mut removed = std::collections::BTreeSet::new();
        for line in manifest::read_in(self.storage())?.lines {
            match line.event {
                Event::Removed => removed.insert(line.segment),
                _ => removed.remove(&line.segment),
            };
        }
        for name in removed.iter().filter(|name| SegmentName::parse(name).is_some()) {
            remove(self.storage(), name)?;
            remove(self.storage(), &index_of(name))?;
        }
        Ok(())
    }

    /// Lists segments that got their name, and no line, before a crash.
    fn note_unlisted(&self, identities: &Identities, now_ns: u64) -> Result<(), Error> {
        let folder = self.path();
        let lines = manifest::read_in(self.storage())?.lines;
        let listed: std::collections::BTreeSet<&str> = lines.iter().map(|line| &*line.segment).collect();
        for segment in segments(self.storage())? {
            let name = segment.name.to_string();
            if listed.contains(&*name) {
                continue;
            }
            let digest = digest_in(self.storage(), &name)?;
            let (index_name, index) = (segment.name.index(), folder.join(segment.name.index()));
            let index_digest = match self.storage().has(&index_name) {
                true => digest_in(self.storage(), &index_name)?,
                false => String::new(),
            };
            // Without the key of an index the numbers of its packets are unknown.
            let summary = open_index(&index, identities).ok().flatten();
            let packets_to = summary.map_or(0, |found| {
                let summary = found.summary();
                summary.packets_before.saturating_add(summary.packets)
            });
            self.list(
                segment.name.worker,
                Line {
                    event: Event::Segment,
                    time_ns: now_ns,
                    segment: name,
                    bytes: segment.bytes,
                    digest,
                    index_digest,
                    packets_to,
                    why: "completed before a crash".into(),
                    ..Line::default()
                },
            )?;
        }
        Ok(())
    }

    fn complete_part(
        &self,
        name: &SegmentName,
        identities: &Identities,
        now_ns: u64,
    ) -> Result<Option<Repaired>, Error> {
        let (path, shown) = (&*self.part(name), self.path().join(name.to_string()));
        let file = self.open_to_repair(name)?;
        let before = file.metadata().map_err(Error::io(path, "reading its size"))?.len();
        let Some(damage) = self.compare_sums(name, &file, before)? else { return self.set_aside(name).map(Some) };
        let cured = self.cure(name, &file, &damage)?;
        if cured.is_none() {
            return self.set_aside(name).map(Some);
        }
        let untorn = file.metadata().map_err(Error::io(path, "reading its size"))?.len();
        if name.is_sealed && !can_open(&file, path, identities)? {
            return self.complete_sealed(name, &file, &damage, now_ns).map(Some);
        }
        let copy = file.try_clone().map_err(Error::io(path, "opening, to repair it"))?;
        let data: Box<dyn ReadAt> = Box::new(Plain::new(copy, path)?);
        let indexed = plain(data, path, name.is_sealed, name.compression, identities)
            .and_then(|data| indexing::index(data, path, &self.settings().index));
        let indexed = match indexed {
            Ok(indexed) if indexed.sections.packets() > 0 => indexed,
            Ok(_) => {
                remove(self.storage(), &name.hidden())?;
                return Ok(Some(Repaired::Removed { path: path.to_owned() }));
            }
            // There may be packets in it: who knows more may find them.
            Err(Error::Damaged { .. }) if before > 0 => return self.set_aside(name).map(Some),
            Err(Error::Damaged { .. }) => {
                remove(self.storage(), &name.hidden())?;
                return Ok(Some(Repaired::Removed { path: path.to_owned() }));
            }
            Err(error) => return Err(error),
        };
        let stored_bytes = match (name.is_sealed, name.compression) {
            // The rest cannot be sealed again with its key: what is behind its last whole block stays, and readers stop there.
            (true, _) => untorn,
            (false, Compression::None) => indexed.whole_bytes,
            (false, compression) => end_compressed(&file, path, compression, indexed.whole_bytes)?,
        };
        file.set_len(stored_bytes).map_err(Error::io(path, "cutting off an unfinished block"))?;
        file.sync_all().map_err(Error::io(path, "syncing"))?;
        let dropped_bytes = before.saturating_sub(stored_bytes);
        let packets = indexed.sections.packets();
        let damaged_bytes = bytes_of(&damage);
        let dropped = format!("{dropped_bytes} bytes behind its last whole block dropped");
        let repaired = format!("a crash left it unfinished; {dropped}{}", described(&damage));
        let summary = Summary {
            repaired,
            damaged_bytes,
            stored_bytes,
            digest: digest_in(self.storage(), &name.hidden())?,
            ..indexed.summary()
        };
        self.complete_as(Event::Repaired, String::new(), name, &indexed.sections, summary, now_ns)?;
        Ok(Some(Repaired::Completed { path: shown, packets, dropped_bytes, damaged_bytes }))
    }

    /// Renames an encrypted segment.
    fn complete_sealed(
        &self,
        name: &SegmentName,
        file: &File,
        damage: &[Range<u64>],
        now_ns: u64,
    ) -> Result<Repaired, Error> {
        let path = &*self.part(name);
        let copy = file.try_clone().map_err(Error::io(path, "opening, to repair it"))?;
        let whole_bytes = seal::whole_bytes(Box::new(Plain::new(copy, path)?), path)?;
        if whole_bytes == 0 && !damage.is_empty() {
            return self.set_aside(name);
        }
        if whole_bytes == 0 {
            remove(self.storage(), &name.hidden())?;
            return Ok(Repaired::Removed { path: path.to_owned() });
        }
        file.set_len(whole_bytes).map_err(Error::io(path, "cutting off an unfinished frame"))?;
        file.sync_all().map_err(Error::io(path, "syncing"))?;
        let shown = self.path().join(name.to_string());
        let renamed = self.storage().rename(&name.hidden(), &name.to_string());
        renamed.map_err(Error::io(&shown, "giving the segment its name"))?;
        let line = Line {
            event: Event::Repaired,
            time_ns: now_ns,
            segment: name.to_string(),
            bytes: whole_bytes,
            digest: digest_in(self.storage(), &name.to_string())?,
            why: format!("a crash left it unfinished; it has no index{}", described(damage)),
            damaged_bytes: bytes_of(damage),
            ..Line::default()
        };
        self.list(name.worker, line)?;
        Ok(Repaired::Sealed { path: shown, damaged_bytes: bytes_of(damage) })
    }
}

/// Where they lie.
fn described(damage: &[Range<u64>]) -> String {
    let mut text = String::new();
    for Range { start, end } in damage.iter().take(DAMAGES_NAMED_MAX) {
        let _ = write!(text, "; the disk changed what lay from byte {start} to {end}");
    }
    text
}

impl Directory {
    /// Renames a segment that cannot be read: other tools may find packets in it.
    fn set_aside(&self, name: &SegmentName) -> Result<Repaired, Error> {
        let (hidden, aside) = (name.hidden(), format!("{}.{ASIDE}", name.hidden()));
        let path = self.path().join(&aside);
        let renamed = self.storage().rename(&hidden, &aside);
        renamed.map_err(Error::io(&path, "setting a damaged segment aside"))?;
        Ok(Repaired::SetAside { path })
    }

    /// Opens a segment that is to be cut.
    fn open_to_repair(&self, name: &SegmentName) -> Result<File, Error> {
        let opened = self.storage().open_to_write(&name.hidden(), false);
        opened.map_err(Error::io(self.part(name), "opening, to repair it"))
    }
}

impl Indexed {
    /// Summary of the capture, for its index.
    pub(crate) fn summary(&self) -> Summary {
        Summary {
            format: if self.is_pcapng { "pcapng".into() } else { "pcap".into() },
            bytes: self.whole_bytes,
            first_ns: self.sections.first_ns,
            last_ns: self.sections.last_ns,
            packets: self.sections.packets,
            records: self.sections.records,
            interfaces: self.interfaces.clone(),
            descriptions: self.descriptions.clone(),
            ledger: vec![self.ledger],
            ..Summary::default()
        }
    }
}

fn can_open(file: &File, path: &Path, identities: &Identities) -> Result<bool, Error> {
    let copy = file.try_clone().map_err(Error::io(path, "opening, to repair it"))?;
    match plain(Box::new(Plain::new(copy, path)?), path, true, Compression::None, identities) {
        Ok(_) => Ok(true),
        Err(Error::Sealed { .. } | Error::Damaged { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Ends a compressed file after its last whole block: the frame in which that lies is made again, and the table appended. Returns the
/// length of the file.
fn end_compressed(file: &File, path: &Path, compression: Compression, whole_bytes: u64) -> Result<u64, Error> {
    let failed = |error| Error::io(path, "completing its compressed frames")(error);
    let copy = file.try_clone().map_err(failed)?;
    let mut data = Inflated::open(Box::new(Plain::new(copy, path)?), path, compression)?;
    let (mut stored, mut plain_bytes, mut kept) = (0, 0, Vec::new());
    for (of_file, of_plain) in data.frames() {
        if plain_bytes + u64::from(of_plain) > whole_bytes {
            break;
        }
        stored += u64::from(of_file);
        plain_bytes += u64::from(of_plain);
        kept.push((of_file, of_plain));
    }
    let mut rest = Vec::new();
    data.read_at(plain_bytes, (whole_bytes - plain_bytes) as usize, &mut rest)?;
    let mut tail = Vec::new();
    let mut transform = Transform::with_frames(compression, kept);
    transform.push(&rest, &mut tail)?;
    transform.finish(&mut tail)?;
    file.write_all_at(&tail, stored).map_err(failed)?;
    Ok(stored + tail.len() as u64)
}

/// The digest of a file.
pub(crate) fn digest_of(path: &Path) -> Result<String, Error> {
    digest_of_opened(open_regular(path), path)
}

/// The digest of a file of a directory that is open.
pub(crate) fn digest_in(folder: &Folder, name: &str) -> Result<String, Error> {
    digest_of_opened(folder.open_regular(name), &folder.path(name))
}

fn digest_of_opened(opened: io::Result<File>, path: &Path) -> Result<String, Error> {
    let file = opened.map_err(Error::io(path, "opening"))?;
    let mut data = Plain::new(file, path)?;
    let (mut digest, mut piece, mut at) = (Digest::new(), Vec::new(), 0);
    loop {
        data.read_at(at, 1 << 20, &mut piece)?;
        if piece.is_empty() {
            return Ok(digest.finish());
        }
        digest.update(&piece);
        at += piece.len() as u64;
    }
}

/// Removes a file that may not be there.
pub(crate) fn remove(folder: &Folder, name: &str) -> Result<(), Error> {
    match folder.remove(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io(folder.path(name), "removing")(error)),
        _ => Ok(()),
    }
}
