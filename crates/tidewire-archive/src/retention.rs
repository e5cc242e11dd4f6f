//! Removes segments, so that a directory keeps within its bounds: the oldest first, and none that is being read.

use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    fs,
    sync::PoisonError,
    time::Duration,
};

use rustix::{
    fs::{FlockOperation, flock, fstatvfs},
    io::Errno,
};

use crate::{
    Directory, Error, Folder, Identities, SegmentName, Storage as _,
    ages::Now,
    listing::{Segment, hidden_bytes, segments},
    manifest::{Event, Line},
    recall::{modified_ns, open_index},
};

/// Segments of capture files may be longer: then the time of the last packet is read from their indexes.
const SEGMENT_TIME_MAX: Duration = Duration::from_secs(86_400);
/// The manifest has this part of the bound at most, as far as segments are gone that it lists.
const MANIFEST_SHARE: u64 = 16;

/// Bounds of a directory. `None`: there is no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// Bytes of all files of the archive: segments, indexes, the manifest, and what is hidden.
    pub size_bytes: Option<u64>,
    /// Age of the youngest packet of a segment.
    pub age: Option<Duration>,
    /// Bytes that stay free on the file system.
    pub free_bytes: Option<u64>,
}

/// A segment that was removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Its name.
    pub name: SegmentName,
    /// Bytes of its file and its index.
    pub bytes: u64,
    /// Why: `size`, `age` or `free`.
    pub why: &'static str,
}

/// Segments in the order in which they were recorded, whatever the clock said: each worker's by their numbers, and of the next ones of
/// all workers the one that began first.
fn in_order_of_recording(segments: Vec<Segment>) -> Vec<Segment> {
    let mut workers: BTreeMap<u16, VecDeque<Segment>> = BTreeMap::new();
    let count = segments.len();
    for segment in segments {
        workers.entry(segment.name.worker).or_default().push_back(segment);
    }
    workers.values_mut().for_each(|own| own.make_contiguous().sort_by_key(|segment| segment.name.sequence));
    let mut ordered = Vec::with_capacity(count);
    while let Some(next) = workers
        .values_mut()
        .filter(|own| !own.is_empty())
        .min_by_key(|own| own.front().map(|segment| segment.name.begun_ns))
    {
        ordered.extend(next.pop_front());
    }
    ordered
}

impl Directory {
    /// Removes what is beyond the bounds: call it before each segment begins, and once a minute. `open`: segments that are being
    /// written or about to be, this worker's included. The directory is never above its size by more than one segment.
    ///
    /// # Errors
    /// What the system says.
    pub fn retain(&self, retention: &Retention, open: u32, now: &Now) -> Result<Vec<Removed>, Error> {
        // Each worker's closer calls this: two at once would each remove for the same bytes.
        let _one = self.retaining.lock().unwrap_or_else(PoisonError::into_inner);
        self.settle()?;
        let path = self.path().to_owned();
        let mut complete = in_order_of_recording(segments(self.storage())?);
        let known: HashSet<&SegmentName> = complete.iter().map(|segment| &segment.name).collect();
        let mut known_ages = self.ages.lock().unwrap_or_else(PoisonError::into_inner);
        known_ages.keep(&known);
        let ages: Vec<Duration> = complete
            .iter()
            .map(|segment| {
                let youngest_ns = match retention.age {
                    Some(_) => known_ages.youngest(&segment.name, || self.youngest_ns(segment)),
                    None => 0,
                };
                known_ages.age(&segment.name, youngest_ns, now)
            })
            .collect();
        let is_trusted: Vec<bool> = complete
            .iter()
            .map(|segment| retention.age.is_some_and(|age| known_ages.is_trusted(&segment.name, age, now)))
            .collect();
        drop(known_ages);
        let hidden_bytes = hidden_bytes(self.storage())?;
        // An open segment counts as full, but for one.
        let others = self.settings().segment_bytes.saturating_mul(u64::from(open.saturating_sub(1)));
        let mut bytes: u64 = complete.iter().map(|segment| segment.bytes + segment.index_bytes).sum();
        let mut removed = Vec::new();
        for ((segment, age), is_trusted) in complete.drain(..).zip(ages).zip(is_trusted) {
            let all = bytes.saturating_add(hidden_bytes).saturating_add(self.manifest_bytes());
            let is_above = retention.size_bytes.is_some_and(|size| all > size.saturating_sub(others));
            let is_old = retention.age.is_some_and(|most| age >= most);
            let why = if is_above {
                "size"
            } else if is_old && is_trusted {
                "age"
            } else if retention.free_bytes.is_some_and(|free| free_bytes(self.storage()).is_some_and(|now| now < free))
            {
                "free"
            } else {
                // Where the clock was set, older ones may be behind it.
                continue;
            };
            if self.remove(&segment, why, now)? {
                bytes -= segment.bytes + segment.index_bytes;
                let bytes = segment.bytes + segment.index_bytes;
                removed.push(Removed { name: segment.name, bytes, why });
            } else if !self.storage().has(&segment.name.to_string()) {
                // Another process removed it.
                bytes -= segment.bytes + segment.index_bytes;
                self.forget(&segment.name);
            }
        }
        if !removed.is_empty() {
            self.storage().sync_names().map_err(Error::io(&path, "syncing the directory"))?;
            let bytes_max = retention.size_bytes.map_or(u64::MAX, |size| size / MANIFEST_SHARE);
            self.shorten_manifest(now.wall_ns, bytes_max)?;
        }
        Ok(removed)
    }

    /// The time of a segment's youngest packet.
    fn youngest_ns(&self, segment: &Segment) -> u64 {
        let SegmentName { begun_ns, .. } = segment.name;
        let time = self.settings().segment_time;
        if time <= SEGMENT_TIME_MAX {
            // Its packets are younger than its name by a segment's time at most.
            return begun_ns.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        }
        let name = self.path().join(segment.name.index());
        let modified = fs::metadata(self.path().join(segment.name.to_string())).ok().map(|found| modified_ns(&found));
        let last_ns = match open_index(&name, &Identities::default()) {
            // (A packet may have a time that is decades ahead.)
            Ok(Some(sidecar)) => Some(sidecar.summary().last_ns).into_iter().chain(modified).min(),
            // There is none, or it is encrypted: when the segment was written.
            _ => modified,
        };
        last_ns.unwrap_or(u64::MAX).max(begun_ns)
    }

    /// Removes a segment, unless it is being read.
    fn remove(&self, segment: &Segment, why: &str, now: &Now) -> Result<bool, Error> {
        let name_of = &segment.name;
        let name = name_of.to_string();
        let path = self.path().join(&name);
        let file = match self.storage().open_regular(&name) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(Error::io(&path, "opening, to remove it")(error)),
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(error) => return Err(Error::io(&path, "locking, to remove it")(error.into())),
        }
        let (segment, why) = (name.clone(), why.to_owned());
        self.note(Line { event: Event::Removed, time_ns: now.wall_ns, segment, why, ..Line::default() })?;
        crate::repair::remove(self.storage(), &name)?;
        self.forget(name_of);
        crate::repair::remove(self.storage(), &crate::index_of(&name))?;
        Ok(true)
    }
}

fn free_bytes(folder: &Folder) -> Option<u64> {
    let found = fstatvfs(&*folder.handle()).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}
