//! A directory that a recorder writes to.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, Mode, OFlags, flock, open},
    io::Errno,
    rand::{GetRandomFlags, getrandom},
};

use crate::{
    Digest, Error, Folder, Recipients, Sections, SegmentName, Settings, Storage, StorageFile, Summary,
    ages::Ages,
    index::write,
    manifest::{self, Event, Line, Manifest},
    name::{hidden, index_of},
    seal::{Content, SealWriter},
};

/// A complete segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its name.
    pub name: SegmentName,
    /// Bytes of its file.
    pub bytes: u64,
    /// Bytes of its index.
    pub index_bytes: u64,
}

impl Segment {
    /// Bytes of its file and of its index.
    #[must_use]
    pub fn all_bytes(&self) -> u64 {
        self.bytes + self.index_bytes
    }
}

/// The directory of an archive, locked: it has one recorder.
#[derive(Debug)]
pub struct Directory {
    folder: Folder,
    settings: Settings,
    recording: String,
    /// Number of the last segment of each worker.
    sequences: Mutex<BTreeMap<u16, u64>>,
    log: Mutex<Log>,
    kept: Mutex<BTreeMap<SegmentName, u64>>,
    pub(crate) ages: Mutex<Ages>,
    /// Holds the lock, which needs no file.
    _lock: File,
}

/// What is written when a segment is completed.
#[derive(Debug)]
struct Log {
    manifest: Manifest,
    /// Digest of the index of each worker's last segment.
    last: BTreeMap<u16, String>,
    /// Packets that have a number.
    packets: u64,
}

impl Log {
    fn append(&mut self, line: Line) -> Result<(), Error> {
        let packets = self.packets.max(line.packets_to);
        self.manifest.append(line)?;
        self.packets = packets;
        Ok(())
    }
}

/// What a directory holds, complete segments alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// How many segments.
    pub segments: u64,
    /// Bytes of their files and indexes.
    pub bytes: u64,
    /// When the oldest began, nanoseconds since the epoch.
    pub oldest_ns: Option<u64>,
}

/// How often a lock is tried again, and after which pause: a recorder that has just ended may not be gone, and a program that the
/// same process is starting has its locks until it is executed.
const LOCK_ATTEMPTS: u32 = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(10);

/// What is inside, whatever became of another thread that had it: each change is whole.
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
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let lock = open(path, flags, Mode::empty()).map_err(|error| Error::io(path, "opening")(error.into()))?;
        let mut attempts = LOCK_ATTEMPTS;
        loop {
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(Errno::WOULDBLOCK) if attempts > 0 => {
                    attempts -= 1;
                    thread::sleep(LOCK_PAUSE);
                }
                Err(Errno::WOULDBLOCK) => return Err(Error::Locked { path: path.to_owned() }),
                Err(error) => return Err(Error::io(path, "locking")(error.into())),
            }
        }
        let read = manifest::read(path)?;
        let mut manifest = Manifest::open(path, &read)?;
        let mut recording = [0; 8];
        getrandom(&mut recording, GetRandomFlags::empty())
            .map_err(|error| Error::io(path, "naming the recording")(error.into()))?;
        let recording: String = recording.iter().map(|byte| format!("{byte:02x}")).collect();
        let (mut sequences, mut last) = (BTreeMap::new(), BTreeMap::new());
        let mut number = |name: &SegmentName| {
            let most = sequences.entry(name.worker).or_insert(0);
            *most = name.sequence.max(*most);
        };
        for line in &read.lines {
            let Some(name) = SegmentName::parse(&line.segment) else { continue };
            number(&name);
            if matches!(line.event, Event::Segment | Event::Repaired | Event::Indexed) {
                last.insert(name.worker, line.index_digest.clone());
            }
        }
        let packets = read.lines.iter().map(|line| line.packets_to).max().unwrap_or(0);
        let complete = segments(path)?;
        complete.iter().for_each(|segment| number(&segment.name));
        for name in names(path)? {
            if let Some(name) = crate::name::shown(&name).and_then(SegmentName::parse) {
                number(&name);
            }
        }
        manifest.append(Line { event: Event::Started, time_ns: now_ns, ..Line::default() })?;
        let (folder, settings) = (Folder::new(path), settings.clone());
        folder.sync_names().map_err(Error::io(path, "syncing the directory"))?;
        let kept = complete.into_iter().map(|segment| (segment.name.clone(), segment.all_bytes())).collect();
        Ok(Self {
            folder,
            settings,
            recording,
            sequences: Mutex::new(sequences),
            log: Mutex::new(Log { manifest, last, packets }),
            kept: Mutex::new(kept),
            ages: Mutex::default(),
            _lock: File::from(lock),
        })
    }

    /// The directory's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.as_path()
    }

    /// Where its files are written.
    #[must_use]
    pub fn storage(&self) -> &Folder {
        &self.folder
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

    /// Gives a segment its name. Its file is written, [cut to its length](StorageFile::truncate) and synced; `summary` has `bytes`,
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
        let recording = self.recording.clone();
        self.complete_as(Event::Segment, recording, name, sections, summary, now_ns)
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
            ..summary
        };
        let bytes = summary.stored_bytes;
        let file = index_file(sections, &summary, self.settings.recipients.as_ref().filter(|_| name.is_sealed))?;
        publish(&self.folder, name, &file)?;
        let line = Line {
            event,
            time_ns: now_ns,
            segment: name.to_string(),
            bytes,
            packets_to: packets_before + sections.packets,
            digest: summary.digest.clone(),
            index_digest: Digest::of(&file),
            why: summary.repaired.clone(),
            ..Line::default()
        };
        log.append(line)?;
        log.last.insert(name.worker, Digest::of(&file));
        let segment = Segment { name: name.clone(), bytes, index_bytes: file.len() as u64 };
        held(&self.kept).insert(name.clone(), segment.all_bytes());
        Ok(segment)
    }

    /// What it holds: known without asking the file system.
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

    /// Packets that have a number.
    pub(crate) fn numbered_packets(&self) -> u64 {
        held(&self.log).packets
    }

    /// Makes names durable.
    pub(crate) fn storage_sync(&self) -> Result<(), Error> {
        self.folder.sync_names().map_err(Error::io(self.path(), "syncing the directory"))
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

/// The file of an index, sealed if segments are.
pub(crate) fn index_file(
    sections: &Sections,
    summary: &Summary,
    recipients: Option<&Recipients>,
) -> Result<Vec<u8>, Error> {
    let plain = write(sections, summary);
    let Some(recipients) = recipients else { return Ok(plain) };
    let mut sealed = Vec::new();
    let mut seal = SealWriter::begin(recipients, Content::Index, &mut sealed)?;
    seal.push(&plain, &mut sealed);
    seal.finish(&mut sealed);
    Ok(sealed)
}

/// Gives a segment and its index their names: the index first, so that a segment with its name has one.
pub(crate) fn publish<S: Storage>(storage: &S, name: &SegmentName, index: &[u8]) -> Result<(), Error> {
    let (shown, index_name) = (name.to_string(), name.index());
    write_index(storage, &index_name, index)?;
    match storage.rename(&hidden(&shown), &shown) {
        Ok(()) => {}
        // It was renamed before an error, and this is the second call.
        Err(error) if error.kind() == io::ErrorKind::NotFound && storage.path(&shown).exists() => {}
        Err(error) => return Err(Error::io(storage.path(&shown), "giving the segment its name")(error)),
    }
    storage.sync_names().map_err(Error::io(storage.path(""), "syncing the directory"))
}

/// Writes an index under a hidden name, and gives it its own.
pub(crate) fn write_index<S: Storage>(storage: &S, name: &str, index: &[u8]) -> Result<(), Error> {
    let hidden = hidden(name);
    match storage.remove(&hidden) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(Error::io(storage.path(&hidden), "removing an unfinished index")(error));
        }
        _ => {}
    }
    let mut file = storage.create(&hidden).map_err(Error::io(storage.path(&hidden), "creating"))?;
    let written = file.write_at(index, 0).and_then(|()| file.sync());
    written.map_err(Error::io(storage.path(&hidden), "writing"))?;
    storage.rename(&hidden, name).map_err(Error::io(storage.path(name), "giving the index its name"))
}

/// Names of the files in a directory, in order.
pub(crate) fn names(path: &Path) -> Result<Vec<String>, Error> {
    let failed = |error| Error::io(path, "reading the directory")(error);
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let name = entry.map_err(|error| Error::io(path, "reading the directory")(error))?.file_name();
        names.extend(name.into_string());
    }
    names.sort();
    Ok(names)
}

/// The complete segments of a directory, the oldest first.
pub(crate) fn segments(path: &Path) -> Result<Vec<Segment>, Error> {
    let mut segments: Vec<Segment> = Vec::new();
    for name in names(path)? {
        let Some(parsed) = SegmentName::parse(&name) else { continue };
        let bytes = |path: PathBuf| fs::metadata(path).map(|metadata| metadata.len());
        // One that is not there was just removed.
        let Ok(of_file) = bytes(path.join(&name)) else { continue };
        let index_bytes = bytes(path.join(index_of(&name))).unwrap_or(0);
        segments.push(Segment { name: parsed, bytes: of_file, index_bytes });
    }
    segments.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(segments)
}
