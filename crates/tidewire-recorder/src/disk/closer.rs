//! The thread that completes segments, syncs files, and keeps a directory within its bounds: none of it delays a write.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use tidewire_archive::{
    Directory, Error, FolderFile, Now, Repaired, Retention, SegmentName, SegmentWriter, Summary, Unsynced,
};
use tidewire_types::clock::wall_ns;

use super::{
    Notice,
    attempts::Attempts,
    slots::Slot,
    written::{Packets, Written},
};
use crate::{Status, segment::Ending};

/// Bounds are looked at so often, even if no segment is completed.
const RETAIN_EVERY: Duration = Duration::from_secs(60);
/// The same while the disk refuses: it may be full.
const RETAIN_REFUSED: Duration = Duration::from_secs(1);

/// Tasks.
#[derive(Debug)]
pub(crate) enum Closing {
    Sync(Unsynced<FolderFile>),
    Segment(Box<SegmentWriter<FolderFile>>, Written, Box<Ending>, Slot),
    Salvage(Salvage),
}

/// A segment of which something is lost.
#[derive(Debug)]
pub(crate) struct Salvage {
    pub name: Box<SegmentName>,
    /// Its file is good up to here.
    pub good_bytes: u64,
    /// The packets in that.
    pub kept: Packets,
    pub slot: Slot,
}

pub(crate) struct Closer {
    pub attempts: Attempts,
    pub jobs: Receiver<Closing>,
    pub status: Arc<Status>,
}

impl Closer {
    /// Works until nothing more comes.
    pub fn run(self) {
        let (mut retained, mut has_failed) = (Instant::now(), false);
        loop {
            let period = if self.attempts.is_refused() { RETAIN_REFUSED } else { RETAIN_EVERY };
            if retained.elapsed() >= period {
                self.retain();
                retained = Instant::now();
            }
            match self.jobs.recv_timeout(period.saturating_sub(retained.elapsed()).min(RETAIN_REFUSED)) {
                Ok(Closing::Sync(unsynced)) => {
                    // The writer writes again what the system may have dropped, with its next sync.
                    match unsynced.sync() {
                        Ok(()) if has_failed => {
                            has_failed = false;
                            self.attempts.works();
                        }
                        Ok(()) => {}
                        Err(error) => {
                            has_failed = true;
                            self.attempts.report(error, true);
                        }
                    }
                }
                Ok(Closing::Segment(writer, written, ending, slot)) => {
                    self.complete(*writer, written, *ending);
                    self.retain();
                    retained = Instant::now();
                    // Only now there is room for another one.
                    drop(slot);
                }
                Ok(Closing::Salvage(Salvage { name, good_bytes, kept, slot })) => {
                    self.salvage(&name, good_bytes, &kept);
                    drop(slot);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn directory(&self) -> Option<&Directory> {
        self.attempts.targets.directories.get(self.attempts.target)
    }

    /// Gives the good part of a segment its name.
    fn salvage(&self, name: &SegmentName, good_bytes: u64, kept: &Packets) {
        let Some(directory) = self.directory() else { return };
        match directory.salvage(name, good_bytes, wall_ns()) {
            Ok(repaired) => {
                if matches!(repaired, Some(Repaired::Completed { .. } | Repaired::Sealed { .. })) {
                    self.status.complete(kept.iter().map(|(packets, _)| packets).sum());
                }
                repaired.into_iter().for_each(|repaired| self.attempts.targets.notify(Notice::Repaired { repaired }));
            }
            Err(error) => {
                // The next recorder repairs it, unless it was removed.
                if error.is_missing() {
                    self.status.lose(kept);
                }
                self.attempts.report(error, false);
            }
        }
    }

    fn complete(&self, mut writer: SegmentWriter<FolderFile>, mut written: Written, ending: Ending) {
        let Some(directory) = self.directory() else { return };
        let finish = |writer: &mut SegmentWriter<FolderFile>| {
            let finished = directory.keep(writer).and_then(|()| writer.finish());
            // A disk that is full has room once the oldest segments are gone.
            finished.inspect_err(|_| self.retain())
        };
        let finished = self.attempts.until(|| finish(&mut writer));
        written.count(&writer, &self.status);
        let Some((stored_bytes, digest)) = finished else {
            let lost = written.lost(&writer, &ending.name, Some(directory));
            self.status.lose(&lost);
            return match writer.lost_from() {
                Some(good_bytes) if self.attempts.recovers() => {
                    self.salvage(&ending.name, good_bytes, &written.without(&lost));
                }
                _ => self.abandon(),
            };
        };
        let Ending { name, builder, summary, totals, .. } = ending;
        let packets = totals.all().written_packets;
        let sections = builder.encode();
        drop(builder);
        let summary = Summary { stored_bytes, digest, ledger: totals.priorities(), ..summary };
        let mut complete = || {
            // Both may be removed between two attempts; after the rename there is no hidden name.
            match directory.complete(&name, &sections, summary.clone(), wall_ns()) {
                Err(Error::Io { cause, .. }) if cause.kind() == std::io::ErrorKind::NotFound => {
                    directory.keep(&mut writer)?;
                    directory.complete(&name, &sections, summary.clone(), wall_ns())
                }
                other => other,
            }
        };
        match self.attempts.until(|| complete().inspect_err(|_| self.retain())) {
            Some(_) => self.status.complete(packets),
            None => {
                self.status.lose(&written.lost(&writer, &name, Some(directory)));
                self.abandon();
            }
        }
    }

    fn abandon(&self) {
        self.status.fail();
        self.attempts.targets.end();
    }

    fn retain(&self) {
        let targets = &self.attempts.targets;
        let (Some(directory), retention) = (self.directory(), &targets.retention) else { return };
        if *retention == Retention::default() {
            return;
        }
        let now = Now::at(wall_ns());
        let open = targets.slots.get(self.attempts.target).map_or(1, |slots| slots.most());
        match directory.retain(retention, open, &now) {
            Ok(removed) => {
                self.status.remove(removed.len() as u64);
                let path = directory.path().to_owned();
                removed.into_iter().for_each(|removed| targets.notify(Notice::Removed { path: path.clone(), removed }));
            }
            Err(error) => self.attempts.report(error, true),
        }
    }
}
