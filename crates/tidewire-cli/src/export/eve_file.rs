//! A file of EVE, and how many records are in it.

use super::{current, file::Files};

/// The file.
pub struct Eve {
    pub files: Files,
    /// Records that were written.
    records: u64,
}

impl Eve {
    /// Records into `files`.
    pub fn new(files: Files) -> Self {
        Self { files, records: 0 }
    }

    /// Records so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Counts records that are added to the file: each is a line.
    pub fn count(&mut self, records: &[u8]) {
        self.records += current::lines(records);
    }
}
