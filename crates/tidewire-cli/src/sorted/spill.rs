//! A temporary file of sorted runs.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rustix::fs::OFlags;

use crate::{
    error::{CliError, notify},
    place::folder::Folder,
};

/// The place of a record in the order, as numbers that are compared one after the other; the last is its id.
pub type Key = [u64; 5];

/// Bytes of a key in the file, and of the length that follows it.
const KEY_BYTES: usize = size_of::<Key>();
const HEAD_BYTES: usize = KEY_BYTES + size_of::<u32>();

/// Bytes that are collected before they are written.
const WRITTEN_BYTES: usize = 256 << 10;

/// Bytes of a run that are read at once: of a few runs many, of thousands together no more than 16 MiB, but a page of each.
const READ_BYTES_ALL: usize = 16 << 20;
const READ_BYTES: std::ops::RangeInclusive<usize> = (4 << 10)..=(64 << 10);

/// The file, which all workers share. It has no name, so that nothing is left of it.
pub struct Spill(Mutex<State>);

#[derive(Default)]
struct State {
    file: Option<Arc<File>>,
    end: u64,
    has_failed: bool,
}

/// Rows of a file in order.
pub struct Run {
    file: Arc<File>,
    at: u64,
    end: u64,
}

/// Adds rows to a run.
pub struct Writer<'a> {
    file: &'a File,
    at: u64,
    gathered: Vec<u8>,
}

impl Spill {
    /// A file that is made when it is needed, or now with `is_now`: a capture from interfaces cannot open files once it runs.
    pub fn new(is_now: bool) -> Self {
        let mut state = State::default();
        if is_now {
            // An error is reported when the file is needed.
            state.file = open().ok().map(Arc::new);
        }
        Self(Mutex::new(state))
    }

    /// Writes a run. `None`: it cannot be written, which is said once; the rows stay in memory.
    pub fn write(&self, rows: impl FnOnce(&mut Writer<'_>) -> io::Result<()>) -> Option<Run> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.has_failed {
            return None;
        }
        match state.write(rows) {
            Ok(run) => Some(run),
            Err(error) => {
                state.has_failed = true;
                notify(format_args!(
                    "records are kept in memory, beyond --memory: a temporary file in {} cannot be written: {error} (TMPDIR names \
                     another directory)",
                    directory().display()
                ));
                None
            }
        }
    }
}

impl State {
    fn write(&mut self, rows: impl FnOnce(&mut Writer<'_>) -> io::Result<()>) -> io::Result<Run> {
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => Arc::clone(self.file.insert(Arc::new(open()?))),
        };
        let mut writer = Writer { file: &file, at: self.end, gathered: Vec::with_capacity(WRITTEN_BYTES + (8 << 10)) };
        rows(&mut writer)?;
        writer.settle()?;
        let (at, end) = (self.end, writer.at);
        self.end = end;
        Ok(Run { file, at, end })
    }
}

impl Writer<'_> {
    /// Adds a row.
    ///
    /// # Errors
    /// The system's error; a row of 4 GiB.
    pub fn push(&mut self, key: &Key, row: &[u8]) -> io::Result<()> {
        let length = u32::try_from(row.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        key.iter().for_each(|part| self.gathered.extend_from_slice(&part.to_ne_bytes()));
        self.gathered.extend_from_slice(&length.to_ne_bytes());
        self.gathered.extend_from_slice(row);
        if self.gathered.len() >= WRITTEN_BYTES { self.settle() } else { Ok(()) }
    }

    fn settle(&mut self) -> io::Result<()> {
        self.file.write_all_at(&self.gathered, self.at)?;
        self.at += self.gathered.len() as u64;
        self.gathered.clear();
        Ok(())
    }
}

/// Reads a run from its beginning.
pub struct Reader<'a> {
    run: &'a Run,
    at: u64,
    buffer: Vec<u8>,
    place: usize,
    /// Bytes that are read at once.
    step: usize,
}

impl<'a> Reader<'a> {
    /// A reader of one of `count` runs that are read together.
    pub fn new(run: &'a Run, count: usize) -> Self {
        let step = (READ_BYTES_ALL / count.max(1)).clamp(*READ_BYTES.start(), *READ_BYTES.end());
        Self { run, at: run.at, buffer: Vec::new(), place: 0, step }
    }

    /// The key of the next row; `None`: there is none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn key(&mut self) -> Result<Option<Key>, CliError> {
        if self.at == self.run.end && self.place == self.buffer.len() {
            return Ok(None);
        }
        self.fill(HEAD_BYTES)?;
        let mut key = Key::default();
        for (part, bytes) in key.iter_mut().zip(self.buffer[self.place..].chunks_exact(size_of::<u64>())) {
            *part = u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        }
        Ok(Some(key))
    }

    /// The row whose key was read; the next key is that of the one behind.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn row(&mut self) -> Result<&[u8], CliError> {
        self.fill(HEAD_BYTES)?;
        let length = &self.buffer[self.place + KEY_BYTES..self.place + HEAD_BYTES];
        let length = u32::from_ne_bytes(length.try_into().unwrap_or_default()) as usize;
        self.fill(HEAD_BYTES + length)?;
        let row = self.place + HEAD_BYTES..self.place + HEAD_BYTES + length;
        self.place = row.end;
        Ok(&self.buffer[row])
    }

    /// Makes so many bytes available from the place on.
    fn fill(&mut self, bytes: usize) -> Result<(), CliError> {
        let there = self.buffer.len() - self.place;
        if there >= bytes {
            return Ok(());
        }
        self.buffer.drain(..self.place);
        self.place = 0;
        let left = usize::try_from(self.run.end - self.at).unwrap_or(usize::MAX);
        let more = self.step.max(bytes - there).min(left);
        self.buffer.resize(there + more, 0);
        let read = self.run.file.read_exact_at(&mut self.buffer[there..], self.at);
        self.at += more as u64;
        let read = read.and(if there + more < bytes { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) });
        read.map_err(|error| CliError::Output(format!("a temporary file cannot be read again: {error}")))
    }
}

/// Where temporary files lie: `TMPDIR`, else `/var/tmp`, which is on a disk where `/tmp` is memory, else `/tmp`.
fn directory() -> PathBuf {
    let of_user = std::env::var_os("TMPDIR").filter(|path| !path.is_empty()).map(PathBuf::from);
    of_user.unwrap_or_else(|| {
        ["/var/tmp", "/tmp"].map(Path::new).into_iter().find(|path| path.is_dir()).unwrap_or(Path::new("/tmp")).into()
    })
}

/// A file without a name, which the system gives back when it is closed.
fn open() -> io::Result<File> {
    let directory = directory();
    let flags = (OFlags::TMPFILE | OFlags::EXCL).bits().cast_signed();
    let unnamed = OpenOptions::new().read(true).write(true).mode(0o600).custom_flags(flags).open(&directory);
    if let Ok(file) = unnamed {
        return Ok(file);
    }
    // Not all file systems have such files: one that loses its name at once is as good.
    let folder = Folder::open(&directory)?;
    let name = folder.hidden("tidewire");
    let path = folder.by_handle().join(&name);
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    folder.remove(&name)?;
    Ok(file)
}
