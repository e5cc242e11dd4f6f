//! A directory that a recorder writes to.

use std::{
    collections::BTreeMap,
    fs, io,
    os::{fd::OwnedFd, unix::fs::MetadataExt as _},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tidewire_types::{hex, random::random_bytes};

use crate::{
    Digest, Error, Folder, FolderFile, Reserve, Sections, SegmentName, SegmentWriter, Settings, Storage, StorageFile,
    Summary,
    ages::Ages,
    folder::opened,
    listing::{Segment, names_in, segments},
    lock::locked,
    manifest::{self, Event, Line, Manifest, last_indexes},
    name::sums_of,
    origin::{Boot, Origin},
    publish::{index_file, publish},
};

/// The directory of an archive, locked: it has one recorder.
pub struct Directory<S: Storage = Folder> {
    folder: S,
    settings: Settings,
    recording: String,
    /// Other directories of the same recorder.
    companions: Mutex<Vec<String>>,
    /// Number of the last segment of each worker.
    sequences: Mutex<BTreeMap<u16, u64>>,
    log: Mutex<Log<S::File>>,
    kept: Mutex<BTreeMap<SegmentName, u64>>,
    pub(crate) ages: Mutex<Ages>,
    /// Held while segments are removed.
    pub(crate) retaining: Mutex<()>,
    /// Held while another directory takes the place of one that was removed.
    settling: Mutex<()>,
    /// Opens a directory that was removed and made again.
    find: Find,
    /// Read before privileges are dropped.
    boot: Option<Boot>,
}

impl<S: Storage> std::fmt::Debug for Directory<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Directory").field("path", &self.folder.path("")).finish_non_exhaustive()
    }
}

/// State that completing a segment changes.
struct Log<F> {
    manifest: Manifest<F>,
    /// Digest of the index of each worker's last segment.
    last: BTreeMap<u16, String>,
    /// Packets that have a number.
    packets: u64,
}

impl<F: StorageFile> Log<F> {
    fn append(&mut self, line: Line) -> Result<(), Error> {
        let packets = self.packets.max(line.packets_to);
        self.manifest.append(line)?;
        self.packets = packets;
        Ok(())
    }
}

/// Opens the directory at a path, which exists.
pub type Find = fn(&Path) -> io::Result<OwnedFd>;

/// Figures of the complete segments of a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// How many segments.
    pub segments: u64,
    /// Bytes of their files and indexes.
    pub bytes: u64,
    /// When the oldest began, nanoseconds since the epoch.
    pub oldest_ns: Option<u64>,
}

/// A process that dropped its privileges may write to the directory that it opened, and to none that has its name later.
const ANOTHER_DIRECTORY: &str = "the directory was removed and made again, and the sandbox allows the first one only \
                                 (start the recorder again; --no-sandbox, or sandbox = false of a sensor, spares that)";

/// Locks a mutex, also where another thread panicked with it: each change of the content is whole.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Directory {
    /// Locks the directory, made where it is not there.
    ///
    /// # Errors
    /// [`Error::Locked`] if another recorder has it, [`Error::Version`] if a newer one wrote to it; what the system says.
    pub fn open(path: &Path, settings: &Settings, now_ns: u64) -> Result<Self, Error> {
        match fs::create_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(Error::io(path, "making the directory")(error));
            }
            _ => {}
        }
        let handle = opened(path).map_err(Error::io(path, "opening"))?;
        Self::open_found(handle, path, settings, now_ns, opened)
    }

    /// Locks a directory that is open for reading. Its files are accessed by that handle; `path` is for messages, and `find` opens what is
    /// there, should it be removed and made again.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_found(
        handle: OwnedFd,
        path: &Path,
        settings: &Settings,
        now_ns: u64,
        find: Find,
    ) -> Result<Self, Error> {
        locked(&handle, path)?;
        let folder = Folder::of(handle, path);
        let read = manifest::read_in(&folder)?;
        let mut manifest = Manifest::open(&folder, &read)?;
        let recording = random_bytes::<8>().map_err(Error::io(path, "naming the recording"))?;
        let recording = hex::encode(&recording);
        let (mut sequences, last) = (BTreeMap::new(), last_indexes(&read.lines));
        let mut number = |name: &SegmentName| {
            let most = sequences.entry(name.worker).or_insert(0);
            *most = name.sequence.max(*most);
        };
        for line in &read.lines {
            if let Some(name) = SegmentName::parse(&line.segment) {
                number(&name);
            }
        }
        let packets = read.packets_to;
        let complete = segments(&folder)?;
        complete.iter().for_each(|segment| number(&segment.name));
        for name in names_in(&folder)? {
            if let Some(name) = crate::name::shown(&name).and_then(SegmentName::parse) {
                number(&name);
            }
        }
        // A disk that has no room for that may have room once the oldest segments are gone.
        let _ = manifest.compact(&folder, now_ns, u64::MAX);
        manifest.append(Line { event: Event::Started, time_ns: now_ns, ..Line::default() })?;
        let settings = settings.clone();
        folder.sync_names().map_err(Error::io(path, "syncing the directory"))?;
        let ages = Ages::new(complete.iter().map(|segment| segment.name.clone()));
        let kept = complete.into_iter().map(|segment| (segment.name.clone(), segment.all_bytes())).collect();
        Ok(Self {
            folder,
            settings,
            recording,
            companions: Mutex::default(),
            sequences: Mutex::new(sequences),
            log: Mutex::new(Log { manifest, last, packets }),
            kept: Mutex::new(kept),
            ages: Mutex::new(ages),
            retaining: Mutex::default(),
            settling: Mutex::default(),
            find,
            boot: Boot::current(),
        })
    }

    /// The directory's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.as_path()
    }

    /// Path of a segment that is not complete.
    pub(crate) fn part(&self, name: &SegmentName) -> PathBuf {
        self.path().join(name.hidden())
    }

    /// Where its files are written.
    #[must_use]
    pub fn storage(&self) -> &Folder {
        &self.folder
    }

    /// Creates the file of a segment, under its hidden name.
    ///
    /// # Errors
    /// What the system says.
    pub fn create(&self, name: &SegmentName) -> Result<SegmentWriter<FolderFile>, Error> {
        self.create_with(name, None)
    }

    /// The same in space that was [reserved](Folder::reserve).
    ///
    /// # Errors
    /// What the system says.
    pub fn create_with(
        &self,
        name: &SegmentName,
        reserve: Option<&Reserve>,
    ) -> Result<SegmentWriter<FolderFile>, Error> {
        self.settle()?;
        let recipients = self.settings.recipients.as_ref().filter(|_| name.is_sealed);
        let create = |hidden: &str| self.folder.create_with(hidden, reserve);
        let writer = SegmentWriter::create_by(&self.folder, name, recipients, create)?;
        let tunnel_depth = self.settings.index.tunnel_depth;
        let origin = Origin { recording: self.recording.clone(), boot: self.boot, tunnel_depth };
        // Without it a repair keeps less, and searches find less of the segment while it is open.
        let _ = self.folder.open_to_write(&sums_of(&name.to_string()), false).and_then(|sums| origin.write(&sums));
        Ok(writer)
    }

    /// Removes the files of a segment that was abandoned before anything of it was written; true if that is so. Others stay, for the next
    /// recorder to repair.
    pub fn discard_empty(&self, name: &SegmentName) -> bool {
        let hidden = name.hidden();
        let is_empty = self.folder.bytes_of(&hidden) == Some(0);
        if is_empty {
            let _ = self.folder.remove(&hidden).and_then(|()| self.folder.remove(&sums_of(&name.to_string())));
        }
        is_empty
    }

    /// Restores the file of a segment that is written if it or its directory was removed, see [`SegmentWriter::keep`].
    ///
    /// # Errors
    /// What the system says; that the directory is another one, where that is why it refuses.
    pub fn keep(&self, writer: &mut SegmentWriter<FolderFile>) -> Result<(), Error> {
        self.settle()?;
        writer.keep(self.storage())
    }

    /// Whether the directory still has its path.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        let found = fs::metadata(self.path()).map(|found| (found.dev(), found.ino()));
        matches!((found, self.folder.identity()), (Ok(found), Ok(own)) if found == own)
    }

    /// If the directory was removed, and there is another one in its place: goes on there.
    pub(crate) fn settle(&self) -> Result<(), Error> {
        let path = self.path();
        let failed = |error| Error::io(path, "looking for the directory")(error);
        let _one = held(&self.settling);
        let found = fs::metadata(path).map_err(failed)?;
        if self.folder.identity().map_err(failed)? == (found.dev(), found.ino()) {
            return held(&self.log).manifest.reopen(&self.folder);
        }
        let open = || {
            let handle = (self.find)(path).map_err(Error::io(path, "opening"))?;
            locked(&handle, path)?;
            let new = Folder::of(handle, path);
            let read = manifest::read_in(&new)?;
            Manifest::open(&new, &read).map(|manifest| (new, read, manifest))
        };
        let (new, read, manifest) = open().map_err(|error| match error {
            Error::Io { path, cause, .. } if cause.kind() == io::ErrorKind::PermissionDenied => {
                Error::Io { path, what: ANOTHER_DIRECTORY, cause }
            }
            error => error,
        })?;
        let mut log = held(&self.log);
        log.manifest = manifest;
        log.last = last_indexes(&read.lines);
        log.packets = log.packets.max(read.packets_to);
        let complete = segments(&new)?;
        *held(&self.kept) = complete.into_iter().map(|segment| (segment.name.clone(), segment.all_bytes())).collect();
        self.folder.replace(&new);
        Ok(())
    }

    /// Makes the manifest short, if most of it is of segments that are gone. `bytes_max`: what it should have at most.
    pub(crate) fn shorten_manifest(&self, now_ns: u64, bytes_max: u64) -> Result<(), Error> {
        let segments = held(&self.kept).len() as u64;
        let mut log = held(&self.log);
        if log.manifest.is_long(segments, bytes_max) {
            log.manifest.compact(&self.folder, now_ns, bytes_max)
        } else {
            Ok(())
        }
    }

    /// Completes a segment under its visible name. Its file is written, [cut to its length](StorageFile::truncate) and synced; `summary` has `bytes`,
    /// `stored_bytes`, `interfaces`, `descriptions`, `ledger` and `digest`, the rest is filled in here. May be called again after an
    /// error.
    ///
    /// # Errors
    /// What the system says.
    pub fn complete(
        &self,
        name: &SegmentName,
        sections: &Sections,
        summary: Summary,
        now_ns: u64,
    ) -> Result<Segment, Error> {
        self.settle()?;
        let recording = self.recording.clone();
        self.complete_as(Event::Segment, recording, name, sections, summary, now_ns)
    }
}

impl<S: Storage> Directory<S> {
    /// An empty directory that is no real one.
    #[cfg(test)]
    pub(crate) fn with_storage(folder: S, settings: &Settings, manifest: S::File) -> Result<Self, Error> {
        let mut manifest = Manifest::new(manifest, folder.path(manifest::MANIFEST_NAME));
        manifest.append(Line::default())?;
        folder.sync_names().map_err(Error::io(folder.path(""), "syncing the directory"))?;
        Ok(Self {
            folder,
            settings: settings.clone(),
            recording: "test".into(),
            companions: Mutex::default(),
            sequences: Mutex::default(),
            log: Mutex::new(Log { manifest, last: BTreeMap::new(), packets: 0 }),
            kept: Mutex::default(),
            ages: Mutex::default(),
            retaining: Mutex::default(),
            settling: Mutex::default(),
            find: opened,
            boot: None,
        })
    }

    /// How its segments are written.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The name of this recording in summaries: a random one.
    #[must_use]
    pub fn recording(&self) -> &str {
        &self.recording
    }

    /// Its segments belong to the recording of another directory: streams go on there.
    pub fn join(&mut self, recording: &str) {
        recording.clone_into(&mut self.recording);
    }

    /// Sets the other directories of the same recorder: indexes name them, so that who searches one knows of all.
    pub fn set_companions(&self, paths: &[&Path]) {
        let absolute = |path: &&Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        *held(&self.companions) = paths.iter().map(|path| absolute(path).to_string_lossy().into_owned()).collect();
    }

    /// The name of a worker's next segment. It is written under its [`hidden`](SegmentName::hidden) name.
    pub fn begin(&self, now_ns: u64, worker: u16) -> SegmentName {
        let mut sequences = held(&self.sequences);
        let sequence = sequences.entry(worker).or_insert(0);
        *sequence += 1;
        SegmentName {
            begun_ns: now_ns,
            worker,
            sequence: *sequence,
            compression: self.settings.compression,
            is_sealed: self.settings.recipients.is_some(),
        }
    }

    pub(crate) fn complete_as(
        &self,
        event: Event,
        recording: String,
        name: &SegmentName,
        sections: &Sections,
        summary: Summary,
        now_ns: u64,
    ) -> Result<Segment, Error> {
        let mut log = held(&self.log);
        let previous = log.last.get(&name.worker).cloned().unwrap_or_default();
        let index = &self.settings.index;
        let packets_before = log.packets;
        let summary = Summary {
            segment: name.to_string(),
            format: "pcapng".into(),
            recording,
            worker: name.worker,
            sequence: name.sequence,
            first_ns: sections.first_ns,
            last_ns: sections.last_ns,
            packets: sections.packets,
            packets_before,
            records: sections.records,
            tunnel_depth: index.tunnel_depth,
            key_vlan: index.key_vlan,
            key_tunnel: index.key_tunnel,
            previous,
            companions: held(&self.companions).clone(),
            ..summary
        };
        let bytes = summary.stored_bytes;
        let file = index_file(sections, &summary, self.settings.recipients.as_ref().filter(|_| name.is_sealed))?;
        publish(&self.folder, name, &file)?;
        // Durable parts of it need no checksums. The next recorder removes a rest of them.
        let _ = self.folder.remove(&sums_of(&name.to_string()));
        let line = Line {
            event,
            time_ns: now_ns,
            segment: name.to_string(),
            bytes,
            packets_to: packets_before.saturating_add(sections.packets),
            digest: summary.digest.clone(),
            index_digest: Digest::of(&file),
            why: summary.repaired.clone(),
            damaged_bytes: summary.damaged_bytes,
            ..Line::default()
        };
        log.append(line)?;
        log.last.insert(name.worker, Digest::of(&file));
        let segment = Segment { name: name.clone(), bytes, index_bytes: file.len() as u64 };
        held(&self.kept).insert(name.clone(), segment.all_bytes());
        Ok(segment)
    }

    /// Figures of the complete segments, without access to the file system.
    #[must_use]
    pub fn kept(&self) -> Kept {
        let kept = held(&self.kept);
        let oldest_ns = kept.first_key_value().map(|(name, _)| name.begun_ns);
        Kept { segments: kept.len() as u64, bytes: kept.values().sum(), oldest_ns }
    }

    /// Notes a segment that is gone.
    pub(crate) fn forget(&self, name: &SegmentName) {
        held(&self.kept).remove(name);
    }

    /// Bytes of the manifest.
    pub(crate) fn manifest_bytes(&self) -> u64 {
        held(&self.log).manifest.bytes()
    }

    /// Packets that have a number.
    pub(crate) fn numbered_packets(&self) -> u64 {
        held(&self.log).packets
    }

    /// Makes names durable.
    pub(crate) fn storage_sync(&self) -> Result<(), Error> {
        self.folder.sync_names().map_err(Error::io(self.folder.path(""), "syncing the directory"))
    }

    /// Appends to the manifest.
    pub(crate) fn note(&self, line: Line) -> Result<(), Error> {
        held(&self.log).append(line)
    }

    /// Appends a segment to the manifest: the next one names its index.
    pub(crate) fn list(&self, worker: u16, line: Line) -> Result<(), Error> {
        let mut log = held(&self.log);
        let index_digest = line.index_digest.clone();
        log.append(line)?;
        if !index_digest.is_empty() {
            log.last.insert(worker, index_digest);
        }
        Ok(())
    }
}
