//! Files that are written past the page cache where the file system allows it: packets that no program reads soon need no second copy in
//! memory, and no storm of writing back.

use std::{
    fs::{File, Metadata},
    io::{self, IoSlice},
    os::{
        fd::OwnedFd,
        unix::fs::{FileExt as _, MetadataExt as _},
    },
};

use rustix::{
    fs::{AtFlags, FallocateFlags, Mode, OFlags, StatxFlags, fallocate, openat, statx},
    io::{Errno, pwritev},
};

use crate::StorageFile;

/// Offsets and lengths of direct writes are multiples of this.
const PAGE: usize = 4096;
/// Space is allocated ahead of what is written, as much again as there is, within these bounds.
const AHEAD_BYTES_MIN: u64 = 1 << 20;
const AHEAD_BYTES_MAX: u64 = 64 << 20;

/// Bytes before the first of a buffer at `address` so that what follows lies in memory as it lies in a file from `offset` on: it is
/// written from where it is.
#[must_use]
pub fn alignment_gap(address: usize, offset: u64) -> usize {
    (offset as usize % PAGE + PAGE - address % PAGE) % PAGE
}

/// A file of a [`Folder`](crate::Folder).
#[derive(Debug)]
pub struct FolderFile {
    file: File,
    direct: Option<Direct>,
}

/// How a file is written directly.
#[derive(Debug)]
struct Direct {
    file: File,
    /// Required alignment of addresses of memory.
    memory_alignment: usize,
    /// Holds a page at an aligned address.
    pages: Vec<u8>,
    /// Bytes of the file's last page, which is not whole: they are held here until it is, or until they are to be durable.
    held: usize,
    /// Where that page begins.
    held_at: u64,
    /// Allocated from the beginning of the file on.
    allocated: u64,
}

impl FolderFile {
    /// A file that was just created.
    pub(crate) fn new(file: File, directory: &OwnedFd, name: &str) -> Self {
        let direct = Direct::of(&file, directory, name);
        Self { file, direct }
    }

    /// A file that is written through the page cache.
    pub(crate) fn plain(file: File) -> Self {
        Self { file, direct: None }
    }

    /// The file, with all that was written.
    pub(crate) fn written(&mut self) -> io::Result<&File> {
        self.write_held()?;
        Ok(&self.file)
    }

    /// Metadata of the file.
    pub(crate) fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    /// Writes what is held of the last page, through the page cache.
    fn write_held(&mut self) -> io::Result<()> {
        if let Some(direct) = &mut self.direct
            && direct.held > 0
        {
            let range = direct.page();
            let held = direct.pages.get(range).and_then(|page| page.get(..direct.held)).unwrap_or_default();
            self.file.write_all_at(held, direct.held_at)?;
        }
        Ok(())
    }
}

impl Direct {
    /// `None`: the file system has no direct writes, or does not say what they need (before Linux 6.1).
    fn of(file: &File, directory: &OwnedFd, name: &str) -> Option<Self> {
        let known = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).ok()?;
        let (memory, offset) = (known.stx_dio_mem_align as usize, known.stx_dio_offset_align as usize);
        let is_known = known.stx_mask & StatxFlags::DIOALIGN.bits() != 0;
        if !is_known || memory == 0 || offset == 0 || !PAGE.is_multiple_of(memory) || !PAGE.is_multiple_of(offset) {
            return None;
        }
        // The same file once more: the flag belongs to what was opened, and is not to hold for what is read.
        let flags = OFlags::WRONLY | OFlags::DIRECT | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let again = File::from(openat(directory, name, flags, Mode::empty()).ok()?);
        let identity = |file: &File| file.metadata().map(|found| (found.dev(), found.ino())).ok();
        if identity(&again) != identity(file) {
            return None;
        }
        Some(Self {
            file: again,
            memory_alignment: memory,
            pages: vec![0; 2 * PAGE],
            held: 0,
            held_at: 0,
            allocated: 0,
        })
    }

    /// Where the page lies in `pages`.
    fn page(&self) -> std::ops::Range<usize> {
        let at = alignment_gap(self.pages.as_ptr() as usize, 0);
        at..at + PAGE
    }

    /// Allocates ahead. Where that fails, writing says why.
    fn allocate(&mut self, end: u64) {
        if end <= self.allocated {
            return;
        }
        let ahead = end.clamp(AHEAD_BYTES_MIN, AHEAD_BYTES_MAX);
        // The file's length stays what was written: no reader sees zeros, whatever happens.
        let done = fallocate(&self.file, FallocateFlags::KEEP_SIZE, self.allocated, end + ahead - self.allocated);
        self.allocated = if done.is_ok() { end + ahead } else { u64::MAX };
    }

    /// Writes `bytes`, which follow what is held, but for the last page if it is not whole: that is held. `None`: they lie where they
    /// cannot be written from.
    fn write(&mut self, bytes: &[u8]) -> Option<io::Result<()>> {
        let (held, page) = (self.held, self.page());
        let head = if held == 0 { 0 } else { (PAGE - held).min(bytes.len()) };
        let (head, rest) = bytes.split_at_checked(head)?;
        let (middle, tail) = rest.split_at_checked(rest.len() / PAGE * PAGE)?;
        if !middle.is_empty() && !(middle.as_ptr() as usize).is_multiple_of(self.memory_alignment) {
            return None;
        }
        self.pages.get_mut(page.clone())?.get_mut(held..held + head.len())?.copy_from_slice(head);
        if held + head.len() < PAGE && held > 0 {
            self.held += head.len();
            return Some(Ok(()));
        }
        let first: &[u8] = if held > 0 { self.pages.get(page.clone())? } else { &[] };
        let end = self.held_at + (first.len() + middle.len()) as u64;
        if end > self.held_at {
            let written = write_all(&self.file, first, middle, self.held_at);
            if written.is_err() {
                return Some(written);
            }
        }
        self.held_at = end;
        self.pages.get_mut(page)?.get_mut(..tail.len())?.copy_from_slice(tail);
        self.held = tail.len();
        Some(Ok(()))
    }
}

/// Writes two pieces one behind the other.
fn write_all(file: &File, first: &[u8], second: &[u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < first.len() + second.len() {
        let rest =
            [first.get(done..).unwrap_or_default(), second.get(done.saturating_sub(first.len())..).unwrap_or_default()];
        match pwritev(file, &rest.map(IoSlice::new), offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(bytes) => done += bytes,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

impl StorageFile for FolderFile {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let Some(direct) = &mut self.direct else { return self.file.write_all_at(bytes, offset) };
        if offset == direct.held_at + direct.held as u64 {
            direct.allocate(offset + bytes.len() as u64);
            match direct.write(bytes) {
                // Some file systems refuse what they say they allow.
                Some(Err(error)) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {}
                Some(written) => return written,
                None => {}
            }
        }
        self.write_held()?;
        self.direct = None;
        self.file.write_all_at(bytes, offset)
    }

    fn read_at(&mut self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let file = self.written()?;
        let mut read = 0;
        while let Some(rest) = bytes.get_mut(read..).filter(|rest| !rest.is_empty()) {
            match file.read_at(rest, offset + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.write_held()?;
        self.file.sync_data()
    }

    fn duplicate(&mut self) -> io::Result<Self> {
        self.write_held()?;
        Ok(Self { file: self.file.try_clone()?, direct: None })
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.write_held()?;
        // Direct writes end here: the next one would have to begin in the middle of a page.
        self.direct = None;
        self.file.set_len(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::{env, fs, path::PathBuf};

    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::{Folder, Storage as _};

    /// A folder of a disk, if there is one: memory has no direct writes.
    fn folder(name: &str) -> PathBuf {
        let near = env::current_exe().ok().and_then(|path| path.parent().map(PathBuf::from));
        let path = near.unwrap_or_else(env::temp_dir).join(format!("direct-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder");
        path
    }

    /// An operation on a file.
    #[derive(Clone, Debug)]
    enum Step {
        /// So many bytes, from where they can be written directly, or not.
        Write(usize, bool),
        Sync,
        Duplicate,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let write = |bytes: std::ops::Range<usize>| {
            (bytes, any::<bool>()).prop_map(|(bytes, is_short)| Step::Write(bytes, is_short && bytes % 3 == 0))
        };
        let step = prop_oneof![
            6 => write(0..3 * PAGE),
            2 => write(0..40 * PAGE),
            1 => (0..5_usize).prop_map(|pages| Step::Write(pages * PAGE, false)),
            1 => Just(Step::Sync),
            1 => Just(Step::Duplicate),
        ];
        vec(step, 1..24)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_file_holds_what_was_written(steps in steps()) {
            let path = folder("holds");
            let mut file = Folder::open(&path).expect("a folder").create("segment").expect("a file");
            let mut model: Vec<u8> = Vec::new();
            for step in steps {
                match step {
                    Step::Write(bytes, is_odd) => {
                        let mut buffer = Vec::with_capacity(bytes + 2 * PAGE);
                        let gap = alignment_gap(buffer.as_ptr() as usize, model.len() as u64) + usize::from(is_odd);
                        buffer.resize(gap, 0);
                        buffer.extend((0..bytes).map(|at| (model.len() + at) as u8 ^ ((model.len() + at) >> 8) as u8));
                        let content = buffer.get(gap..).unwrap_or_default();
                        file.write_at(content, model.len() as u64).expect("written");
                        model.extend_from_slice(content);
                    }
                    Step::Sync => {
                        file.sync().expect("synced");
                        assert!(fs::read(path.join("segment")).expect("read") == model, "after a sync all is there");
                    }
                    Step::Duplicate => {
                        file.duplicate().expect("another handle").sync().expect("synced");
                        assert!(fs::read(path.join("segment")).expect("read") == model, "after a flush all is there");
                    }
                }
            }
            file.truncate(model.len() as u64).expect("cut");
            file.sync().expect("synced");
            assert!(fs::read(path.join("segment")).expect("read") == model);
            fs::remove_dir_all(&path).expect("removed");
        }
    }

    #[test]
    fn whole_pages_go_past_the_page_cache_and_nothing_stays_allocated() {
        let path = folder("past");
        let mut file = Folder::open(&path).expect("a folder").create("segment").expect("a file");
        if file.direct.is_none() {
            eprintln!("skipped: the file system of {} has no direct writes", path.display());
            return;
        }
        let mut buffer = vec![1; (1 << 20) + PAGE];
        let gap = alignment_gap(buffer.as_ptr() as usize, 0);
        buffer.truncate(gap + (1 << 20) - 100);
        let content = buffer.get(gap..).unwrap_or_default();
        file.write_at(content, 0).expect("written");
        let direct = file.direct.as_ref().expect("still direct");
        assert_eq!((direct.held, direct.held_at), (PAGE - 100, (1 << 20) - PAGE as u64));
        let metadata = || fs::metadata(path.join("segment")).expect("there");
        assert_eq!(metadata().len(), (1 << 20) - PAGE as u64);
        assert!(metadata().blocks() * 512 > 1 << 20, "space was allocated ahead");
        file.truncate(content.len() as u64).expect("cut");
        file.sync().expect("synced");
        assert_eq!(metadata().len(), content.len() as u64);
        assert!(metadata().blocks() * 512 <= (1 << 20) + PAGE as u64, "{} blocks", metadata().blocks());
        fs::remove_dir_all(&path).expect("removed");
    }
}
