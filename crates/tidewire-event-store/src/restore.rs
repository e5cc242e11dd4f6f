//! Restores the files of a store whose names were removed while it was open: the store still has the files.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use crate::{
    error::Error,
    loss::{Loss, note_loss},
    opening::{PUTTING_BACK, RECOVERING, beside, put_log_aside, remove, remove_log, sync_directory},
    progress::{Report, RestoreProgress},
    store::Store,
};

/// How often the progress of a copy is reported.
const REPORT_EVERY: Duration = Duration::from_secs(2);

impl Store {
    /// Restores the store's files, or notes what is lost. Returns whether the log may be written back when the store is closed.
    pub(crate) fn restore(&self, report: Report<'_>) -> bool {
        let is_cut = self.files.is_log_cut(&self.path);
        let loss = if self.files.has_store(&self.path) { Loss::Log } else { Loss::Store };
        // Noted first: this may be killed. Where nothing can be written, nothing can be noted either.
        let _ = note_loss(&self.path, self.noted_id, Some(loss));
        if !is_cut && self.restore_files(report).unwrap_or(false) {
            let _ = note_loss(&self.path, self.noted_id, None);
        }
        if self.leaves_log() {
            let _ = put_log_aside(&self.path);
        }
        !is_cut
    }

    /// Whether its log is beside another store, which would be changed by it.
    fn leaves_log(&self) -> bool {
        !self.files.has_store(&self.path) && self.files.has_log(&self.path)
    }

    /// Restores the files. Returns whether everything is in its place.
    fn restore_files(&self, report: Report<'_>) -> Result<bool, Error> {
        let failed = Error::database(&self.path, "putting the store back");
        self.set_unused().map_err(&failed)?;
        // Also a file that was only renamed has everything then.
        let written = self.connection.query_row("PRAGMA wal_checkpoint(FULL)", [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        });
        let (is_busy, pages, copied) = written.map_err(&failed)?;
        let is_whole = is_busy == 0 && pages == copied;
        if self.files.has_store(&self.path) {
            return Ok(is_whole);
        }
        // A file that another process put into its place is left alone.
        if fs::symlink_metadata(&self.path).is_ok() {
            if is_whole && self.leaves_log() {
                remove_log(&self.path)?;
            }
            return Ok(false);
        }
        self.copy(report)?;
        Ok(true)
    }

    /// Copies the store to its path. Whenever this ends, the next opening finds nothing or all of it.
    fn copy(&self, report: Report<'_>) -> Result<(), Error> {
        let (copy, complete) = (beside(&self.path, PUTTING_BACK), beside(&self.path, RECOVERING));
        let failed = Error::file(&self.path, "putting the store back");
        remove(&copy)?;
        remove(&complete)?;
        // Only its owner reads events.
        let made = OpenOptions::new().create_new(true).write(true).mode(0o600).open(&copy);
        made.map_err(&failed)?;
        let name = copy.to_str().ok_or_else(|| failed(io::Error::other("SQLite takes no such name")))?;
        let bytes_total = self.used_bytes()?;
        let (end, ended) = channel::<()>();
        thread::scope(|scope| {
            let watch = || watch(&copy, bytes_total, ended, report);
            // Without it, nothing is said of the progress.
            let watching = thread::Builder::new().name("progress".into()).spawn_scoped(scope, watch);
            let copied = self.connection.execute("VACUUM INTO ?1", [name]);
            copied.map_err(Error::database(&self.path, "putting the store back"))?;
            File::open(&copy).and_then(|copy| copy.sync_all()).map_err(&failed)?;
            drop((end, watching));
            Ok::<_, Error>(())
        })?;
        fs::rename(&copy, &complete).map_err(&failed)?;
        sync_directory(&self.path)?;
        // From here the next opening puts it into its place, too.
        note_loss(&self.path, self.noted_id, None).map_err(&failed)?;
        // A log that is left belongs to the file that was there.
        remove_log(&self.path)?;
        fs::rename(&complete, &self.path).map_err(&failed)?;
        sync_directory(&self.path)?;
        report(RestoreProgress { bytes: bytes_total, bytes_total, is_done: true });
        Ok(())
    }
}

/// Reports how much of a copy is written, until the other end of the channel is gone.
fn watch(copy: &Path, bytes_total: u64, ended: Receiver<()>, report: Report<'_>) {
    loop {
        let bytes = fs::metadata(copy).map_or(0, |found| found.len()).min(bytes_total);
        report(RestoreProgress { bytes, bytes_total, is_done: false });
        if ended.recv_timeout(REPORT_EVERY) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}
