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
    pub opened_ns: u64,
    /// Whether there is a record for it. Until then it is as old as its first one.
    pub is_begun: bool,
}

impl Current {
    /// A new file under its hidden name.
    pub fn new(file: File, hidden: String, opened_ns: u64) -> Self {
        Self { file, hidden, is_shown: false, bytes: 0, opened_ns, is_begun: false }
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
            let _ = self.file.set_len(self.bytes);
            return Err(error);
        }
        self.bytes += records.len() as u64;
        Ok(())
    }
}
