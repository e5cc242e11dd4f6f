//! Writes many files with few of them open: bytes are collected in memory and written in large pieces.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Write},
    os::unix::fs::MetadataExt as _,
    sync::Arc,
};

use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::place::folder::{Folder, Identity, identity, replaced};

/// Bytes that are collected for one file before they are written.
const PIECE_BYTES: usize = 64 << 10;

/// Bytes from which on a piece is written directly.
const DIRECT_BYTES: usize = 16 << 10;

/// Most bytes that wait in memory for all files of a worker. Beyond it, the file that has waited longest is written: most often
/// it is complete. No more than a shared cache holds, so that the data is still cached when it is written.
const WAITING_BYTES_MAX: usize = 8 << 20;

/// Buffers of a whole piece, reused. If more files wait, theirs grow as needed.
const BUFFERS_MAX: usize = 256;

/// The end of a list.
const NONE: u32 = u32::MAX;

/// A file that is being written.
struct Entry {
    name: String,
    /// Bytes to be written.
    waiting: Vec<u8>,
    file: Option<File>,
    /// Identity and owner of the file under its hidden name, once it exists. While it is closed, another file may get its number, but not its owner.
    exists: Option<(Identity, u32)>,
    bytes: u64,
    /// Whether bytes were lost: the file can never be complete.
    spoiled: bool,
    hash: Option<Sha256>,
    /// Position in [`Files::queue`] while bytes wait; else 0.
    turn: u64,
    /// Neighbours in the list of open files: more recently used, and less recently used.
    newer: u32,
    older: u32,
}

/// A complete file.
pub struct Written {
    pub name: String,
    /// Whether it has a hidden name, because a file of an earlier run has the other one.
    pub is_hidden: bool,
    pub bytes: u64,
    pub sha256: Option<[u8; 32]>,
}

/// The files of one worker.
pub struct Files {
    folder: Arc<Folder>,
    /// Whether each file has a hidden name until it is complete; not if the directory has one.
    hides: bool,
    digests: bool,
    open_max: usize,
    entries: Vec<Entry>,
    free: Vec<u32>,
    spare: Vec<Vec<u8>>,
    buffers: usize,
    waiting_bytes: usize,
    /// Files in the order in which their bytes began to wait, with a number that shows whether they still wait.
    queue: VecDeque<(u32, u64)>,
    turns: u64,
    open: usize,
    /// The most recently used open file, and the least recently used one.
    newest: u32,
    oldest: u32,
}

impl Files {
    /// Creates files in `folder`, at most `open_max` of them open; each with a hidden name until it is complete, if `hides`.
    pub fn new(folder: Arc<Folder>, hides: bool, digests: bool, open_max: usize) -> Self {
        Self {
            folder,
            hides,
            digests,
            open_max: open_max.max(1),
            entries: Vec::new(),
            free: Vec::new(),
            spare: Vec::new(),
            buffers: 0,
            waiting_bytes: 0,
            queue: VecDeque::new(),
            turns: 0,
            open: 0,
            newest: NONE,
            oldest: NONE,
        }
    }

    /// Begins a file; nothing is created yet. The number identifies it until it is finished.
    pub fn begin(&mut self, name: String) -> u32 {
        let entry = Entry {
            name,
            waiting: Vec::new(),
            file: None,
            exists: None,
            bytes: 0,
            spoiled: false,
            hash: self.digests.then(Sha256::new),
            turn: 0,
            newer: NONE,
            older: NONE,
        };
        if let Some(index) = self.free.pop() {
            self.entries[index as usize] = entry;
            return index;
        }
        self.entries.push(entry);
        (self.entries.len() - 1) as u32
    }

    /// Appends bytes.
    pub fn append(&mut self, index: u32, bytes: &[u8]) -> io::Result<()> {
        let entry = &mut self.entries[index as usize];
        entry.bytes += bytes.len() as u64;
        if let Some(hash) = &mut entry.hash {
            hash.update(bytes);
        }
        if entry.waiting.is_empty() && bytes.len() >= DIRECT_BYTES {
            return self.write(index, bytes);
        }
        if entry.turn == 0 {
            self.turns += 1;
            entry.turn = self.turns;
            entry.waiting = match self.spare.pop() {
                Some(buffer) => buffer,
                None if self.buffers < BUFFERS_MAX => {
                    self.buffers += 1;
                    Vec::with_capacity(PIECE_BYTES + DIRECT_BYTES)
                }
                None => Vec::new(),
            };
            self.queue.push_back((index, self.turns));
        }
        entry.waiting.extend_from_slice(bytes);
        self.waiting_bytes += bytes.len();
        if entry.waiting.len() >= PIECE_BYTES {
            self.flush(index)?;
        }
        while self.waiting_bytes > WAITING_BYTES_MAX
            && let Some((index, turn)) = self.queue.pop_front()
        {
            if self.entries[index as usize].turn == turn {
                self.flush(index)?;
            }
        }
        Ok(())
    }

    /// Appends the same byte `count` times.
    pub fn append_repeated(&mut self, index: u32, byte: u8, count: u64) -> io::Result<()> {
        let block = [byte; 4096];
        let mut left = count;
        while left > 0 {
            let now = left.min(block.len() as u64);
            self.append(index, &block[..now as usize])?;
            left -= now;
        }
        Ok(())
    }

    /// Marks a file as incomplete: it is never shown.
    pub fn spoil(&mut self, index: u32) {
        self.entries[index as usize].spoiled = true;
    }

    /// Writes the remaining bytes, closes the file and renames it to its final name; on failure it is removed. One that lacks something (`is_whole`
    /// is false) replaces none: it stays hidden then.
    pub fn finish(&mut self, index: u32, is_whole: bool) -> io::Result<Written> {
        if self.entries[index as usize].spoiled {
            self.abandon(index);
            return Err(io::Error::other("bytes were lost before"));
        }
        let written = self.flush(index);
        self.close(index);
        let entry = &mut self.entries[index as usize];
        let (name, bytes, exists) = (std::mem::take(&mut entry.name), entry.bytes, entry.exists);
        let sha256 = entry.hash.take().map(|hash| hash.finalize().into());
        self.free.push(index);
        let draft = self.draft(&name);
        let shown = written.and_then(|()| self.show(&draft, exists, bytes, &name, is_whole));
        // An incomplete file is removed: the index needs the space.
        let is_shown = shown.inspect_err(|_| self.remove(&draft, exists))?;
        Ok(Written { name: if is_shown { name } else { draft }, is_hidden: !is_shown, bytes, sha256 })
    }

    /// Gives a file of this run its name, if it is hidden and has all bytes that were written.
    fn show(
        &self,
        draft: &str,
        exists: Option<(Identity, u32)>,
        bytes: u64,
        name: &str,
        is_whole: bool,
    ) -> io::Result<bool> {
        if let Some((identity, owner)) = exists {
            self.folder.check_whole(draft, identity, owner, bytes)?;
        }
        if !self.hides {
            return Ok(true);
        }
        if is_whole {
            self.folder.check_replaceable(name.as_ref())?;
        }
        self.folder.show(draft, name, is_whole)
    }

    /// Removes a file of this run: what another process put into its place stays.
    fn remove(&self, draft: &str, exists: Option<(Identity, u32)>) {
        if exists.is_some_and(|(identity, _)| self.folder.check(draft, identity).is_ok()) {
            let _ = self.folder.remove(draft);
        }
    }

    /// Abandons a file and removes it.
    pub fn abandon(&mut self, index: u32) {
        self.close(index);
        let entry = &mut self.entries[index as usize];
        self.waiting_bytes -= std::mem::take(&mut entry.waiting).len();
        entry.turn = 0;
        let (name, exists) = (std::mem::take(&mut entry.name), entry.exists);
        self.remove(&self.draft(&name), exists);
        self.free.push(index);
    }

    /// Writes the waiting bytes; creates the file in any case.
    fn flush(&mut self, index: u32) -> io::Result<()> {
        let entry = &mut self.entries[index as usize];
        entry.turn = 0;
        let mut waiting = std::mem::take(&mut entry.waiting);
        self.waiting_bytes -= waiting.len();
        let written = if waiting.is_empty() && entry.exists.is_some() { Ok(()) } else { self.write(index, &waiting) };
        if waiting.capacity() >= PIECE_BYTES + DIRECT_BYTES {
            waiting.clear();
            self.spare.push(waiting);
        }
        // Outdated entries stay in the queue; they must not outnumber the waiting files by much.
        if self.queue.len() > 64 + 2 * self.entries.len() {
            let entries = &self.entries;
            self.queue.retain(|&(index, turn)| entries[index as usize].turn == turn);
        }
        written
    }

    fn write(&mut self, index: u32, bytes: &[u8]) -> io::Result<()> {
        if self.entries[index as usize].file.is_none() {
            self.open(index).inspect_err(|_| self.spoil(index))?;
        } else {
            self.unlink(index);
            self.link(index);
        }
        let entry = &mut self.entries[index as usize];
        let written = entry.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes));
        entry.spoiled |= written.is_err();
        written
    }

    /// Opens a file, after closing the least recently used one if too many are open.
    fn open(&mut self, index: u32) -> io::Result<()> {
        while self.open >= self.open_max && self.oldest != NONE {
            self.close(self.oldest);
        }
        let draft = self.draft(&self.entries[index as usize].name);
        let entry = &mut self.entries[index as usize];
        let file = match entry.exists {
            Some((identity, owner)) => {
                let file = self.folder.reopen(&draft, identity).map_err(with_hint)?;
                if file.metadata()?.uid() != owner {
                    return Err(replaced());
                }
                file
            }
            None => {
                let file = self.folder.create(&draft).map_err(with_hint)?;
                entry.exists = Some((identity(&file)?, file.metadata()?.uid()));
                file
            }
        };
        entry.file = Some(file);
        self.open += 1;
        self.link(index);
        Ok(())
    }

    /// The hidden name of an incomplete file.
    fn draft(&self, name: &str) -> String {
        if self.hides { self.folder.hidden(name) } else { name.to_owned() }
    }

    fn close(&mut self, index: u32) {
        if self.entries[index as usize].file.take().is_some() {
            self.open -= 1;
            self.unlink(index);
        }
    }

    /// Inserts an open file at the head of the list.
    fn link(&mut self, index: u32) {
        let second = std::mem::replace(&mut self.newest, index);
        let entry = &mut self.entries[index as usize];
        (entry.newer, entry.older) = (NONE, second);
        match second {
            NONE => self.oldest = index,
            second => self.entries[second as usize].newer = index,
        }
    }

    /// Removes an open file from the list.
    fn unlink(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        let (newer, older) = (entry.newer, entry.older);
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
    }
}

/// Adds a hint to an error: each worker has at least one file open, which may be too many.
pub fn with_hint(error: io::Error) -> io::Error {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE) => io::Error::other(format!("{error}; allow more (ulimit -n), or take fewer workers (-j)")),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder(place: &tempfile::TempDir) -> Arc<Folder> {
        Arc::new(Folder::open(place.path()).unwrap())
    }

    /// More files than may be open, written alternately, in pieces of every size around the limits.
    #[test]
    fn few_files_are_open_and_all_are_whole() {
        let directory = tempfile::tempdir().unwrap();
        let mut files = Files::new(folder(&directory), true, true, 2);
        let numbers: Vec<u32> = (0..5).map(|index| files.begin(format!("file{index}"))).collect();
        let mut expected = vec![Vec::new(); 5];
        for round in 0..40_usize {
            for (file, &number) in numbers.iter().enumerate() {
                let piece =
                    vec![(round * 7 + file) as u8; [1, 5000, DIRECT_BYTES, PIECE_BYTES - 1][(round + file) % 4]];
                files.append(number, &piece).unwrap();
                expected[file].extend_from_slice(&piece);
                assert!(files.open <= 2);
            }
        }
        files.append_repeated(numbers[0], b'?', 10_000).unwrap();
        expected[0].extend_from_slice(&[b'?'; 10_000]);
        for (file, number) in numbers.into_iter().enumerate() {
            assert!(!directory.path().join(format!("file{file}")).exists());
            let written = files.finish(number, true).unwrap();
            let bytes = fs::read(directory.path().join(&written.name)).unwrap();
            assert_eq!(bytes, expected[file]);
            assert_eq!(written.bytes, bytes.len() as u64);
            assert_eq!(written.sha256, Some(Sha256::digest(&bytes).into()));
        }
        assert_eq!((files.open, files.waiting_bytes), (0, 0));
        assert_eq!((files.newest, files.oldest), (NONE, NONE));
        let left: Vec<_> = fs::read_dir(directory.path()).unwrap().collect();
        assert_eq!(left.len(), 5);
    }

    /// An incomplete file is never shown, whatever can be written later.
    #[test]
    fn a_file_that_lost_bytes_is_not_shown() {
        let directory = tempfile::tempdir().unwrap();
        let mut files = Files::new(folder(&directory), true, false, 2);
        let (lost, whole) = (files.begin("place/lost".into()), files.begin("whole".into()));
        assert!(files.append(lost, &[0; PIECE_BYTES]).is_err());
        let places = ["place", ".place"].map(|name| directory.path().join(name));
        places.iter().for_each(|place| fs::create_dir(place).unwrap());
        files.append(lost, b"more").unwrap();
        files.append(whole, b"all of it").unwrap();
        assert!(files.finish(lost, true).is_err());
        assert_eq!(files.finish(whole, true).unwrap().bytes, 9);
        places.iter().for_each(|place| fs::remove_dir(place).expect("nothing is in it"));
        let left: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["whole"]);
        assert_eq!((files.open, files.waiting_bytes), (0, 0));
    }

    /// Another process that may write to the directory puts something into the place of a file, or of its name.
    #[test]
    fn what_another_process_put_there_is_neither_shown_nor_removed() {
        use std::os::unix::fs::symlink;
        let directory = tempfile::tempdir().unwrap();
        let victim = directory.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        let mut files = Files::new(folder(&directory), true, false, 1);
        let draft = |files: &Files, name: &str| directory.path().join(files.draft(name));
        let piece = [7; DIRECT_BYTES];
        let [exchanged, cut, taken] = ["exchanged", "cut", "taken"].map(|name| {
            let index = files.begin(name.into());
            files.append(index, &piece).unwrap();
            index
        });
        let place = draft(&files, "exchanged");
        fs::remove_file(&place).unwrap();
        symlink(&victim, &place).unwrap();
        fs::File::options().write(true).open(draft(&files, "cut")).unwrap().set_len(1).unwrap();
        fs::create_dir(directory.path().join("taken")).unwrap();
        let failures =
            [exchanged, cut, taken].map(|index| files.finish(index, true).map(drop).unwrap_err().to_string());
        let expected = ["was replaced", "has 1 bytes, and 16384 were written", "is a directory, not a file"];
        for (failure, expected) in failures.iter().zip(expected) {
            assert!(failure.contains(expected), "{failure}");
        }
        assert!(place.is_symlink() && directory.path().join("taken").is_dir());
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    }
}
