//! Rereads delivered bytes from a plain file, to compare retransmissions with them.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use tidewire_core::History;

/// Bytes read at once where a retransmission continues the last one: most come in runs.
const WINDOW_BYTES: usize = 64 << 10;
/// Bytes read at once where it does not: a segment of usual size, and some more.
const SINGLE_BYTES: usize = 2 << 10;

/// A file that is also being read as the input.
pub(crate) struct FileHistory {
    file: File,
    window: Vec<u8>,
    /// Offset of the window in the file.
    at: u64,
}

impl FileHistory {
    /// `None` where the file cannot be opened once more, or has no positions (a pipe).
    pub(crate) fn open(path: &Path) -> Option<Box<dyn History>> {
        // Looked at before it is opened: opening a pipe whose writer has gone waits for another writer.
        path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let file = File::open(path).ok()?;
        file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some(Box::new(Self { file, window: Vec::new(), at: 0 }))
    }
}

impl History for FileHistory {
    fn read(&mut self, origin: u64, buffer: &mut [u8]) -> bool {
        // Origins count from 1.
        let Some(offset) = origin.checked_sub(1) else { return false };
        let inside = |at: u64, window: &[u8]| offset >= at && offset + buffer.len() as u64 <= at + window.len() as u64;
        if !inside(self.at, &self.window) {
            let end = self.at + self.window.len() as u64;
            let goes_on = (self.at..end + WINDOW_BYTES as u64).contains(&offset) && end != 0;
            let wanted = if goes_on { WINDOW_BYTES } else { SINGLE_BYTES };
            self.window.resize(wanted.max(buffer.len()), 0);
            let read = read_at(&mut self.file, &mut self.window, offset).unwrap_or(0);
            self.window.truncate(read);
            self.at = offset;
            if !inside(self.at, &self.window) {
                return false;
            }
        }
        let from = (offset - self.at) as usize;
        buffer.copy_from_slice(&self.window[from..from + buffer.len()]);
        true
    }
}

#[cfg(unix)]
fn read_at(file: &mut File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(not(unix))]
fn read_at(file: &mut File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    file.seek(SeekFrom::Start(offset))?;
    file.read(buffer)
}

/// The file whose bytes can be read again: the input, where it is one plain file.
pub(crate) fn rereadable(paths: &[PathBuf]) -> Option<PathBuf> {
    match paths {
        [path] if path.as_os_str() != "-" => Some(path.clone()),
        _ => None,
    }
}
