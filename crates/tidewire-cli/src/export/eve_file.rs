//! A file of EVE, and how many records are in it.

use tidewire_exports::eve::{Stats, push_stats};

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

    /// Adds whole records: each is a line.
    pub fn push(&mut self, lines: &[u8], now_ns: u64) {
        if !lines.is_empty() {
            self.records += lines.iter().filter(|&&byte| byte == b'\n').count() as u64;
            self.files.push(lines, now_ns);
        }
    }

    /// Adds the counters of a run; the records are those before it.
    pub fn push_stats(&mut self, stats: Stats, now_ns: u64) {
        let mut line = Vec::new();
        push_stats(&mut line, &Stats { records: self.records, ..stats });
        self.push(&line, now_ns);
    }
}
