//! The file that is written.

use std::{
    fs::File,
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
};

/// The smallest readable part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nothing but the whole.
    File,
    /// Each line is a record.
    Line,
    /// Messages of IPFIX, which state their length (RFC 7011 section 3.1).
    Message,
}

impl Unit {
    /// The bytes of whole units at the beginning of `written`, and how many units these are.
    pub fn whole(self, written: &[u8]) -> (usize, u64) {
        match self {
            Self::File => (0, 0),
            Self::Line => {
                let bytes = memchr::memrchr(b'\n', written).map_or(0, |last| last + 1);
                (bytes, lines(&written[..bytes]))
            }
            Self::Message => {
                let (mut bytes, mut messages) = (0, 0);
                while let Some(&[_, _, high, low, ..]) = written.get(bytes..) {
                    let length = usize::from(u16::from_be_bytes([high, low]));
                    if length == 0 || length > written.len() - bytes {
                        break;
                    }
                    (bytes, messages) = (bytes + length, messages + 1);
                }
                (bytes, messages)
            }
        }
    }

    /// Their names, one and several.
    pub fn names(self) -> [&'static str; 2] {
        match self {
            Self::Message => ["whole message", "whole messages"],
            Self::Line | Self::File => ["whole record", "whole records"],
        }
    }
}

/// A file, and what is in it.
pub struct Current {
    pub file: File,
    pub hidden: String,
    /// Whether it has its name, without a number, while it grows.
    pub is_shown: bool,
    /// Bytes that are in it.
    pub bytes: u64,
    /// Units that are in it; and of these the lines that are no records.
    pub units: u64,
    pub frame_lines: u64,
    /// Records in the messages that are in it.
    pub message_records: u64,
    pub opened_ns: u64,
    /// Whether there is a record for it. Until then it is as old as its first one.
    pub is_begun: bool,
}

impl Current {
    /// A new file under its hidden name.
    pub fn new(file: File, hidden: String, opened_ns: u64) -> Self {
        Self {
            file,
            hidden,
            is_shown: false,
            bytes: 0,
            units: 0,
            frame_lines: 0,
            message_records: 0,
            opened_ns,
            is_begun: false,
        }
    }

    /// Appends whole units. Where they cannot all be written, none is left in part: one ends at the last byte of the file.
    ///
    /// # Errors
    /// The system's error.
    pub fn append(&mut self, units: &[u8], unit: Unit) -> io::Result<()> {
        let mut written = 0;
        while written < units.len() {
            let error = match self.file.write(&units[written..]) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(bytes) => {
                    written += bytes;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            let (bytes, count) = unit.whole(&units[..written]);
            self.bytes += bytes as u64;
            self.units += count;
            // Of what it has now: another process may have cut it off.
            let found = self.file.metadata().map_or(self.bytes, |found| found.len());
            let _ = self.file.set_len(found.saturating_sub((written - bytes) as u64));
            return Err(error);
        }
        self.bytes += units.len() as u64;
        self.units += unit.whole(units).1;
        Ok(())
    }

    /// Whether it has no name any more.
    pub fn is_gone(&self) -> bool {
        self.file.metadata().is_ok_and(|found| found.nlink() == 0)
    }

    /// Records or messages that are in it.
    pub fn records(&self) -> u64 {
        self.units.saturating_sub(self.frame_lines)
    }

    /// Records that are in it, those of messages counted singly.
    pub fn records_of(&self, unit: Unit) -> u64 {
        if unit == Unit::Message { self.message_records } else { self.records() }
    }
}

/// Lines of a text.
pub fn lines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}
