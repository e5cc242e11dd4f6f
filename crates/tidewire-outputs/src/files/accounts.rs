//! The files of one output, of which each fails for itself.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::sink::{Call, Failure};

/// Counts of the files that were begun, and of these that cannot be written: with the last of them the output has failed.
#[derive(Debug, Default)]
pub struct Accounts {
    begun: AtomicUsize,
    failed: AtomicUsize,
}

impl Accounts {
    /// Notes the first record of a file.
    pub fn begin(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    /// Reports the failure of a file; without a message where its reader went away.
    pub fn note(&self, news: Option<Option<String>>, call: &mut Call<'_>) {
        let Some(message) = news else { return };
        let failed = self.failed.fetch_add(1, Ordering::Relaxed) + 1;
        let is_last = failed >= self.begun.load(Ordering::Relaxed);
        call.failures.push(Failure::File { message, is_last });
    }
}
