//! Rereads delivered bytes from a plain file, to compare retransmissions with them.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use tidewire_core::{HISTORY_NEAR_BYTES, HISTORY_WINDOW_BYTES, History, HistoryAge};

/// Bytes of a page: what is read for one isolated retransmission.
const PAGE_BYTES: usize = 4 << 10;
/// Bytes of the recent input that are kept: those that are near, with headers of records as long as the frames. Each page is read
/// once while it is near, however many small segments it has.
const NEAR_BYTES_MAX: u32 = 2 * HISTORY_NEAR_BYTES as u32;
/// Pages read at once where reading continues behind the last ones: most retransmissions come in runs.
const PAGES_AHEAD: usize = 16;
/// Bytes of a window of the distant input: a page more, because the next comparison often begins a little behind the last one.
const WINDOW_BYTES: usize = HISTORY_WINDOW_BYTES as usize + PAGE_BYTES;

/// A file that is also being read as the input.
pub(crate) struct FileHistory {
    file: File,
    near: Pages,
    distant: Window,
    /// Calls of the system, for tests.
    reads: u64,
}

/// Pages of the recent input, each in the slot that its number has.
struct Pages {
    /// Slots, once there are some.
    count: usize,
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    /// The page behind those that were read last.
    next: u64,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    /// Number of the page in the file.
    page: u64,
    /// Bytes of it that were there: fewer than a page at the end of the file.
    filled: u32,
}

/// Bytes of the distant input.
#[derive(Default)]
struct Window {
    bytes: Vec<u8>,
    /// Offset of the window in the file.
    at: u64,
    /// Offset behind the bytes that were copied last.
    last_end: u64,
}

impl FileHistory {
    /// `None` where the file cannot be opened once more, or has no positions (a pipe).
    pub(crate) fn open(path: &Path, near_bytes: u32) -> Option<Box<dyn History>> {
        Self::of(path, near_bytes).map(|history| Box::new(history) as Box<dyn History>)
    }

    /// The memory for recent input, of that for copies of delivered bytes: of a file only those of rebuilt datagrams are copied.
    pub(crate) fn near_bytes(copy_bytes: u32) -> u32 {
        NEAR_BYTES_MAX.min(copy_bytes / 2)
    }

    fn of(path: &Path, near_bytes: u32) -> Option<Self> {
        // Looked at before it is opened: opening a pipe whose writer has gone waits for another writer.
        path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let file = File::open(path).ok()?;
        file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        Some(Self { file, near: Pages::new(near_bytes), distant: Window::default(), reads: 0 })
    }

    /// Copies from the pages of the recent input, after reading those that are missing.
    fn read_near(&mut self, mut offset: u64, mut buffer: &mut [u8]) -> bool {
        while !buffer.is_empty() {
            let (page, from) = (offset / PAGE_BYTES as u64, offset as usize % PAGE_BYTES);
            let bytes = buffer.len().min(PAGE_BYTES - from);
            if self.near.slot(page).is_none_or(|slot| (slot.filled as usize) < from + bytes) {
                self.reads += 1;
                self.near.load(&mut self.file, page);
            }
            if self.near.slot(page).is_none_or(|slot| (slot.filled as usize) < from + bytes) {
                return false;
            }
            let at = page as usize % self.near.count * PAGE_BYTES + from;
            let (now, rest) = buffer.split_at_mut(bytes);
            now.copy_from_slice(&self.near.bytes[at..at + bytes]);
            (buffer, offset) = (rest, offset + bytes as u64);
        }
        true
    }

    /// Copies from the window of the distant input. Reads another one where the bytes lie outside: the engine compares the newest
    /// bytes first, so that the window ends with them; one retransmission behind the other continues the window instead.
    fn read_distant(&mut self, offset: u64, buffer: &mut [u8]) -> bool {
        let length = buffer.len() as u64;
        if !self.distant.contains(offset, length) {
            let continues = (self.distant.last_end..self.distant.last_end + PAGE_BYTES as u64).contains(&offset);
            let begin = if continues { offset } else { (offset + length).saturating_sub(HISTORY_WINDOW_BYTES) };
            self.distant.at = begin.min(offset);
            self.distant.bytes.resize(WINDOW_BYTES.max(buffer.len()), 0);
            self.reads += 1;
            let read = read_at(&mut self.file, &mut self.distant.bytes, self.distant.at).unwrap_or(0);
            self.distant.bytes.truncate(read);
            if !self.distant.contains(offset, length) {
                return false;
            }
        }
        self.distant.last_end = offset + length;
        let from = (offset - self.distant.at) as usize;
        buffer.copy_from_slice(&self.distant.bytes[from..from + buffer.len()]);
        true
    }
}

impl History for FileHistory {
    fn read(&mut self, origin: u64, age: HistoryAge, buffer: &mut [u8]) -> bool {
        // Origins count from 1.
        let Some(offset) = origin.checked_sub(1) else { return false };
        match age {
            HistoryAge::Near => self.read_near(offset, buffer),
            HistoryAge::Distant => self.read_distant(offset, buffer),
        }
    }
}

impl Pages {
    fn new(near_bytes: u32) -> Self {
        Self { count: (near_bytes as usize / PAGE_BYTES).max(1), bytes: Vec::new(), slots: Vec::new(), next: 0 }
    }

    fn slot(&self, page: u64) -> Option<Slot> {
        self.slots.get(page as usize % self.count).copied().filter(|slot| slot.page == page)
    }

    /// Reads a page, and those behind it where it follows the last ones.
    fn load(&mut self, file: &mut File, page: u64) {
        if self.slots.is_empty() {
            self.slots.resize(self.count, Slot::default());
            self.bytes = vec![0; self.count * PAGE_BYTES];
        }
        let first = page as usize % self.count;
        let pages = if page == self.next && page != 0 { PAGES_AHEAD.min(self.count - first) } else { 1 };
        let room = &mut self.bytes[first * PAGE_BYTES..(first + pages) * PAGE_BYTES];
        let read = read_at(file, room, page * PAGE_BYTES as u64).unwrap_or(0);
        for (index, slot) in self.slots[first..first + pages].iter_mut().enumerate() {
            let filled = read.saturating_sub(index * PAGE_BYTES).min(PAGE_BYTES) as u32;
            *slot = Slot { page: page + index as u64, filled };
        }
        self.next = page + pages as u64;
    }
}

impl Window {
    fn contains(&self, offset: u64, length: u64) -> bool {
        offset >= self.at && offset + length <= self.at + self.bytes.len() as u64
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

#[cfg(test)]
mod tests {
    use super::*;

    fn content(bytes: usize) -> Vec<u8> {
        (0..bytes as u64).map(|at| ((at * 0x9e37_79b9) >> 16) as u8).collect()
    }

    fn history_of(content: &[u8]) -> (tempfile::NamedTempFile, FileHistory) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        let history = FileHistory::of(file.path(), NEAR_BYTES_MAX).unwrap();
        (file, history)
    }

    /// Bytes are those of the file, whatever is read in which order; what lies behind its end is not there.
    #[test]
    fn bytes_are_those_of_the_file() {
        let content = content((3 << 20) + 77);
        let (file, mut history) = history_of(&content);
        let mut draw = 1_u64;
        for round in 0..20_000 {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (offset, length) = ((draw >> 20) as usize % content.len(), (draw >> 8) as usize % 5000);
            let age = if round % 3 == 0 { HistoryAge::Distant } else { HistoryAge::Near };
            let mut buffer = vec![0; length];
            let is_read = history.read(offset as u64 + 1, age, &mut buffer);
            let right = content.get(offset..offset + length);
            assert_eq!(is_read, right.is_some(), "{offset} {length} {age:?}");
            assert!(right.is_none_or(|right| right == buffer), "{offset} {length} {age:?}");
        }
        // A file that grew is read on.
        let mut longer = content.clone();
        longer.extend_from_slice(b"more");
        std::fs::write(file.path(), &longer).unwrap();
        for age in [HistoryAge::Near, HistoryAge::Distant] {
            let mut buffer = [0; 8];
            assert!(history.read(longer.len() as u64 - 8 + 1, age, &mut buffer));
            assert_eq!(buffer, longer[longer.len() - 8..]);
        }
    }

    /// Walks backward over 128 small pieces, as comparisons of retransmissions over small segments do.
    #[test]
    fn many_small_pieces_cost_few_reads() {
        let content = content(4 << 20);
        for age in [HistoryAge::Near, HistoryAge::Distant] {
            let (_file, mut history) = history_of(&content);
            for comparison in 0..100_u64 {
                for piece in (0..128_u64).rev() {
                    let mut buffer = [0; 1];
                    assert!(history.read((1 << 20) + piece * 75 + comparison, age, &mut buffer));
                }
            }
            assert!(history.reads <= 4, "{age:?}: {} reads", history.reads);
        }
        // Full segments one after the other continue their window.
        let (_file, mut history) = history_of(&content);
        for segment in 0..1000_u64 {
            assert!(history.read(70 + segment * 1530, HistoryAge::Distant, &mut [0; 1460]));
        }
        assert!(history.reads <= 1000 / 8, "{} reads", history.reads);
        // Each near page is read once while the input moves on over all of them.
        let (_file, mut history) = history_of(&content);
        for packet in 128..2_700_u64 {
            for piece in (packet - 128..packet).rev() {
                assert!(history.read(1 + piece * 1530, HistoryAge::Near, &mut [0; 8]));
            }
        }
        assert!(history.reads <= content.len() as u64 / PAGE_BYTES as u64, "{} reads", history.reads);
    }
}
