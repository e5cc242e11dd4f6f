//! The files of one output, of which each fails for itself.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Files;
use crate::sink::{Call, Failure};

/// Counts of the files that were begun, and of these that cannot be written: with the last of them the output has failed.
#[derive(Debug, Default)]
pub struct Accounts {
    begun: AtomicUsize,
    failed: AtomicUsize,
}

impl Accounts {
    /// Adds whole records to a file.
    pub fn push(&self, files: &mut Files, records: &[u8], call: &mut Call<'_>) {
        if files.begins() {
            self.begun.fetch_add(1, Ordering::Relaxed);
        }
        files.push_lines(records, call.now_ns);
        self.note(files, call);
    }

    /// Writes what a file gathered, or completes it where its time has come.
    pub fn flush(&self, files: &mut Files, call: &mut Call<'_>) {
        if files.is_due(0, call.now_ns) {
            files.complete(call.now_ns);
        } else {
            files.flush();
        }
        self.note(files, call);
    }

    /// Writes the lines that a file gathered.
    pub fn flush_lines(&self, files: &mut Files, call: &mut Call<'_>) {
        files.flush_lines();
        self.note(files, call);
    }

    fn note(&self, files: &mut Files, call: &mut Call<'_>) {
        let Some(message) = files.news() else { return };
        let failed = self.failed.fetch_add(1, Ordering::Relaxed) + 1;
        let is_last = failed >= self.begun.load(Ordering::Relaxed);
        call.failures.push(Failure::File { message, is_last });
    }
}
