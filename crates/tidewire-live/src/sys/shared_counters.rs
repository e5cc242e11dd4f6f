//! Counters of several processes in shared memory: a mapped file with a slot for each.
//!
//! `tidewire run` makes the file, and each instance that it starts adds to its own slot without a system call. Words are
//! atomic. Readers do not trust them: texts are truncated and cleaned, and numbers are only shown.
//!
//! Only the user that owns the file can open it. Truncating it while it is mapped ends the processes that count in it
//! (`SIGBUS`), which the same user could do anyway.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::{
        fd::AsFd,
        unix::fs::{MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use super::mmap_array::MmapArray;
use tidewire_wire::legible::is_hidden;

/// Limit of slots: as many processes as a fan-out group has members (`PACKET_FANOUT_MAX`).
pub const SLOTS_MAX: usize = 256;
/// Bytes of an error's text in a slot, at most; what is longer is cut. A libpcap error has 255.
pub const TEXT_BYTES_MAX: usize = 256;

/// The beginning of the file: a name and the version of its layout.
const MAGIC: u64 = u64::from_le_bytes(*b"TWboard2");
/// Words before the slots, a cache line: the magic number, how many slots, and nothing.
const HEADER_WORDS: usize = 8;
/// Words of a slot that are counted, two cache lines.
const COUNT_WORDS: usize = 16;
/// Words of a slot: the counted ones, then its text.
const SLOT_WORDS: usize = COUNT_WORDS + TEXT_BYTES_MAX / 8;

/// Counters of a slot; each is a word of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Packets that reached the capture and passed its filter, dropped ones included (`ps_recv`).
    Received,
    /// Packets dropped because the ring was full (`ps_drop`).
    Dropped,
    /// Packets dropped by the interface or its driver (`ps_ifdrop`).
    InterfaceDropped,
    /// Packets handed to the program.
    Delivered,
    /// Handles that were activated.
    Handles,
    /// The process, by its number.
    Process,
    /// When any of these was written last, nanoseconds since 1970.
    UpdatedNs,
    /// Bytes of the text, 0: none. Written by [`Slot::set_text`].
    TextBytes,
    /// Packets that a steering program dropped (not in `ps_recv` nor in `ps_drop`).
    SteeredOut,
}

/// Shared counters, mapped.
#[derive(Debug)]
pub struct SharedCounters {
    memory: MmapArray,
    slots: usize,
    /// The file, if it is removed on drop.
    owned: Option<PathBuf>,
}

/// One process's slot.
#[derive(Clone, Copy, Debug)]
pub struct Slot<'a> {
    words: &'a [AtomicU64],
}

impl SharedCounters {
    /// Creates a file with so many zeroed slots, which only this user can open. The file is removed on drop.
    ///
    /// # Errors
    /// The file exists, or cannot be created; `InvalidInput` for no slots, or more than [`SLOTS_MAX`].
    pub fn create(path: &Path, slots: usize) -> io::Result<Self> {
        if !(1..=SLOTS_MAX).contains(&slots) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(path)?;
        let made = Self::fill(&file, slots);
        if made.is_err() {
            let _ = fs::remove_file(path);
        }
        let mut board = made?;
        board.owned = Some(path.to_owned());
        Ok(board)
    }

    fn fill(file: &File, slots: usize) -> io::Result<Self> {
        let bytes = file_bytes(slots);
        file.set_len(bytes as u64)?;
        let memory = MmapArray::new(file.as_fd(), bytes)?;
        memory.store(8, slots as u64);
        // Last: a reader that sees it finds the rest.
        memory.store(0, MAGIC);
        Ok(Self { memory, slots, owned: None })
    }

    /// Opens a file that [`SharedCounters::create`] made.
    ///
    /// # Errors
    /// What the system says; `InvalidData` if it is no such file, is too short, or belongs to another user.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
        let (metadata, own) = (file.metadata()?, rustix::process::geteuid().as_raw());
        let wrong = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidData, what.to_owned()));
        if !metadata.is_file() {
            return wrong("not a regular file");
        }
        if metadata.uid() != own && metadata.uid() != 0 && own != 0 {
            return wrong("it belongs to another user");
        }
        if metadata.len() < file_bytes(1) as u64 {
            return wrong("too short");
        }
        let header = MmapArray::new(file.as_fd(), HEADER_WORDS * 8)?;
        let slots = usize::try_from(header.load(8)).unwrap_or(usize::MAX);
        if header.load(0) != MAGIC || !(1..=SLOTS_MAX).contains(&slots) {
            return wrong("not a board of this version");
        }
        let bytes = file_bytes(slots);
        if metadata.len() < bytes as u64 {
            return wrong("too short");
        }
        Ok(Self { memory: MmapArray::new(file.as_fd(), bytes)?, slots, owned: None })
    }

    /// How many slots it has.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// A slot, counted from 0.
    #[must_use]
    pub fn slot(&self, index: usize) -> Option<Slot<'_>> {
        let from = HEADER_WORDS + index.checked_mul(SLOT_WORDS)?;
        let words = self.memory.words().get(from..from.checked_add(SLOT_WORDS)?)?;
        (index < self.slots).then_some(Slot { words })
    }
}

impl Drop for SharedCounters {
    fn drop(&mut self) {
        if let Some(path) = &self.owned {
            // The file may have been removed already.
            let _ = fs::remove_file(path);
        }
    }
}

impl Slot<'_> {
    /// Reads a counter.
    #[must_use]
    pub fn load(&self, count: Count) -> u64 {
        self.words.get(count as usize).map_or(0, |word| word.load(Ordering::Acquire))
    }

    /// Writes it.
    pub fn store(&self, count: Count, value: u64) {
        if let Some(word) = self.words.get(count as usize) {
            word.store(value, Ordering::Release);
        }
    }

    /// Adds to it; processes that forked share a slot.
    pub fn add(&self, count: Count, more: u64) {
        if let Some(word) = self.words.get(count as usize) {
            word.fetch_add(more, Ordering::AcqRel);
        }
    }

    /// Stores a text, such as the last error, truncated to its limit.
    pub fn set_text(&self, text: &str) {
        let mut bytes = text.len().min(TEXT_BYTES_MAX);
        while !text.is_char_boundary(bytes) {
            bytes -= 1;
        }
        // The length is 0 while the text is written: no reader sees half of it.
        self.store(Count::TextBytes, 0);
        let places = self.words.get(COUNT_WORDS..).unwrap_or_default();
        for (word, piece) in places.iter().zip(text.as_bytes().get(..bytes).unwrap_or_default().chunks(8)) {
            let mut value = [0; 8];
            value.iter_mut().zip(piece).for_each(|(to, from)| *to = *from);
            word.store(u64::from_le_bytes(value), Ordering::Release);
        }
        self.store(Count::TextBytes, bytes as u64);
    }

    /// The stored text, without control characters.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let bytes = usize::try_from(self.load(Count::TextBytes)).unwrap_or(0).min(TEXT_BYTES_MAX);
        let places = self.words.get(COUNT_WORDS..).unwrap_or_default().iter();
        let all: Vec<u8> = places.flat_map(|word| word.load(Ordering::Acquire).to_le_bytes()).collect();
        let text = String::from_utf8_lossy(all.get(..bytes).unwrap_or_default());
        let clean: String = text.chars().map(|c| if is_hidden(c) { '?' } else { c }).collect();
        Some(clean).filter(|text| !text.is_empty())
    }
}

fn file_bytes(slots: usize) -> usize {
    (HEADER_WORDS + slots * SLOT_WORDS) * 8
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn two_processes_see_the_same() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("board");
        let made = SharedCounters::create(&path, 3).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let other = SharedCounters::open(&path).unwrap();
        assert_eq!((other.slots(), other.slot(3).is_none()), (3, true));
        for slot in 0..3 {
            other.slot(slot).unwrap().add(Count::Received, 5 + slot as u64);
            other.slot(slot).unwrap().set_text(&"é".repeat(slot * 100));
        }
        let mine = made.slot(2).unwrap();
        assert_eq!((mine.load(Count::Received), mine.load(Count::Dropped)), (7, 0));
        assert_eq!(made.slot(0).unwrap().text(), None);
        assert_eq!(mine.text().unwrap(), "é".repeat(TEXT_BYTES_MAX / 2));
        assert_eq!(SharedCounters::create(&path, 3).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        drop(other);
        assert!(path.exists());
        drop(made);
        assert!(!path.exists());
        assert_eq!(SharedCounters::open(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn invalid_files_are_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("board");
        assert!(SharedCounters::create(&path, 0).is_err() && SharedCounters::create(&path, SLOTS_MAX + 1).is_err());
        let good = {
            let _board = SharedCounters::create(&path, 2).unwrap();
            fs::read(&path).unwrap()
        };
        let slots = |count: u64| [&good[..8], &count.to_le_bytes(), &good[16..]].concat();
        for bytes in [
            Vec::new(),
            good[..good.len() - 1].to_vec(),
            good[..file_bytes(1)].to_vec(),
            vec![0; good.len()],
            slots(0),
            slots(3),
            slots(u64::MAX),
        ] {
            fs::write(&path, &bytes).unwrap();
            assert_eq!(
                SharedCounters::open(&path).unwrap_err().kind(),
                io::ErrorKind::InvalidData,
                "{} bytes",
                bytes.len()
            );
        }
        fs::write(&path, &good).unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(SharedCounters::open(&path).is_ok() && SharedCounters::open(&link).is_err());
        assert!(SharedCounters::open(place.path()).is_err() && SharedCounters::open(Path::new("/dev/null")).is_err());
    }

    #[test]
    fn hostile_words_are_only_shown() {
        let place = tempfile::tempdir().unwrap();
        let board = SharedCounters::create(&place.path().join("board"), 1).unwrap();
        let slot = board.slot(0).unwrap();
        slot.set_text("a\u{1b}[2Jb");
        assert_eq!(slot.text().unwrap(), "a?[2Jb");
        slot.store(Count::TextBytes, u64::MAX);
        slot.words[COUNT_WORDS].store(u64::MAX, Ordering::Release);
        assert!(slot.text().unwrap().starts_with('\u{fffd}'));
    }
}
