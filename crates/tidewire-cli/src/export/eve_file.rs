//! A file of EVE, and how many records are in it.

use super::file::Files;

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

    /// Adds whole records: each is a line.
    pub fn push(&mut self, lines: &[u8], now_ns: u64) {
        if !lines.is_empty() {
            self.records += memchr::memchr_iter(b'\n', lines).count() as u64;
            self.files.push(lines, now_ns);
        }
    }
}
