//! Reads delivered bytes again from a plain file, so that a retransmission can be compared with them.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use tidewire_core::History;

/// Read at once: retransmissions mostly come in runs, and the next one finds its bytes here.
const WINDOW_BYTES: usize = 64 << 10;

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
            self.window.resize(WINDOW_BYTES.max(buffer.len()), 0);
            let read = self.file.read_at(&mut self.window, offset).unwrap_or(0);
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

/// The file whose bytes can be read again: the input, where it is one plain file.
pub(crate) fn rereadable(paths: &[PathBuf]) -> Option<PathBuf> {
    match paths {
        [path] if path.as_os_str() != "-" => Some(path.clone()),
        _ => None,
    }
}
