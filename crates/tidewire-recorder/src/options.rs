//! Options of a recording, as the command and a sensor have them: checked, and completed with what depends on the input.

use std::{
    fs,
    path::{Component, Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustix::fs::statvfs;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tidewire_archive::{Compression, IndexSettings, Recipients, Retention, Settings, block::Writer};

use crate::{BUFFER_BYTES_MIN, LookBackSettings, RecordClass, RecordSettings};

/// Bytes of a segment, unless the archive has room for less than 16 of them.
const SEGMENT_BYTES: u64 = 1 << 30;
const SEGMENT_BYTES_MIN: u64 = 64 << 10;
/// Offsets in an index have room for it, and a damaged segment is no great loss.
const SEGMENT_BYTES_MAX: u64 = 64 << 30;
/// Of interfaces.
const SEGMENT_TIME: Duration = Duration::from_secs(60);
/// Less has no room for a second of traffic.
const KEEP_BYTES_MIN: u64 = 4 << 20;
/// Longer than any capture.
const NEVER: Duration = Duration::from_secs(1 << 32);
const WORKERS_MAX: u16 = 64;

/// Options of a recording. The default records every packet of files, and has no directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordingOptions {
    /// Packets come from interfaces, not from files.
    pub is_live: bool,
    /// How many record beside each other, 1 to 64: each writes segments of its own.
    pub workers: u16,
    /// Where segments go, in turn. They are made if they are not there.
    pub directories: Vec<PathBuf>,
    /// Bytes of the newest segments that are kept in each directory; `None`: all.
    pub size_bytes: Option<u64>,
    /// How long packets are kept; `None`: always.
    pub age: Option<Duration>,
    /// The oldest segments are removed while the file system has less free bytes; `None`: none are.
    pub free_bytes: Option<u64>,
    /// Bytes of a segment; `None`: 1 GiB, or a sixteenth of [`size_bytes`](Self::size_bytes).
    pub segment_bytes: Option<u64>,
    /// A segment is complete after so long; `None`: a minute of interfaces, never of files.
    pub segment_time: Option<Duration>,
    /// How long packets may take to the disk. Default 1 s.
    pub durable: Duration,
    /// How segments are compressed. Default: not at all.
    pub compression: Compression,
    /// For whom segments and indexes are encrypted (age's recipients); none: not at all.
    pub recipients: Vec<String>,
    /// Files of identities, with which segments are read that need a new index.
    pub identities: Vec<PathBuf>,
    /// Packets that do not match are counted only.
    pub filter: Option<String>,
    /// The expression that packets matched before, if there was one: it is in the descriptions of interfaces.
    pub matched: Option<String>,
    /// Payload bytes of each direction that are written. Default: all.
    pub cutoff_bytes: [u64; 2],
    /// Classes of streams, by their first packet.
    pub classes: Vec<RecordClass>,
    /// Bytes kept of each packet at most. Default: all.
    pub snap_bytes: u32,
    /// Nested tunnels that are looked into at most. Default 8.
    pub tunnel_depth: u8,
    /// Memory of each worker between capture and disk, bytes. Default 64 MiB.
    pub buffer_bytes: u64,
    /// Share of it from which on low priorities are shed, in thousandths. Default 500.
    pub base_threshold_permille: u32,
    /// Flows that each worker remembers. Default 262,144.
    pub flows_max: u32,
    /// How long a disk that refuses is waited for at the end. Default 5 s.
    pub patience: Duration,
    /// Packets wait in memory for a trigger; `None`: they are recorded at once.
    pub look_back: Option<LookBackOptions>,
}

/// Options of look-back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LookBackOptions {
    /// Time before a trigger that is recorded.
    pub before: Duration,
    /// Time after it. Default 30 s.
    pub after: Duration,
    /// Memory of each worker for packets that wait, bytes. Default 1 GiB.
    pub memory_bytes: u64,
    /// Packets that match one of these expressions are triggers.
    pub filters: Vec<String>,
    /// Packets that hold one of these byte strings are triggers.
    pub patterns: Vec<Vec<u8>>,
    /// A packet that is a trigger records its stream, not all of the link.
    pub is_of_streams: bool,
    /// Triggers come from outside, too.
    pub has_control: bool,
}

impl Default for RecordingOptions {
    fn default() -> Self {
        let RecordSettings { buffer_bytes, base_threshold_permille, patience, .. } = RecordSettings::default();
        Self {
            is_live: false,
            workers: 1,
            directories: Vec::new(),
            size_bytes: None,
            age: None,
            free_bytes: None,
            segment_bytes: None,
            segment_time: None,
            durable: Duration::from_secs(1),
            compression: Compression::None,
            recipients: Vec::new(),
            identities: Vec::new(),
            filter: None,
            matched: None,
            cutoff_bytes: [u64::MAX; 2],
            classes: Vec::new(),
            snap_bytes: u32::MAX,
            tunnel_depth: 8,
            buffer_bytes,
            base_threshold_permille,
            flows_max: 1 << 18,
            patience,
            look_back: None,
        }
    }
}

impl Default for LookBackOptions {
    fn default() -> Self {
        Self {
            before: Duration::ZERO,
            after: Duration::from_secs(30),
            memory_bytes: 1 << 30,
            filters: Vec::new(),
            patterns: Vec::new(),
            is_of_streams: false,
            has_control: false,
        }
    }
}

/// An option that is not possible.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("--{option} {what}")]
pub struct OptionError {
    /// The option's name on the command line.
    pub option: &'static str,
    /// The mistake: the rest of a sentence that begins with the option's name.
    pub what: String,
}

impl OptionError {
    fn new(option: &'static str, what: impl Into<String>) -> Self {
        Self { option, what: what.into() }
    }
}

impl RecordingOptions {
    /// Checks all but what depends on the machine.
    ///
    /// # Errors
    /// The first option that is not possible.
    pub fn check(&self) -> Result<(), OptionError> {
        let wrong = |option, what: &str| Err(OptionError::new(option, what));
        if !(1..=WORKERS_MAX).contains(&self.workers) {
            return wrong("workers", &format!("must be 1 to {WORKERS_MAX}, got {}", self.workers));
        }
        let segment_bytes = self.segment_bytes();
        if !(SEGMENT_BYTES_MIN..=SEGMENT_BYTES_MAX).contains(&segment_bytes) {
            return wrong("segment-size", "must be 64K to 64G, as in 1G");
        }
        // Each worker writes one, another one is completed, and there is one to be kept.
        let open = u64::from(self.workers) + 2;
        if let Some(size) = self.size_bytes.filter(|&size| size < segment_bytes.saturating_mul(open)) {
            let needs = segment_bytes * open;
            let what = format!("{size} has no room for {open} segments of {segment_bytes} bytes: at least {needs}");
            return wrong("size", &what);
        }
        if self.segment_time.is_some_and(|time| time.is_zero()) {
            return wrong("segment-time", "must be more than 0, as in 60s");
        }
        if self.durable.is_zero() {
            return wrong("durable", "must be more than 0, as in 1s");
        }
        if self.age.is_some_and(|age| age.is_zero()) {
            return wrong("age", "must be more than 0, as in 14d");
        }
        if self.buffer_bytes < BUFFER_BYTES_MIN {
            return wrong("buffer", "must be at least 8 MiB, as in 64M");
        }
        if let Some(look_back) = &self.look_back {
            look_back.check(self.is_live)?;
        }
        self.recipients()?;
        self.check_places()
    }

    /// Each directory is one of its own, where directories can be.
    fn check_places(&self) -> Result<(), OptionError> {
        for (index, path) in self.directories.iter().enumerate() {
            let place = place_of(path);
            if let Some(other) = self.directories[..index].iter().find(|other| place_of(other) == place) {
                let (path, other) = (path.display(), other.display());
                let what = format!("{other} and {path} are the same directory, named twice; name it once");
                return Err(OptionError::new("output", what));
            }
        }
        for path in &self.directories {
            // Of the closest one that is there.
            let place = place_of(path);
            let Some(there) = place.ancestors().find(|part| part.exists()) else { continue };
            if !there.is_dir() {
                let what = format!("{}: {} is a file; name a directory", path.display(), there.display());
                return Err(OptionError::new("output", what));
            }
            self.check_free(there)?;
        }
        Ok(())
    }

    /// Refuses what a file system can never have free: all of the archive would be removed for it.
    fn check_free(&self, folder: &Path) -> Result<(), OptionError> {
        let (Some(free), Ok(found)) = (self.free_bytes, statvfs(folder)) else { return Ok(()) };
        let reserved = found.f_bfree.saturating_sub(found.f_bavail);
        let all = found.f_blocks.saturating_sub(reserved).saturating_mul(found.f_frsize);
        // Some report no size.
        if all == 0 || free < all {
            return Ok(());
        }
        let what = format!(
            "{free} is more than the file system of {} has ({all} bytes): the whole archive would be removed",
            folder.display()
        );
        Err(OptionError::new("free", what))
    }

    fn segment_bytes(&self) -> u64 {
        let default = self.size_bytes.map_or(SEGMENT_BYTES, |size| (size / 16).clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES));
        self.segment_bytes.unwrap_or(default)
    }

    fn recipients(&self) -> Result<Option<Recipients>, OptionError> {
        if self.recipients.is_empty() {
            return Ok(None);
        }
        if let Some(file) = self.recipients.iter().find(|name| !name.starts_with("age1") && Path::new(name).is_file()) {
            let what = format!("{file}: a file; `tidewire keys recipient {file}` prints its recipient (age1...)");
            return Err(OptionError::new("encrypt-to", what));
        }
        let found = Recipients::parse(&self.recipients);
        found.map(Some).map_err(|error| OptionError::new("encrypt-to", error.to_string()))
    }

    /// How segments are written.
    ///
    /// # Errors
    /// A recipient that is invalid.
    pub fn archive(&self) -> Result<Settings, OptionError> {
        let default = if self.is_live { SEGMENT_TIME } else { NEVER };
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let application = concat!("tidewire ", env!("CARGO_PKG_VERSION")).to_owned();
        Ok(Settings {
            segment_bytes: self.segment_bytes(),
            segment_time: self.segment_time.unwrap_or(default),
            durable: self.durable,
            compression: self.compression,
            recipients: self.recipients()?,
            writer: Writer { system: format!("Linux {}", release.trim()), application, ..Writer::default() },
            index: IndexSettings { tunnel_depth: self.tunnel_depth, ..IndexSettings::default() },
        })
    }

    /// Memory of all workers, bytes: between capture and disk, and for packets that wait.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let waiting = self.look_back.as_ref().map_or(0, |look_back| look_back.memory_bytes);
        self.buffer_bytes.saturating_add(waiting).saturating_mul(self.workers.into())
    }

    /// Bounds beyond which segments are removed.
    #[must_use]
    pub fn retention(&self) -> Retention {
        Retention { size_bytes: self.size_bytes, age: self.age, free_bytes: self.free_bytes }
    }

    /// The expression that all recorded packets match.
    fn expression(&self) -> Option<String> {
        match (&self.matched, &self.filter) {
            (Some(before), Some(filter)) => Some(format!("({before}) and ({filter})")),
            (one, other) => one.clone().or_else(|| other.clone()),
        }
    }

    /// Which packets are recorded.
    #[must_use]
    pub fn record(&self) -> RecordSettings {
        let look_back = self.look_back.as_ref().map(|look_back| LookBackSettings {
            before: look_back.before,
            after: look_back.after,
            memory_bytes: usize::try_from(look_back.memory_bytes).unwrap_or(usize::MAX),
            filters: look_back.filters.clone(),
            patterns: look_back.patterns.clone(),
            is_of_streams: look_back.is_of_streams,
            trigger: Arc::default(),
        });
        RecordSettings {
            cutoff_bytes: self.cutoff_bytes,
            classes: self.classes.clone(),
            snap_bytes: self.snap_bytes,
            expression: self.expression(),
            filter: self.filter.clone(),
            buffer_bytes: self.buffer_bytes,
            base_threshold_permille: self.base_threshold_permille,
            flows_max: self.flows_max as usize,
            is_live: self.is_live,
            by_packet_time: !self.is_live,
            patience: self.patience,
            look_back,
            ..RecordSettings::default()
        }
    }
}

impl LookBackOptions {
    fn check(&self, is_live: bool) -> Result<(), OptionError> {
        let wrong = |option, what: &str| Err(OptionError::new(option, what));
        if !is_live && self.has_control {
            return wrong("control", "needs an interface: files are read at once");
        }
        if !is_live && self.filters.is_empty() && self.patterns.is_empty() {
            return wrong("keep-last", "of files needs a trigger: --trigger or --trigger-pattern");
        }
        if self.memory_bytes < KEEP_BYTES_MIN {
            return wrong("keep-memory", "must be at least 4 MiB, as in 1G");
        }
        if usize::try_from(self.memory_bytes.min(1 << 46)).is_err() {
            return wrong("keep-memory", "is more than this machine can address");
        }
        Ok(())
    }
}

/// A snap length: 0 is all, as in tcpdump and dumpcap.
#[must_use]
pub fn snap_bytes(bytes: u64) -> u32 {
    if bytes == 0 { u32::MAX } else { u32::try_from(bytes).unwrap_or(u32::MAX) }
}

/// Where a directory is, or would be: of what is not there yet, names alone say that.
fn place_of(path: &Path) -> PathBuf {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let there = whole.ancestors().find_map(|part| Some((part, fs::canonicalize(part).ok()?)));
    let Some((part, mut place)) = there else { return whole };
    for rest in whole.strip_prefix(part).into_iter().flat_map(Path::components) {
        match rest {
            Component::ParentDir => drop(place.pop()),
            Component::Normal(name) => place.push(name),
            _ => {}
        }
    }
    place
}
