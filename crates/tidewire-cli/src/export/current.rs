//! The file that is written.

use std::{
    fs::File,
    io::{self, Write as _},
};

/// A file, and what is in it.
pub struct Current {
    pub file: File,
    pub hidden: String,
    /// Whether it has its name, without a number, while it grows.
    pub is_shown: bool,
    /// Bytes that are in it.
    pub bytes: u64,
    /// Lines that are in it, of a file of lines; and of these the ones that are no records.
    pub lines: u64,
    pub frame_lines: u64,
    pub opened_ns: u64,
    /// Whether there is a record for it. Until then it is as old as its first one.
    pub is_begun: bool,
}

impl Current {
    /// A new file under its hidden name.
    pub fn new(file: File, hidden: String, opened_ns: u64) -> Self {
        Self { file, hidden, is_shown: false, bytes: 0, lines: 0, frame_lines: 0, opened_ns, is_begun: false }
    }

    /// Appends whole records. Where they cannot all be written, none is left in part: a line ends at the last byte of the file.
    ///
    /// # Errors
    /// The system's error.
    pub fn append(&mut self, records: &[u8], are_lines: bool) -> io::Result<()> {
        let mut written = 0;
        while written < records.len() {
            let error = match self.file.write(&records[written..]) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(bytes) => {
                    written += bytes;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            let whole = memchr::memrchr(b'\n', &records[..written]).filter(|_| are_lines).map_or(0, |last| last + 1);
            self.bytes += whole as u64;
            self.count(&records[..whole], are_lines);
            let _ = self.file.set_len(self.bytes);
            return Err(error);
        }
        self.bytes += records.len() as u64;
        self.count(records, are_lines);
        Ok(())
    }

    fn count(&mut self, written: &[u8], are_lines: bool) {
        if are_lines {
            self.lines += lines(written);
        }
    }

    /// Records that are in it, of a file of lines.
    pub fn records(&self) -> u64 {
        self.lines.saturating_sub(self.frame_lines)
    }
}

/// Lines of a text.
pub fn lines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}
