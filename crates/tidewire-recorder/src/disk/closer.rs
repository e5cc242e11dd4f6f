//! The thread that completes segments, syncs files, and keeps a directory within its bounds: none of it delays a write.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crossbeam_channel::{Receiver, RecvTimeoutError};
use tidewire_archive::{Directory, Error, FolderFile, Now, Retention, SegmentWriter, StorageFile as _, Summary};

use super::{Notice, attempts::Attempts};
use crate::{Status, segment::Ending};

/// Bounds are looked at so often, even if no segment is completed.
const RETAIN_EVERY: Duration = Duration::from_secs(60);
/// The same while the disk refuses: it may be full.
const RETAIN_REFUSED: Duration = Duration::from_secs(1);

/// What is to be done.
#[derive(Debug)]
pub(crate) enum Closing {
    Sync(FolderFile, PathBuf),
    Segment(Box<SegmentWriter<FolderFile>>, Box<Ending>),
}

pub(crate) struct Closer {
    pub attempts: Attempts,
    pub jobs: Receiver<Closing>,
    pub status: Arc<Status>,
}

/// Nanoseconds since the epoch.
pub(crate) fn wall_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

impl Closer {
    /// Works until nothing more comes.
    pub fn run(self) {
        let mut retained = Instant::now();
        loop {
            let period = if self.attempts.is_refused() { RETAIN_REFUSED } else { RETAIN_EVERY };
            if retained.elapsed() >= period {
                self.retain();
                retained = Instant::now();
            }
            match self.jobs.recv_timeout(period.saturating_sub(retained.elapsed()).min(RETAIN_REFUSED)) {
                Ok(Closing::Sync(mut file, path)) => {
                    let synced = |file: &mut FolderFile| {
                        file.sync().map_err(|cause| Error::Io { path: path.clone(), what: "syncing", cause })
                    };
                    // After an error the kernel may have dropped pages: what follows is written and synced all the same.
                    if let Err(error) = synced(&mut file) {
                        self.attempts.targets.tell(Notice::Failed { error: Arc::new(error), retries: true });
                    }
                }
                Ok(Closing::Segment(writer, ending)) => {
                    self.complete(*writer, *ending);
                    self.retain();
                    retained = Instant::now();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn directory(&self) -> Option<&Directory> {
        self.attempts.targets.directories.get(self.attempts.target)
    }

    fn complete(&self, mut writer: SegmentWriter<FolderFile>, ending: Ending) {
        let Some(directory) = self.directory() else { return };
        let finish = |writer: &mut SegmentWriter<FolderFile>| {
            let finished = writer.keep(directory.storage()).and_then(|()| writer.finish());
            // A disk that is full has room once the oldest segments are gone.
            finished.inspect_err(|_| self.retain())
        };
        let Some((stored_bytes, digest)) = self.attempts.until(|| finish(&mut writer)) else { return self.give_up() };
        let Ending { name, builder, summary, totals } = ending;
        let sections = builder.encode();
        drop(builder);
        let summary = Summary { stored_bytes, digest, ledger: totals.priorities(), ..summary };
        let mut complete = || {
            // Both may be removed between two attempts; after the rename there is no hidden name.
            match directory.complete(&name, &sections, summary.clone(), wall_ns()) {
                Err(Error::Io { cause, .. }) if cause.kind() == std::io::ErrorKind::NotFound => {
                    writer.keep(directory.storage())?;
                    directory.complete(&name, &sections, summary.clone(), wall_ns())
                }
                other => other,
            }
        };
        match self.attempts.until(|| complete().inspect_err(|_| self.retain())) {
            Some(_) => self.status.complete(),
            None => self.give_up(),
        }
    }

    fn give_up(&self) {
        self.status.fail();
        self.attempts.targets.end();
    }

    fn retain(&self) {
        let targets = &self.attempts.targets;
        let (Some(directory), retention) = (self.directory(), &targets.retention) else { return };
        if *retention == Retention::default() {
            return;
        }
        let now = Now { wall_ns: wall_ns(), instant: Instant::now() };
        // Each worker writes one segment, and may be about to complete another.
        match directory.retain(retention, targets.workers + 1, &now) {
            Ok(removed) => {
                self.status.remove(removed.len() as u64);
                let path = directory.path().to_owned();
                removed.into_iter().for_each(|removed| targets.tell(Notice::Removed { path: path.clone(), removed }));
            }
            Err(error) => targets.tell(Notice::Failed { error: Arc::new(error), retries: true }),
        }
    }
}
